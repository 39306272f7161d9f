"""Puts lamr's entry into a JSON file of settings and takes it out, and leaves every other character as it stands."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lamr_agents.errors import SettingsError
from lamr_agents.host import Listed, Named
from lamr_agents.installing.change import Splice, without
from lamr_agents.installing.jsonc import BOM, JsoncError, Part, Value, read

MARKS = ("lamr_agents/thin.py", "lamr_agents\\thin.py", "lamr-hook")
"""What the command of every hook of lamr's has in it."""
_NESTED = "hooks"
"""The key of an entry's own list, in which somebody may have put hooks of lamr's and of others together."""
_COMMENT = re.compile(r"[ \t]*(?://[^\r\n]*|/\*[^\r\n]*?\*/)")
_BLANKS = " \t\r\n"
Chain = tuple[tuple[Value, Part], ...]
"""From the file's value down to an entry: each container, and its part that leads to the entry."""


def put(text: str, entry: Listed | Named, made: Mapping[str, Any]) -> tuple[list[Splice], int]:
    """The pieces that put an entry into a text that has none, and how many containers they make for it.

    Args:
        text: of the file.
        entry: where it goes.
        made: it.

    Raises:
        SettingsError: the text isn't of the form that the host reads.
    """
    check(text, entry)
    root = _object(text)
    keys = entry.keys
    newline = "\r\n" if "\r\n" in text else "\n"
    if root is None:
        lines = json.dumps(_nested(keys, entry, made), indent=2, ensure_ascii=False).split("\n")
        begin = newline if text.removeprefix(BOM) and not text.endswith("\n") else ""
        return [Splice(len(text), begin + newline.join([*lines, ""]))], len(_containers(entry)) + 1
    container, depth = root, 0
    for key in _containers(entry):
        part = container.part(key)
        if part is None:
            break
        container, depth = part.value, depth + 1
    missing = keys[depth:]
    key = missing[0] if missing else ""
    value = _nested(missing[1:], entry, made) if missing else made
    return _splices(text, root, container, key, value, newline), len(_containers(entry)) - depth


def take(text: str, entry: Listed | Named, levels: int | None = None) -> str:
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
    """What a text says, to be compared."""
    value = _read(text)
    return None if value is None else value.data


def has(text: str, entry: Listed | Named) -> bool:
    """Whether lamr's entry stands in a text.

    Raises:
        SettingsError: the text isn't of the form that the host reads.
    """
    check(text, entry)
    root = _object(text)
    return root is not None and any(_ours(root, entry))


def check(text: str, entry: Listed | Named) -> None:
    """See that a text is of the form that the host reads.

    Raises:
        SettingsError: it isn't.
    """
    value = _object(text)
    keys = _containers(entry)
    for number, key in enumerate(keys, 1):
        part = value.part(key) if value is not None else None
        value = part.value if part else None
        kind = list if isinstance(entry, Listed) and number == len(keys) else dict
        if value is not None and not isinstance(value.data, kind):
            raise SettingsError(f"{'.'.join(keys[:number])} isn't of the form that the host reads")
    if isinstance(entry, Listed) and value is not None and not all(map(_is_entry, value.data)):
        raise SettingsError(f"{'.'.join(keys)} isn't of the form that the host reads")


def _is_entry(data: Any) -> bool:
    return isinstance(data, dict) and isinstance(data.get(_NESTED, []), list)


def _read(text: str) -> Value | None:
    try:
        return read(text)
    except JsoncError as error:
        raise SettingsError(f"not JSON ({error}); mend it first") from error


def _object(text: str) -> Value | None:
    root = _read(text)
    if root is not None and not isinstance(root.data, dict):
        raise SettingsError("expected a JSON object")
    return root


def _containers(entry: Listed | Named) -> tuple[str, ...]:
    """The keys of what an entry lies in."""
    return entry.keys if isinstance(entry, Listed) else entry.keys[:-1]


def _nested(keys: Sequence[str], entry: Listed | Named, made: Any) -> Any:
    """What lies at the end of keys, in the objects that they name."""
    value = [made] if isinstance(entry, Listed) else made
    for key in reversed(keys):
        value = {key: value}
    return value


