"""Puts a table into a list of a TOML file, at its end, and takes it out; the rest stays to the last character."""

import json
from collections.abc import Mapping

from lamr_base.expressions import expression
from lamr_base.lazy import toml_parser

from lamr_agents.host import HostSettingsError, TableEntry
from lamr_agents.installing.change import WrittenPiece
from lamr_agents.installing.json_entries import MARKS

_HEADER = expression(r"(?m)^(?=[ \t]*\[)")


def append(text: str, entry: TableEntry, made: Mapping[str, str | float]) -> WrittenPiece:
    """The piece with the table, at a text's end; raises HostSettingsError where the text can't have it."""
    _check(text)
    lines = [f"[[{entry.name}]]", *(f"{key} = {json.dumps(value)}" for key, value in made.items())]
    before = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    piece = WrittenPiece(before + "\n".join(lines) + "\n", "", len(text))
    _check(piece.put_in(text))
    return piece


def without(text: str, entry: TableEntry) -> str:
    """The text without tables of lamr's."""
    parts = _HEADER.split(text)
    ours = (part.startswith(f"[[{entry.name}]]") and any(mark in part for mark in MARKS) for part in parts)
    return "".join(part for part, is_ours in zip(parts, ours, strict=True) if not is_ours)


def _check(text: str) -> None:
    toml = toml_parser()
    try:
        toml.loads(text)
    except toml.TOMLDecodeError as error:
        raise HostSettingsError(f"not TOML with a list of tables ({error}); mend it first") from error
