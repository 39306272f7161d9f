"""Code that comes with a prefix on every line: numbered listings and grep output.

Tools print files as `cat -n` does, and matches as `path:line:text`. The code after the prefixes is judged and analysed
without them, and kept lines come back with them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from lamr_postprocess.lines import IntArray, split_lines

NUMBERS = (
    re.compile(r"[ \t]*(\d+)(?:\t|→)"),  # `cat -n`, `nl`, Claude Code, OpenHands
    re.compile(r"[ \t]*(\d+) ?[|│] "),  # OpenCode, bat
    re.compile(r"[ \t]*(\d+) ?[|│]"),
    re.compile(r"[ \t]*(\d+)\. "),  # Copilot
    re.compile(r"[ \t]*(\d+): "),  # OpenCode
    re.compile(r"[ \t]*(\d+):"),  # SWE-agent, `grep -n ''`
)
"""What stands before a line, by the tools that put it there; the first group is the line's number.

A text has one of them on all its lines. A mark with a space goes before the same mark without one, so that a space is
taken off where all lines have it, and never from the indentation of some.
"""
NUMBERED_BLANK = re.compile(r"[ \t]*(\d+)[ \t→|│.:]*(?=[\r\n]*$)")
"""A blank line with its number, the white space at its end taken off or not."""
_MATCH = re.compile(r"(?P<path>[^\s:][^:\r\n]*?)(?P<mark>[:-])(?P<number>\d+)(?P=mark)")
_LINE_OF_FILE = re.compile(
    r"(?P<number>\d+)[:-]"
)  # `grep -n` in one file: a mark for matches, one for what is around
_SEPARATOR = "--"
_FEWEST = 2  # lines; a single one is no listing
_PROBED = 20  # lines that the first look covers, in lines of 200 characters
_PREFIXES = (*NUMBERS, _MATCH, _LINE_OF_FILE)


@dataclass(frozen=True, eq=False)
class Listing:
    """A text of L lines with prefixes.

    Attributes:
        body: the text without the prefixes, of L lines too.
        numbers: int [L], the numbers that the lines carry; None where these have gaps or count no blank lines.
        margin: white space as wide as a prefix, for markers.
        path: the file's path, where the prefixes name exactly one file.
        files: how many files the prefixes name; 0 when they name none.
    """

    body: str
    numbers: IntArray | None
    margin: str
    path: str | None
    files: int

    @property
    def first(self) -> int | None:
        """The number of the first line; None where the numbers aren't those of the file's lines."""
        return None if self.numbers is None else int(self.numbers[0])


def read_listing(text: str) -> Listing | None:
    """Take the prefixes off a text; None where it is no listing.

    In a numbered listing every line has a number, which is one more than that of the line before; `nl` counts no blank
    lines. In grep output every line has a number, after a path or without one, except for the `--` between groups.
    """
    head = text[: 200 * _PROBED].lstrip()
    if not any(prefix.match(head) for prefix in _PREFIXES):
        return None
    lines = split_lines(text)
    if len(lines) < _FEWEST:
        return None
    return _numbered(lines) or _matches(lines) or _matches_of_one_file(lines)


def _numbered(lines: list[str]) -> Listing | None:
    """A numbered listing, or None."""
    listings = (_numbered_by(prefix, lines) for prefix in NUMBERS)
    return next((listing for listing in listings if listing), None)


def _numbered_by(prefix: re.Pattern[str], lines: list[str]) -> Listing | None:
    """A listing with one kind of prefix, or None."""
    numbers: list[int] = []
    bodies: list[str] = []
    margin, last = "", -1
    for row, line in enumerate(lines):
        match = prefix.match(line) or NUMBERED_BLANK.match(line)
        if match is None and not line.strip():  # `nl` pads blank lines
            bodies.append(line[len(line.rstrip("\r\n")) :])
            continue
        if match is None or (numbers and int(match[1]) != numbers[-1] + 1):
            return None
        margin, last = margin or re.sub(r"[^\t]", " ", match[0]), row
        numbers.append(int(match[1]))
        bodies.append(line[match.end() :])
    if len(numbers) < _FEWEST:
        return None
    counted = numbers[0] + np.arange(len(lines), dtype=np.int64) if last == len(numbers) - 1 else None
    return Listing(_joined(bodies), counted, margin, None, 0)


def _joined(bodies: list[str]) -> str:
    """The lines as one text, of as many lines: a last line that is empty gets a space, or it would be none."""
    return "".join(bodies) + ("" if bodies[-1] else " ")


def _matches(lines: list[str]) -> Listing | None:
    """Grep output with paths, or None."""
    paths: dict[str, None] = {}
    parts: list[str] = []
    for line in lines:
        match = _MATCH.match(line)
        if match is not None:
            paths[match["path"]] = None
            parts.append(line[match.end() :])
        elif line.rstrip("\r\n") == _SEPARATOR:
            parts.append(line[len(_SEPARATOR) :])
        else:
            return None
    return Listing(_joined(parts), None, "", next(iter(paths)) if len(paths) == 1 else None, len(paths))


def _matches_of_one_file(lines: list[str]) -> Listing | None:
    """Output of `grep -n` in one file, or None: numbers rise, by one within a group where it shows what is around."""
    numbers: list[int] = []
    parts: list[str] = []
    for line in lines:
        match = _LINE_OF_FILE.match(line)
        if match is not None:
            numbers.append(int(match["number"]))
            parts.append(line[match.end() :])
        elif line.rstrip("\r\n") == _SEPARATOR:
            parts.append(line[len(_SEPARATOR) :])
        else:
            return None
    if len(numbers) < _FEWEST or any(after <= before for before, after in pairwise(numbers)):
        return None
    return Listing(_joined(parts), None, "", None, 0)
