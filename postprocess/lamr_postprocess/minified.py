"""Texts that weren't written by lines, such as a program in one line of 160,000 characters: what they are, and parts of
them around what is looked for.

No line of such a text can be chosen, and reading it would take a model minutes."""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import groupby

import numpy as np

from lamr_postprocess.languages import Comment
from lamr_postprocess.lines import IntArray

LONGEST_LINE = 10_000
"""Characters of a line that is still one to be chosen."""
_PART = 240
"""Characters of the parts that compete."""
_MOST_PARTS = 24
_MOST_WORDS = 64
_RARE = 200
"""Occurrences of a word up to which it tells parts apart well."""


def minified(spans: IntArray) -> str:
    """Say what a text is whose characters are mostly in lines too long to be chosen; empty for any other text.
    `spans`: int [L, 2], the lines that count."""
    lengths = spans[:, 1] - spans[:, 0]
    long, total = lengths[lengths > LONGEST_LINE], int(lengths.sum())
    if 2 * int(long.sum()) <= total:
        return ""
    if len(lengths) == 1:
        return f"minified: 1 line of {total:,} characters"
    return (
        f"minified: {len(long):,} of {len(lengths):,} lines hold {int(long.sum()):,} of {total:,} characters"
    )


def parts_around(
    text: str, spans: IntArray, words: Iterable[str], comment: Comment, fits: Callable[[str], bool]
) -> str:
    """The parts of a text that hold most of some words, each below a comment that says where it is; empty without any.

    Args:
        text: the text.
        spans: int [L, 2], its lines.
        words: what is looked for, in any case of letters.
        comment: the text's syntax of comments.
        fits: whether an answer isn't too long."""
    wanted = [re.escape(word) for word in dict.fromkeys(map(str.lower, words))][:_MOST_WORDS]
    if not wanted:
        return ""
    found = re.compile("|".join(sorted(wanted, key=len, reverse=True)), re.IGNORECASE).finditer(text)
    words_of: dict[int, set[str]] = {}
    counts: Counter[str] = Counter()
    for match in found:
        words_of.setdefault(match.start() // _PART, set()).add(match[0].lower())
        counts[match[0].lower()] += 1

    def worth(part: int) -> float:
        return sum(1 / math.log2(2 + counts[word] / _RARE) for word in words_of[part])

    best = sorted(words_of, key=lambda part: (-worth(part), part))[:_MOST_PARTS]
    answer = ""
    for count in range(1, len(best) + 1):
        longer = _written(text, spans, sorted(best[:count]), comment)
        if not fits(longer):
            break
        answer = longer
    return answer


def _written(text: str, spans: IntArray, parts: list[int], comment: Comment) -> str:
    """Parts in their order, those side by side as one."""
    written = []
    for _, run in groupby(enumerate(parts), key=lambda each: each[1] - each[0]):
        numbers = [part for _, part in run]
        begin, end = numbers[0] * _PART, min((numbers[-1] + 1) * _PART, len(text))
        line = int(np.searchsorted(spans[:, 1], begin, side="right"))
        place = begin - int(spans[line, 0]) + 1
        where = comment.wrap(f"... line {line + 1}, characters {place:,}-{place + end - begin - 1:,}")
        written.append(f"{where}\n{text[begin:end].strip()}\n")
    return "".join(written)