def _ours(root: Value, entry: Listed | Named) -> Iterator[Chain]:
    """The ways to each of lamr's entries."""
    chain: list[tuple[Value, Part]] = []
    value = root
    for key in entry.keys:
        part = value.part(key)
        if part is None:
            return
        chain.append((value, part))
        value = part.value
    if isinstance(entry, Named):
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


def _splices(  # noqa: PLR0913, PLR0917  # what a place in a text is told by
    text: str, root: Value, container: Value, key: str, value: Any, newline: str
) -> list[Splice]:
    """What puts a part into a container behind its others, in the file's own manner."""
    parts = container.parts
    first = parts[0].start if parts else container.end - 1
    within = text[container.start : first]
    wide = "\n" in within if parts else container is root or "\n" in text.strip()
    name = f"{json.dumps(key, ensure_ascii=False)}: " if key else ""
    if not wide:
        piece = name + json.dumps(value, ensure_ascii=False)
        return [_behind(text, parts, piece, " ")[-1]] if parts else [Splice(container.start + 1, piece)]
    unit = _unit(text, root)
    outer = _indent(text, container.start)
    inner = _indent(text, first) if parts else outer + unit
    lines = (name + json.dumps(value, indent=unit, ensure_ascii=False)).split("\n")
    piece = (newline + inner).join(lines)
    if parts:
        return _behind(text, parts, piece, newline + inner)
    end = "" if "\n" in within else newline + outer
    return [Splice(container.start + 1, newline + inner + piece + end)]


def _behind(text: str, parts: Sequence[Part], piece: str, space: str) -> list[Splice]:
    """The pieces behind the last part: a comma where none follows it, and the rest after a comment on its line."""
    last = parts[-1]
    end = last.value.end if last.comma is None else last.comma + 1
    comma = "," if last.comma is None else ""
    comment = _COMMENT.match(text, end) if "\n" in space else None
    if comment is None:
        return [Splice(end, comma + space + piece)]
    return [Splice(end, comma)] * bool(comma) + [Splice(comment.end(), space + piece)]


def _unit(text: str, root: Value) -> str:
    """By how much a file is indented from one level to the next."""
    return (_indent(text, root.parts[0].start) if root.parts else "") or "  "


def _indent(text: str, place: int) -> str:
    """The blanks before a place, or before whatever its line begins with."""
    line = text[text.rfind("\n", 0, place) + 1 : place].removeprefix(BOM)
    return line[: len(line) - len(line.lstrip(" \t"))]


def _taken(text: str, container: Value, part: Part) -> str:
    """The text without a part of a container."""
    index = container.parts.index(part)
    before = container.parts[index - 1] if index else None
    end = part.value.end if part.comma is None else part.comma + 1
    start = container.start + 1 if before is None or before.comma is None else before.comma + 1
    comment = _COMMENT.match(text, start)
    start = comment.end() if comment and comment.end() <= part.start else start
    comma = [(before.comma, before.comma + 1)] if before and before.comma is not None else []
    commas = comma if part.comma is None else []
    inside = text[container.start + 1 : part.start] + text[end : container.end - 1]
    if len(container.parts) == 1 and not inside.strip(_BLANKS):
        return without(text, [(container.start + 1, container.end - 1)])
    gap = text[start : part.start]
    if gap.strip(_BLANKS):  # a comment on lines of its own, which may be about anything
        start = part.start - len(gap) + len(gap.rstrip(_BLANKS))
    left = len(container.parts) - 1
    for begin in (start, part.start):
        shorter = without(text, [*commas, (begin, end)])
        if _parts_at(shorter, container) == left:
            return shorter
    raise SettingsError("lamr's entry can't be taken out without a trace; take it out by hand")


def _parts_at(text: str, container: Value) -> int:
    """How many parts the container has that begins where one began; -1 where the text can't be read any more."""
    try:
        root = read(text)
    except JsoncError:
        return -1
    waiting = [root] if root else []
    while waiting:
        value = waiting.pop()
        if value.start == container.start:
            return len(value.parts)
        waiting += [part.value for part in value.parts]
    return -1
