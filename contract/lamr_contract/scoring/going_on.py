"""Lines that go on from what a query of code ends with: what comes next there is likely what comes next here.

Whoever completes code asks with the lines above the hole. Code repeats itself, so the lines behind those that resemble
the query's last ones tell how it goes on, though they share few words with it (repository-level completion retrieves
such windows: Zhang et al. 2023, RepoCoder). The module counts terms; it knows no model.
"""

from __future__ import annotations

import re

import numpy as np

from lamr_contract.arrays import Float64Array
from lamr_contract.words import TermIndex, query_terms

MOST_LINES = 3
"""The query's last lines that are looked for."""
BEHIND, FADING = 4, 0.7
"""How many lines behind one that resembles them go on from it; and what counts of each further line, in either."""
LEAST_ALIKE = 0.3
"""The share of a line's terms, weighed by how rare they are in the file, that a line must have to resemble it."""
_CODE = re.compile(r"[=;{}\[(]\s*$|\w\([^)]|\w\(\)|[)\]][;:]?\s*$|\w\s?[-+|&]?=\s?\S")
_LISTED = re.compile(r"\s*(?:[-*\u2022]|\d+[.)])\s")
_MOST = 0.5  # of the lines


def is_code(query: str) -> bool:
    """Return whether a query is code.

    It has two lines or more, most of them and the last one are indented or look like code, and one of each is there.
    """
    lines = [line for line in query.splitlines() if line.strip()]
    if len(lines) < 2:
        return False
    looks = [_CODE.search(line) is not None and not _LISTED.match(line) for line in lines]
    indented = [line[0].isspace() and not _LISTED.match(line) for line in lines]
    either = list(map(max, looks, indented))
    return any(looks) and any(indented) and either[-1] and sum(either) > _MOST * len(lines)


def going_on(query: str, index: TermIndex, lines: int) -> Float64Array:
    """Return how much each of L lines goes on from lines like the query's last ones, float64 [L]: 1 for the line
    behind one that is like the last line alone.

    Args:
        query: code.
        index: the terms of the file's lines.
        lines: L.
    """
    found = np.zeros(lines)
    last = [terms for line in query.splitlines() if (terms := query_terms(line))][-MOST_LINES:]
    for back, terms in enumerate(reversed(last)):
        there = index.counts(terms).lines > 0
        rarity = np.log((lines + 1) / (there.sum(axis=0) + 0.5))
        alike = there @ rarity / rarity.sum()
        alike[alike <= LEAST_ALIKE] = 0.0
        for behind in range(min(BEHIND + 1, lines)):
            found[behind:] += FADING ** (back + max(0, behind - 1)) * alike[: lines - behind]
    return found
