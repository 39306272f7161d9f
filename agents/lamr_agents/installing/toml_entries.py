"""Puts lamr's entry into a TOML file of settings, as a table at its end, and takes it out again."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from typing import Any

from lamr_agents.errors import SettingsError
from lamr_agents.host import Listed, Named
from lamr_agents.installing.change import Splice, put_in, without
from lamr_agents.installing.jsonc import BOM

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def put(text: str, entry: Listed | Named, made: Mapping[str, Any]) -> tuple[list[Splice], int]:
    """The piece that puts an entry into a text that has none, and how many containers go with it: tables make none.

    Raises:
        SettingsError: the file's servers are written in a way to which no table can be added.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = [f"[{'.'.join(entry.keys)}]", *(f"{key} = {json.dumps(made[key])}" for key in made), ""]
    before = "" if not text or text.endswith("\n") else newline
    splices = [Splice(len(text), before + newline * bool(text.strip()) + newline.join(lines))]
    check(text, entry)
    try:
        data_of(put_in(text, splices))
    except SettingsError as error:
        raise SettingsError(
            f"no table [{'.'.join(entry.keys)}] can be added ({error}); add it by hand"
        ) from error
    return splices, 0


def take(text: str, entry: Listed | Named, levels: int | None = None) -> str:  # noqa: ARG001 - as for JSON
    """The text without lamr's table and those in it; equal where there is none.

    Raises:
        SettingsError: the entry is written otherwise than as a table.
    """
    if not has(text, entry):
        return text
    wanted = data_of(text)
    del _parent(wanted, entry)[entry.keys[-1]]
    name = r"\s*\.\s*".join(rf"""["']?{re.escape(key)}["']?""" for key in entry.keys)
    header = rf"^[ \t]*\[\s*{name}\s*(?:\.[^\]\n]*)?\][^\n]*(?:\n(?![ \t]*\[)[^\n]*)*\n?"
    left = without(text, [found.span() for found in re.finditer(header, text, re.MULTILINE)])
    if _pruned(data_of(left), entry) != _pruned(wanted, entry):
        raise SettingsError(f"{'.'.join(entry.keys)} is no table of its own; take it out by hand")
    return left


def data_of(text: str) -> dict[str, Any]:
    """What a text says.

    Raises:
        SettingsError: it is no TOML.
    """
    try:
        return dict(tomllib.loads(text.removeprefix(BOM).replace("\r\n", "\n")))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SettingsError(f"not TOML ({error}); mend it first") from error


def has(text: str, entry: Listed | Named) -> bool:
    """Whether lamr's entry stands in a text."""
    check(text, entry)
    return entry.keys[-1] in _parent(data_of(text), entry)


def check(text: str, entry: Listed | Named) -> None:
    """See that a text is of the form that the host reads.

    Raises:
        SettingsError: it isn't.
    """
    data: Any = data_of(text)
    for key in entry.keys[:-1]:
        data = data.get(key, {})
        if not isinstance(data, dict):
            raise SettingsError(f"{key} isn't of the form that the host reads")


def _parent(data: dict[str, Any], entry: Listed | Named) -> dict[str, Any]:
    for key in entry.keys[:-1]:
        data = data.get(key, {})
    return data


def _pruned(data: dict[str, Any], entry: Listed | Named) -> dict[str, Any]:
    """The data without what the entry's last table lies in, where that is empty."""
    key = entry.keys[0]
    return {name: value for name, value in data.items() if name != key or value}
