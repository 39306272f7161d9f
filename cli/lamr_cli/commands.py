"""The commands of `lamr` by name. One is imported and built when it is looked up, as a help page does with all."""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Iterator, Mapping
from typing import Any

import typer
from typer.core import TyperGroup

_PLACES = {
    "prune": "prune.prune",
    "pack": "pack.pack",
    "batch": "batch.batch",
    "compress": "compress.compress",
    "view": "view.view",
    "replay": "replay.replay",
    "install": "hosts.install",
    "show": "agents.show",
    "uninstall": "hosts.uninstall",
    "agents": "agents.app",
    "serve": "serve.serve",
    "http": "mcp.http",
    "mcp": "mcp.mcp",
    "status": "status.status",
    "front": "front.app",
    "config": "config.config",
    "cache": "cache.cache",
    "export": "export.export",
    "eval": "evaluate.evaluate",
    "judge": "judge.app",
    "train": "train.train",
    "lines": "train.lines",
}
"""Each command's module and what of it is the command, in the order of the help."""


class Commands(TyperGroup):
    """The group of all of them."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = _Built()  # type: ignore[assignment]  # nobody adds one


class _Built(Mapping[str, Any]):
    """Click's commands."""

    def __getitem__(self, name: str) -> Any:
        return _built(name)

    def __iter__(self) -> Iterator[str]:
        return iter(_PLACES)

    def __len__(self) -> int:
        return len(_PLACES)


@functools.cache
def _built(name: str) -> Any:
    module, attribute = _PLACES[name].split(".")
    found = getattr(importlib.import_module(f"lamr_cli.{module}"), attribute)
    if isinstance(found, typer.Typer):
        _flow(found)
        return typer.main.get_group(found)
    alone = typer.Typer(add_completion=False)
    alone.command(name)(found)
    _flow(alone)
    return typer.main.get_command(alone)


def _flow(app: typer.Typer) -> None:
    """Give an app's commands their docstrings as help, each paragraph on one line: the terminal breaks it."""
    for command in app.registered_commands:
        command.help = "\n\n".join(
            " ".join(paragraph.split())
            for paragraph in (inspect.getdoc(command.callback) or "").split("\n\n")
        )
