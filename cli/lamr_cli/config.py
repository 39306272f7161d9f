"""`lamr config`: which settings are in force, and where each of them is from."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from lamr_base.settings_file import KINDS

from lamr_cli.pack import MOST_TOKENS
from lamr_cli.printing import say
from lamr_cli.settings import Setting, Settings

_DEFAULTS = {
    "server": "none: in process",
    "model": "the bundled lamr-mini",
    "max_tokens": f"{MOST_TOKENS:,}",
    "exclude": "nothing",
    "tokenizer": "o200k",
    "effort": "auto",
    "within": "no limit but the timeout",
    "profile": "careful",
}


def config(
    as_json: Annotated[bool, typer.Option("--json", help="Print every setting as JSON.")] = False,
) -> None:
    """Show the settings in force here and their sources.

    The command line overrides the environment, which overrides the project's lamr.toml, which overrides yours. A
    project's file may set only max_tokens and exclude (of `lamr pack`).

    lamr config

    lamr config --json
    """
    settings = Settings(Path.cwd())
    found = {key: settings.in_force(key) for key in KINDS}
    if as_json:
        say(json.dumps({key: asdict(setting) for key, setting in found.items()}))
        return
    rows = [(key, _shown(key, setting), setting.source) for key, setting in found.items()]
    width = max(len(value) for _, value, _ in rows)
    say("\n".join(f"{key:<12}{value:<{width}}  {source}" for key, value, source in rows))


def _shown(key: str, setting: Setting) -> str:
    value: Any = setting.value
    if value is None:
        return _DEFAULTS[key]
    return ", ".join(value) if isinstance(value, list) else str(value)
