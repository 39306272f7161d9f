"""Cuts a long text into slices that can be tokenized one by one, with the tokens of the whole text.

A tokenizer's time and memory grow faster than its input, so text goes in by slices, a few at a time. A slice is short
where it can end at a place that is sure to change nothing, and longer where there is no such place. The module knows
characters; it knows no tokenizer.
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_right
from collections.abc import Iterator

import numpy as np
from lamr_postprocess.lines import code_points
from numpy.typing import NDArray

SLICE_CHARS, MOST_SLICE_CHARS = 2048, 8192
_SLICES_AT_ONCE = 16
_NEWLINE, _SPACE, _DELETE = 10, 32, 127
_WORD = np.array([chr(point).isalnum() for point in range(128)] + [False])
# The next best places for a cut: before spaces inside or at the end of a line, then before a line that isn't indented.
_SECOND_BEST = (re.compile(r".*(?<=\S)(?= )", re.DOTALL), re.compile(r".*\n(?=\S)", re.DOTALL))


def slice_bounds(text: str) -> list[int]:
    """Return where the slices of a text begin, and where the last one ends.

    A slice begins at a single space between two words, about `SLICE_CHARS` characters after the one before. Where there
    is no such space for `MOST_SLICE_CHARS` characters, it begins at the next best place, or anywhere.
    """
    if len(text) <= SLICE_CHARS:
        return [0, len(text)] if text else [0]
    safe: list[int] = single_spaces(text).tolist()
    bounds = [0]
    while bounds[-1] + SLICE_CHARS < len(text):
        start, hard = bounds[-1], min(bounds[-1] + MOST_SLICE_CHARS, len(text))
        after = bisect_right(safe, start + SLICE_CHARS)
        near = safe[
            max(after - 1, 0) : after + 1
        ]  # the last place within a short slice, and the first one beyond
        cut = next((place for place in near if start < place <= hard), None)
        if cut is None:
            cut = hard if hard == len(text) else _second_best(text, start, hard)
        bounds.append(cut)
    return bounds if bounds[-1] == len(text) else [*bounds, len(text)]


def cuts_inside(text: str) -> bool:
    """Return whether a slice may begin inside a word, or inside white space that belongs together.

    This takes a stretch as long as a slice without a space behind ink and without a line that isn't indented.
    """
    if len(text) <= MOST_SLICE_CHARS:
        return False
    points = code_points(text)
    inked = (points > _SPACE) & (points < _DELETE)
    places = (
        np.flatnonzero((inked[:-1] & (points[1:] == _SPACE)) | ((points[:-1] == _NEWLINE) & inked[1:])) + 1
    )
    return int(np.diff(places, prepend=0, append=len(text)).max()) > MOST_SLICE_CHARS - 2


def in_groups(slices: Iterator[str]) -> Iterator[list[str]]:
    """Yield slices in groups of as many as are tokenized at once."""
    while group := list(itertools.islice(slices, _SLICES_AT_ONCE)):
        yield group


def single_spaces(text: str) -> NDArray[np.int64]:
    """Return the places of the spaces that stand alone between two ASCII letters or digits, ascending."""
    points = code_points(text)
    space = points == _SPACE
    alone = np.flatnonzero(space[1:-1] & ~space[:-2] & ~space[2:]) + 1
    sides = np.minimum(points[[alone - 1, alone + 1]], len(_WORD) - 1)
    between_words: NDArray[np.int64] = alone[_WORD[sides].all(axis=0)]
    return between_words


def _second_best(text: str, start: int, hard: int) -> int:
    """Return the last place for a cut in a slice without two words side by side, or else the slice's end."""
    matches = (pattern.match(text, start + 1, hard) for pattern in _SECOND_BEST)
    return next((match.end() for match in matches if match), hard)
