"""Code that comes with a prefix on every line: numbered listings and grep output.

Tools print files as `cat -n` does, and matches as `path:line:text`. The code after the prefixes is analysed without
them, and kept lines come back with them. This module knows prefixes and no language.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from lamr_postprocess.lines import IntArray, split_lines

# `cat -n` and `nl` (tab), arrows and bars as agents' file viewers print them.
_NUMBERED = re.compile(r"[ \t]*(\d+)(?:\t|→|[ ]?[|│] ?|: )")
_MATCH = re.compile(r"(?P<path>[^\s:][^:\r\n]*?)(?P<mark>[:-])(?P<number>\d+)(?P=mark)")
_FEWEST = 2  # lines; a single one is no listing
_PROBED = 20  # lines that the first look covers, in lines of 200 characters


@dataclass(frozen=True, eq=False)
class Listing:
    """A text of L lines with prefixes.

    Attributes:
        body: the text without the prefixes, of L lines too.
        numbers: int [L], the numbers that the lines carry; None for grep output, whose numbers have gaps.
        margin: white space as wide as a prefix, for markers.
        path: the file's path, where the prefixes name exactly one file.
        files: how many files the prefixes name; 0 when they name none.
    """

    body: str
    numbers: IntArray | None
    margin: str
    path: str | None
    files: int


def read_listing(text: str) -> Listing | None:
    """Take the prefixes off a text; None where it is no listing.

    In a numbered listing every line has a number, which is one more than that of the line before. In grep output every
    line has a path and a number, except for the `--` between groups.
    """
    head = text[: 200 * _PROBED]
    if not (_NUMBERED.match(head) or _MATCH.match(head)):
        return None
    lines = split_lines(text)
    if len(lines) < _FEWEST:
        return None
    return _numbered(lines) or _matches(lines)


def _numbered(lines: list[str]) -> Listing | None:
    """A numbered listing, or None."""
    prefixes: list[re.Match[str]] = []
    for line in lines:
        match = _NUMBERED.match(line) or re.match(r"[ \t]*(\d+)(?=[\r\n]*$)", line)
        if match is None or (prefixes and int(match[1]) != int(prefixes[-1][1]) + 1):
            return None
        prefixes.append(match)
    body = "".join(line[match.end() :] for line, match in zip(lines, prefixes, strict=True))
    margin = re.sub(r"[^\t]", " ", prefixes[0][0])
    return Listing(body, np.array([int(match[1]) for match in prefixes], dtype=np.int64), margin, None, 0)


def _matches(lines: list[str]) -> Listing | None:
    """Grep output, or None."""
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
