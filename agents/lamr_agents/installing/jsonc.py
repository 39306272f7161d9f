"""JSON as people keep it in settings, with comments and a comma after the last part: read with the place of each part.

Nothing is written again from what was read: whoever changes a file puts text in or takes some out at these places.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from lamr_agents.errors import HostSettingsError

MOST_DEPTH = 100
_BLANK = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"[^"\\\x00-\x1f]*(?:\\[^\x00-\x1f][^"\\\x00-\x1f]*)*"')
_OTHER = re.compile(
    r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![\w.])|(?:true|false|null)(?!\w)"
)
_BRACKETS = {"{": "}", "[": "]"}
BOM = "\ufeff"


class JsoncError(HostSettingsError):
    """A text isn't JSON; the message names the line."""


@dataclass(frozen=True)
class Value:
    """A value and its place.

    Attributes:
        start, end: of its text, in characters.
        data: a dictionary, a list, or a text; of another value, its text as it stands there in a tuple.
        parts: of an object or a list.
    """

    start: int
    end: int
    data: Any
    parts: tuple[JsonPart, ...] = ()

    def part(self, key: str) -> JsonPart | None:
        """An object's member; None where there is none."""
        return next((part for part in self.parts if part.key == key), None)

    def strings(self) -> Iterator[str]:
        """All texts in it, without keys."""
        if isinstance(self.data, str):
            yield self.data
        for part in self.parts:
            yield from part.value.strings()


@dataclass(frozen=True)
class JsonPart:
    """A member of an object or an element of a list.

    Attributes:
        key: of a member; empty for an element.
        start: where its text begins.
        value: its value.
        end: where its text ends, after its comma if it has one.
    """

    key: str
    start: int
    value: Value
    end: int

    @property
    def has_comma(self) -> bool:
        """Whether a comma follows."""
        return self.end > self.value.end


def read(text: str) -> Value | None:
    """The value of a file's text; None where there is nothing but blanks and comments.

    Raises:
        JsoncError: it is no JSON, has a key twice in one object, or is nested too deeply.
    """
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
    """Where blanks and comments end that begin at a place."""
    found = _BLANK.match(text, place)
    return found.end() if found else place


def _error(text: str, place: int, why: str) -> JsoncError:
    return JsoncError(f"not JSON (line {text.count(chr(10), 0, place) + 1}: {why}); mend it first")
