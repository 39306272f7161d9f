"""SWE-Pruner's own text for a selection of lines, for who reads its results and wants the same from LaMR.

The rules are those of its service: a single line between two kept ones is kept as well; blank lines are never shown and
count as filtered; a run of at most 18 characters is shown after all; lines are joined with LF, and the last one ends
without it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from lamr_postprocess.lines import BoolArray, IntArray

_MARKER = "(filtered {} lines)"
_SHOWN_CHARACTERS = len(_MARKER.format(0))


def single_gaps(lines: int) -> IntArray:
    """The rows that have two neighbours, and the rows before and after each: int64 [3, n], as `Rules.singles`."""
    rows = np.arange(1, max(lines - 1, 1))
    return np.stack([rows, rows - 1, rows + 1])


def filtered_text(lines: Sequence[str], kept: BoolArray, heads: Sequence[str] | None = None) -> str:
    """Return the text of a selection.

    Args:
        lines: L lines, with or without their newlines.
        kept: bool [L], closed under `single_gaps`.
        heads: what to write before each line, such as its number; nothing if None.
    """
    texts = [line.rstrip("\r\n") for line in lines]
    inked = np.fromiter((bool(text.strip()) for text in texts), np.bool_, len(texts))
    sizes = np.fromiter(map(len, texts), np.int64, len(texts))
    if heads is not None:
        texts = [head + text for head, text in zip(heads, texts, strict=True)]
    return "\n".join(_shown(texts, np.flatnonzero(kept & inked), np.cumsum([0, *(sizes * inked)])))


def _shown(texts: Sequence[str], rows: IntArray, characters: IntArray) -> Iterator[str]:
    """Yield the lines of a text.

    Args:
        texts: L lines without newlines.
        rows: int64 [r], the rows that are shown, ascending.
        characters: int64 [L + 1], how many characters of lines that aren't blank there are before each row.
    """
    for before, row in pairwise([-1, *rows.tolist()]):
        first = before + 1
        if row > first and characters[row] - characters[first] > _SHOWN_CHARACTERS:
            yield _MARKER.format(row - first)
        else:
            yield from texts[first:row]
        yield texts[row]
    last = int(rows[-1]) + 1 if len(rows) else 0
    if last < len(texts):
        yield _MARKER.format(len(texts) - last)
