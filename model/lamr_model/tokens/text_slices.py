"""Cuts a long text into slices that can be tokenized one by one, with the tokens of the whole text.

A tokenizer's time and memory grow faster than its input, so text goes in by slices, a few at a time. A slice is short
where it can end at a place that is sure to change nothing, and longer where there is no such place. The module knows
characters; it knows no tokenizer.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

SLICE_CHARS, MOST_SLICE_CHARS = 2048, 8192
_SLICES_AT_ONCE = 16
# Where a slice ends: before a single space between two ASCII letters or digits, where that is sure to change nothing.
_LAST_SAFE = re.compile(r".*[A-Za-z0-9](?= [A-Za-z0-9])", re.DOTALL)
_NEXT_SAFE = re.compile(r"[A-Za-z0-9](?= [A-Za-z0-9])")
# The next best places for a cut: before spaces inside or at the end of a line, then before a line that isn't indented.
_SECOND_BEST = (re.compile(r".*(?<=\S)(?= )", re.DOTALL), re.compile(r".*\n(?=\S)", re.DOTALL))


def slice_bounds(text: str) -> list[int]:
    """Return where the slices of a text begin, and where the last one ends.

    A slice begins at a single space between two words, about `SLICE_CHARS` characters after the one before. Where there
    is no such space for `MOST_SLICE_CHARS` characters, it begins at the next best place, or anywhere.
    """
    bounds = [0]
    while bounds[-1] + SLICE_CHARS < len(text):
        bounds.append(_end_of_slice(text, bounds[-1]))
    return bounds if bounds[-1] == len(text) else [*bounds, len(text)]


def _end_of_slice(text: str, start: int) -> int:
    short, hard = start + SLICE_CHARS, min(start + MOST_SLICE_CHARS, len(text))
    # A space is seen together with the character behind it.
    safe = _LAST_SAFE.match(text, start, short + 2) or _NEXT_SAFE.search(text, short, hard + 2)
    if safe or hard == len(text):
        return safe.end() if safe else hard
    matches = (pattern.match(text, start + 1, hard) for pattern in _SECOND_BEST)
    return next((match.end() for match in matches if match), hard)


def in_groups(slices: Iterator[str]) -> Iterator[list[str]]:
    """Yield slices, or short texts, in groups of as many as are tokenized at once."""
    while group := list(itertools.islice(slices, _SLICES_AT_ONCE)):
        yield group
