"""Puts lamr's entry into a JSON file of settings and takes it out, and leaves every other character as it stands."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from lamr_agents.errors import HostSettingsError
from lamr_agents.host import ListEntry, MemberEntry
from lamr_agents.installing.change import WrittenPiece
from lamr_agents.installing.jsonc import BOM, JsonPart, Value, read

MARKS = ("lamr_agents/thin.py", "lamr_agents\\thin.py", "lamr-hook")
"""What the command of every hook of lamr's has in it."""
_NESTED = "hooks"
"""The key of an entry's own list, in which somebody may have put hooks of lamr's and of others together."""
_COMMENT = re.compile(r"[ \t]*(?://[^\r\n]*|/\*[^\r\n]*?\*/)")
_LINE_END = re.compile(r"[ \t]*[\r\n]")
_BLANKS = " \t\r\n"
Chain = tuple[tuple[Value, JsonPart], ...]
"""From the file's value down to an entry: each container, and its part that leads to the entry."""


def put(text: str, entry: ListEntry | MemberEntry, made: Mapping[str, Any]) -> WrittenPiece:
    """What puts an entry into a text that has none.

    Args:
        text: of the file.
        entry: where it goes.
        made: it.

    Raises:
        SettingsError: the text isn't of the form that the host reads.
    """
    root = _checked(text, entry)
    containers = _containers(entry)
    if root is None:
        newline = _newline(text)
        lines = json.dumps(_nested(entry.keys, entry, made), indent=2, ensure_ascii=False).split("\n")
        begin = newline if text.removeprefix(BOM) and not text.endswith("\n") else ""
        return WrittenPiece(begin + newline.join([*lines, ""]), "", len(text), made=len(containers) + 1)
    container, depth = root, 0
    for key in containers:
        part = container.part(key)
        if part is None:
            break
        container, depth = part.value, depth + 1
    missing = entry.keys[depth:]
    name = f"{json.dumps(missing[0], ensure_ascii=False)}: " if missing else ""
    value = _nested(missing[1:], entry, made) if missing else made
    return replace(_behind(text, root, container, name, value), made=len(containers) - depth)


def take(text: str, entry: ListEntry | MemberEntry, levels: int | None = None) -> str:
    """The text without lamr's entry, and without what held nothing else; equal where there is none.

    Args:
        text: of the file.
        entry: where it goes.
        levels: how many containers above the entry may go with it, from it upwards; None for all but the file's own.

    Raises:
        SettingsError: the text isn't of the form that the host reads.
    """
    while (root := _object(text)) is not None and (chain := next(_ours(root, entry), None)):
        left = len(_containers(entry)) if levels is None else levels
        while left > 0 and len(chain) > 1 and len(chain[-1][0].parts) == 1:
            chain, left = chain[:-1], left - 1
        text = _taken(text, *chain[-1])
    return text


def data_of(text: str) -> Any:
    """What a text says, to be compared; blanks alone say no more than an empty object."""
    value = read(text)
    return {} if value is None else value.data


def has(text: str, entry: ListEntry | MemberEntry) -> bool:
    """Whether lamr's entry stands in a text.

    Raises:
        SettingsError: the text isn't of the form that the host reads.
    """
    root = _checked(text, entry)
    return root is not None and any(_ours(root, entry))


def _checked(text: str, entry: ListEntry | MemberEntry) -> Value | None:
    """A text's object, if it is of the form that the host reads."""
    root = value = _object(text)
    keys = _containers(entry)
    for number, key in enumerate(keys, 1):
        part = value.part(key) if value is not None else None
        value = part.value if part else None
        kind = list if isinstance(entry, ListEntry) and number == len(keys) else dict
        if value is not None and not isinstance(value.data, kind):
            raise HostSettingsError(f"{'.'.join(keys[:number])} isn't of the form that the host reads")
    if isinstance(entry, ListEntry) and value is not None and not all(map(_is_entry, value.data)):
        raise HostSettingsError(f"{'.'.join(keys)} isn't of the form that the host reads")
    return root


