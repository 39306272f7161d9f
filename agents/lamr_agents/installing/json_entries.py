"""Puts lamr's entry into a JSON file of settings and takes it out, and leaves every other character as it stands.

The file may have comments, and a comma after the last part. It is read with the place of each part; nothing is written
again from what was read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from lamr_base.expressions import expression
from lamr_base.records import dataclass

from lamr_agents.host import HostSettingsError, ListEntry, MemberEntry
from lamr_agents.installing.change import WrittenPiece

MOST_DEPTH = 100
_BLANK = expression(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = expression(r'"[^"\\\x00-\x1f]*(?:\\[^\x00-\x1f][^"\\\x00-\x1f]*)*"')
_OTHER = expression(
    r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![\w.])|(?:true|false|null)(?!\w)"
)
_BRACKETS = {"{": "}", "[": "]"}
BOM = "\ufeff"
MARKS = ("lamr_agents/thin.py", "lamr_agents\\thin.py", "lamr-hook")
"""Marks of lamr's hook commands: each holds one of them."""
_NESTED = "hooks"
"""The key of an entry's own list, in which somebody may have put hooks of lamr's and of others together."""
_COMMENT = expression(r"[ \t]*(?://[^\r\n]*|/\*[^\r\n]*?\*/)")
_LINE_END = expression(r"[ \t]*[\r\n]")
_BLANKS = " \t\r\n"


class JsoncError(HostSettingsError):
    """A text isn't JSON; the message names the line."""


@dataclass(frozen=True)
class Value:
    """A value and its place."""

    start: int  # where its text begins, in characters
    end: int
    data: Any  # a dictionary, a list, or a text; of another value, its text as it stands there in a tuple
    parts: tuple[JsonPart, ...] = ()  # members of an object, elements of a list

    def part(self, key: str) -> JsonPart | None:
        return next((part for part in self.parts if part.key == key), None)

    def strings(self) -> Iterator[str]:
        if isinstance(self.data, str):
            yield self.data
        for part in self.parts:
            yield from part.value.strings()


@dataclass(frozen=True)
class JsonPart:
    """A member of an object or an element of a list."""

    key: str  # a member's key; empty for an element
    start: int  # where its text begins
    value: Value
    end: int  # where its text ends, after its comma if it has one

    @property
    def has_comma(self) -> bool:
        return self.end > self.value.end


def read(text: str) -> Value | None:
    """The value of a file's text; None where there is nothing but blanks and comments."""
    begin = _blank(text, len(BOM) if text.startswith(BOM) else 0)
    if begin == len(text):
        return None
    value = _value(text, begin, 0)
    end = _blank(text, value.end)
    if end < len(text):
        raise _error(text, end, "something follows the value")
    return value


def _value(text: str, start: int, depth: int) -> Value:
    if depth > MOST_DEPTH:
        raise _error(text, start, "it is nested too deeply")
    if text[start : start + 1] in _BRACKETS:
        return _container(text, start, depth)
    if string := _STRING.match(text, start):
        return Value(start, string.end(), _decoded(text, start, string[0]))
    if other := _OTHER.match(text, start):
        return Value(start, other.end(), (other[0],))
    raise _error(text, start, "expected a value")


def _container(text: str, start: int, depth: int) -> Value:
    closing, is_object = _BRACKETS[text[start]], text[start] == "{"
    parts: list[JsonPart] = []
    place = _blank(text, start + 1)
    while text[place : place + 1] != closing:
        if parts and not parts[-1].has_comma:
            raise _error(text, place, f"expected a comma or {closing}")
        begin, key = place, ""
        if is_object:
            key, place = _key(text, place)
        value = _value(text, place, depth + 1)
        place = _blank(text, value.end)
        end = place + 1 if text[place : place + 1] == "," else value.end
        parts.append(JsonPart(key, begin, value, end))
        place = _blank(text, end)
    keys = [part.key for part in parts]
    if is_object and len(set(keys)) < len(keys):
        raise _error(text, start, "a key stands there twice")
    values = [part.value.data for part in parts]
    data = dict(zip(keys, values, strict=True)) if is_object else values
    return Value(start, place + 1, data, tuple(parts))


def _key(text: str, place: int) -> tuple[str, int]:
    """A member's key, and where its value begins."""
    string = _STRING.match(text, place)
    if string is None:
        raise _error(text, place, "expected a key in quotes")
    colon = _blank(text, string.end())
    if text[colon : colon + 1] != ":":
        raise _error(text, colon, "expected a colon")
    return _decoded(text, place, string[0]), _blank(text, colon + 1)


def _decoded(text: str, place: int, string: str) -> str:
    try:
        return str(json.loads(string))
    except ValueError as error:
        raise _error(text, place, "a text has an escape that JSON hasn't") from error


def _blank(text: str, place: int) -> int:
    """The end of the blanks and comments at a place."""
    found = _BLANK.match(text, place)
    return found.end() if found else place


def _error(text: str, place: int, why: str) -> JsoncError:
    return JsoncError(f"not JSON (line {text.count(chr(10), 0, place) + 1}: {why}); mend it first")


def put(text: str, entry: ListEntry | MemberEntry, made: Mapping[str, Any]) -> WrittenPiece:
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
    """The text without lamr's entry, and without what held nothing else; equal where there is none."""
    while (root := _object(text)) is not None and (chain := next(_ours(root, entry), None)):
        left = len(_containers(entry)) if levels is None else levels
        while left > 0 and len(chain) > 1 and len(chain[-1][0].parts) == 1:
            chain, left = chain[:-1], left - 1
        text = _taken(text, *chain[-1])
    return text


def data_of(text: str) -> Any:
    """The data of a text, for comparisons; blanks alone equal an empty object."""
    value = read(text)
    return {} if value is None else value.data


def has(text: str, entry: ListEntry | MemberEntry) -> bool:
    root = _checked(text, entry)
    return root is not None and any(_ours(root, entry))


def _checked(text: str, entry: ListEntry | MemberEntry) -> Value | None:
    """A text's object, if it is of the form that the host reads."""
    root = value = _object(text)
    keys = _containers(entry)
    of_form = True
    for number, key in enumerate(keys, 1):
        part = value.part(key) if value is not None else None
        value = part.value if part else None
        kind = list if isinstance(entry, ListEntry) and number == len(keys) else dict
        if value is not None:
            elements = value.data if kind is list and isinstance(value.data, list) else ()
            of_form = isinstance(value.data, kind) and all(
                isinstance(each, dict) and isinstance(each.get(_NESTED, []), list) for each in elements
            )
        if not of_form:
            raise HostSettingsError(f"{'.'.join(keys[:number])} isn't of the form that the host reads")
    return root


def _object(text: str) -> Value | None:
    root = read(text)
    if root is not None and not isinstance(root.data, dict):
        raise HostSettingsError("expected a JSON object")
    return root


def _containers(entry: ListEntry | MemberEntry) -> tuple[str, ...]:
    return entry.keys if isinstance(entry, ListEntry) else entry.keys[:-1]


def _nested(keys: Sequence[str], entry: ListEntry | MemberEntry, made: Any) -> Any:
    """The entry, inside one object for each key."""
    value = [made] if isinstance(entry, ListEntry) else made
    for key in reversed(keys):
        value = {key: value}
    return value


def _ours(root: Value, entry: ListEntry | MemberEntry) -> Iterator[tuple[tuple[Value, JsonPart], ...]]:
    """The ways to each of lamr's entries: each container from the file's value down, and its part that leads there."""
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
    """Adds a part behind the others of a container, in the file's own layout; an empty container is rewritten."""
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
