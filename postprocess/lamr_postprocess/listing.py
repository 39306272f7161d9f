"""Code that comes with a prefix on every line: numbered listings and grep output.

Tools print files as `cat -n` does and matches as `path:line:text`. The code is what stands after the prefixes; it is
analysed without them, and kept lines come back with them. This module knows prefixes and no language.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from lamr_postprocess.lines import IntArray, split_lines

# `cat -n` and `nl` (tab), arrows and bars as agents' file viewers print them.
_NUMBERED = re.compile(r"[ \t]*(\d+)(?:\t|→|[ ]?[|│] ?|: )")
_MATCH = re.compile(r"(?P<path>[^\s:][^:\r\n]*?)(?P<mark>[:-])(?P<number>\d+)(?P=mark)")
_FEWEST = 2  # lines that make a listing
_PROBED = 20  # lines that are tried before all are


@dataclass(frozen=True, eq=False)
class Listing:
    """A text of L lines with prefixes.

    Attributes:
        body: the text without them, with as many lines.
        numbers: int [L], the numbers that the lines carry; None when they are of several places.
        margin: white space as wide as a prefix, for markers.
        path: of the file, where the prefixes name exactly one.
        files: how many files the prefixes name; 0 when they name none.
    """

    body: str
    numbers: IntArray | None
    margin: str
    path: str | None
    files: int


def read_listing(text: str) -> Listing | None:
    """Take prefixes off a text; None unless (nearly) every line has one of the same kind.

    In a numbered listing every line is numbered, one more than the line before. In grep output every line but the
    `--` between groups has a path and a number.
    """
    head = text[: 200 * _PROBED]
    if not (_NUMBERED.match(head) or _MATCH.match(head)):
        return None
    lines = split_lines(text)
    if len(lines) < _FEWEST:
        return None
    return _numbered(lines) or _matches(lines)


def _numbered(lines: list[str]) -> Listing | None:
    found: list[re.Match[str]] = []
    for line in lines:
        match = _NUMBERED.match(line) or re.match(r"[ \t]*(\d+)(?=[\r\n]*$)", line)
        if match is None or (found and int(match[1]) != int(found[-1][1]) + 1):
            return None
        found.append(match)
    body = "".join(line[match.end() :] for line, match in zip(lines, found, strict=True))
    prefix = found[0][0]
    margin = "".join(char if char == "\t" else " " for char in prefix)
    return Listing(body, np.array([int(match[1]) for match in found], dtype=np.int64), margin, None, 0)


def _matches(lines: list[str]) -> Listing | None:
    paths: dict[str, None] = {}
    parts: list[str] = []
    for line in lines:
        match = _MATCH.match(line)
        if match is not None:
            paths[match["path"]] = None
            parts.append(line[match.end() :])
        elif line.rstrip("\r\n") == "--":
            parts.append(line[2:])
        else:
            return None
    return Listing("".join(parts), None, "", next(iter(paths)) if len(paths) == 1 else None, len(paths))