def _is_entry(data: Any) -> bool:
    return isinstance(data, dict) and isinstance(data.get(_NESTED, []), list)


def _object(text: str) -> Value | None:
    root = read(text)
    if root is not None and not isinstance(root.data, dict):
        raise HostSettingsError("expected a JSON object")
    return root


def _containers(entry: ListEntry | MemberEntry) -> tuple[str, ...]:
    """The keys of what an entry lies in."""
    return entry.keys if isinstance(entry, ListEntry) else entry.keys[:-1]


def _nested(keys: Sequence[str], entry: ListEntry | MemberEntry, made: Any) -> Any:
    """What lies at the end of keys, in the objects that they name."""
    value = [made] if isinstance(entry, ListEntry) else made
    for key in reversed(keys):
        value = {key: value}
    return value


def _ours(root: Value, entry: ListEntry | MemberEntry) -> Iterator[Chain]:
    """The ways to each of lamr's entries."""
    chain: list[tuple[Value, JsonPart]] = []
    value = root
    for key in entry.keys:
        part = value.part(key)
        if part is None:
            return
        chain.append((value, part))
        value = part.value
    if isinstance(entry, MemberEntry):
        yield tuple(chain)
        return
    for element in value.parts:
        way = (*chain, (value, element))
        nested = element.value.part(_NESTED)
        hooks = nested.value.parts if nested else ()
        ours = [hook for hook in hooks if _is_ours(hook.value)]
        if nested is None or len(ours) == len(hooks):
            if _is_ours(element.value):
                yield way
            continue
        yield from ((*way, (element.value, nested), (nested.value, hook)) for hook in ours)


def _is_ours(value: Value) -> bool:
    return any(mark in string for string in value.strings() for mark in MARKS)


def _behind(text: str, root: Value, container: Value, name: str, value: Any) -> WrittenPiece:
    """What puts a part into a container behind its others, in the file's own manner; an empty one is written anew."""
    parts = container.parts
    within = text[container.start : parts[0].start if parts else container.end - 1]
    wide = "\n" in within if parts else container is root or "\n" in text.strip()
    unit, outer = _unit(text, root), _newline(text) + _indent(text, container.start)
    inner = " " if parts else ""
    if wide:
        inner = _newline(text) + _indent(text, parts[0].start) if parts else outer + unit
    lines = (name + json.dumps(value, indent=unit if wide else None, ensure_ascii=False)).split("\n")
    piece = inner + inner.join(lines)
    if not parts:
        empty = text[container.start : container.end]
        end = outer if wide and "\n" not in within else ""
        return WrittenPiece(empty[0] + piece + end + empty[1:], empty, container.start)
    last = parts[-1]
    comment = _COMMENT.match(text, last.end) if wide else None
    beside = comment[0] if comment else ""
    return WrittenPiece("," * (not last.has_comma) + beside + piece, beside, last.end)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _unit(text: str, root: Value) -> str:
    """By how much a file is indented from one level to the next."""
    return (_indent(text, root.parts[0].start) if root.parts else "") or "  "


def _indent(text: str, place: int) -> str:
    """The blanks before a place, or before whatever its line begins with."""
    line = text[text.rfind("\n", 0, place) + 1 : place].removeprefix(BOM)
    return line[: len(line) - len(line.lstrip(" \t"))]


def _taken(text: str, container: Value, part: JsonPart) -> str:
    """The text without a part of a container."""
    index = container.parts.index(part)
    before = container.parts[index - 1] if index else None
    inside = text[container.start + 1 : part.start] + text[part.end : container.end - 1]
    if len(container.parts) == 1 and not inside.strip(_BLANKS):
        return text[: container.start + 1] + text[container.end - 1 :]
    begin = before.end if before else container.start + 1
    gap = text[begin : part.start]
    comments = gap.rstrip(_BLANKS)  # which may be about anything
    if comments and not _LINE_END.match(text, part.end):  # what follows would be on the last comment's line
        comments = gap
    head = text[:begin]
    if before and not part.has_comma:
        head = head[:-1]
    return head + comments + text[part.end :]
