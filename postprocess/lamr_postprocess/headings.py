"""Which heading each line of a text without a grammar stands under.

The `headings` expressions of a language's table say what a heading is: a section of Markdown, a table of TOML, a file
or a hunk of a diff.
"""

from __future__ import annotations

import re

import numpy as np

from lamr_postprocess.languages import Language
from lamr_postprocess.lines import IntArray, line_spans, split_lines


def headings_of(text: str, language: Language) -> IntArray:
    """The row of the heading that each line stands under, int [L]; -1 for none.

    A line stands under the last heading before it, and a heading under the last one of a higher rank.
    """
    if not language.headings:
        return np.full(len(line_spans(text)), -1, dtype=np.int64)
    lines = split_lines(text)
    above = np.full(len(lines), -1, dtype=np.int64)
    ranks = [re.compile(expression) for expression in language.headings]
    open_headings: list[tuple[int, int]] = []  # (rank, row), ranks rising
    for row, line in enumerate(lines):
        rank = next((index for index, expression in enumerate(ranks) if expression.match(line)), None)
        if rank is not None:
            while open_headings and open_headings[-1][0] >= rank:
                open_headings.pop()
        if open_headings:
            above[row] = open_headings[-1][1]
        if rank is not None:
            open_headings.append((rank, row))
    return above
