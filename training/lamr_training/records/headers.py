"""From gold lines to the headers above them, by indentation alone: it knows lines of text and parses nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence

MOST_HEADERS = 8
BARE = re.compile(r"[\s{}()\[\];,]*$|\s*(?:end|else|do|then|begin)\s*$")
"""Lines that hold nothing but brackets or a word of syntax."""
_ASIDE = re.compile(r"\s*(?://|/\*|\*/|\*\s|\*$|#\s)|#")  # comments and preprocessor lines head nothing
_GOES_ON = re.compile(r"[})\]]|(?:else|elif|elsif|catch|except|finally|rescue|ensure|when|case|default)\b")


def headers_of(gold: Sequence[int], lines: Sequence[str]) -> tuple[int, ...]:
    """Lines above that are indented less than what they hold: the conditions, function and class around gold lines."""
    headers: set[int] = set()
    for number in gold:
        if number - 1 in gold and _indent(lines[number - 2]) <= _indent(lines[number - 1]):
            continue  # the line before leads to the same headers
        headers.update(_above(number, lines))
    return tuple(sorted(headers - set(gold)))


def _above(number: int, lines: Sequence[str]) -> list[int]:
    headers: list[int] = []
    limit = _indent(lines[number - 1])
    for place in range(number - 1, 0, -1):
        text = lines[place - 1]
        if not limit or len(headers) >= MOST_HEADERS:
            break
        indent = _indent(text)
        if indent >= limit or not (stripped := text.strip()) or _ASIDE.match(text):
            continue
        limit = indent
        if _GOES_ON.match(stripped) or stripped == "{":
            limit += 1  # its own header stands as far left as it does
        if not BARE.match(text):
            headers.append(place)
    return headers


def _indent(text: str) -> int:
    space = text[: len(text) - len(text.lstrip())]
    return len(space.expandtabs(4)) if "\t" in space else len(space)
