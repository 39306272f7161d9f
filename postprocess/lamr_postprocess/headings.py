"""Which heading each line of a text without a grammar stands under.

The `headings` expressions of a language's table say what a heading is: a section of Markdown, a table of TOML, a
stage of a Dockerfile, a division of COBOL. Its `directives` say what all lines after them mean."""

import re

import numpy as np

from lamr_postprocess.languages import Language
from lamr_postprocess.languages.table import NEVER
from lamr_postprocess.lines import BOM, BoolArray, IntArray, line_spans

_NONE = -1
_DIRECTIVE = -1.0


def headings_of(text: str, language: Language, whole: BoolArray) -> IntArray:
    """The row of the heading that each of L lines stands under, int [L]; -1 for none.

    A line stands under the last heading before it, and a heading under the last one of a higher rank. A directive
    stays in force up to the end of the section that it stands in, and others after it stand under it. `language`: its
    language, whose `headings` and `directives` are looked for. `whole`: bool [L], rows inside of something
    else."""
    spans = line_spans(text)
    above = np.full(len(spans), _NONE, dtype=np.int64)
    ranks = {expression: float(rank) for rank, expression in enumerate(language.headings)}
    found: dict[int, float] = {}
    for expression in (*ranks, language.directives or NEVER):
        for match in re.finditer(f"^{BOM}?(?:{expression})", text, re.MULTILINE):
            row = int(np.searchsorted(spans[:, 1], match.start(), side="right"))
            # A title's rank is that of its underlining's first use.
            marked = match.groupdict().get("mark")
            rank = ranks.get(expression, _DIRECTIVE)
            if row < len(spans) and not whole[row]:
                found.setdefault(row, ranks.setdefault(marked, len(ranks)) if marked else rank)
    open_headings: list[tuple[float, int]] = []  # (rank, row), ranks rising
    begin = 0
    for row, rank in sorted(found.items()):
        above[begin:row] = open_headings[-1][1] if open_headings else _NONE
        while rank != _DIRECTIVE and open_headings and open_headings[-1][0] >= rank:
            open_headings.pop()
        outer, above[row] = open_headings[-1] if open_headings else (_DIRECTIVE, _NONE)
        open_headings.append((max(rank, outer), row))
        begin = row + 1
    above[begin:] = open_headings[-1][1] if open_headings else _NONE
    return above
