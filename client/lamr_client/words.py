"""Words of queries and code, and how often a query's words occur in each line.

Identifiers count as a whole and as their words (`parse_URL` gives `parse_url`, `parse`, `url`); words lose their
English endings, and the query loses its stop words. Knows characters and lines; it scores nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

_STOP = """
    a about after all also an and any are as at be because been before being between both but by can could
    did do does doing done during each every for from get gets given had has have having how i if in instead
    into is it its itself kind let like may me might more most much must my no nor not now of off on once one
    only or other our out over own per same should since so some such than that the their them then there
    these they this those through to too under until up use used uses using very via was way we were what
    when where whether which while who whom whose why will with without would you your
"""
STOP_WORDS = frozenset(_STOP.split())

_TOKEN = re.compile(r"[^\W\d]\w*|\d+|\r\n|\r|\n")
_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\dA-Za-z_]+")
_ENDINGS = ("ings", "ing", "ies", "ied", "es", "ed", "s")


def split_words(token: str) -> list[str]:
    """Lower-case words of an identifier: `parseHTTPHeader_2` gives `parse`, `http`, `header`, `2`."""
    return [word.lower() for word in _WORD.findall(token)]


def stem(word: str) -> str:
    """A word without its plural or verb ending, if at least four letters stay: `parsing` → `pars`, `uses` → `uses`.

    Crude on purpose: it has to agree between query and code, not to be English.
    """
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            word = word[: -len(ending)]
            break
    return word[:-1] if word.endswith("e") and len(word) > 4 else word


def terms(token: str) -> list[str]:
    """Terms of one token: the words of an identifier and, if there are several, the identifier itself."""
    words = [stem(word) for word in split_words(token)]
    return words if len(words) < 2 else [*words, token.lower().strip("_")]


def query_terms(query: str) -> list[str]:
    """Distinct terms of a query without stop words, in order."""
    tokens = (token for token in _TOKEN.findall(query) if token.lower() not in STOP_WORDS)
    return list(dict.fromkeys(term for token in tokens for term in terms(token) if len(term) > 1))


@dataclass(frozen=True)
class Counts:
    """How often each query term occurs in each line.

    Attributes:
        lines: float `[L, Q]`.
        lengths: float `[L]`, terms of any kind.
    """

    lines: FloatArray
    lengths: FloatArray


class Tokens:
    """A file's tokens, ready to be counted against any query."""

    def __init__(self, code: str, lines: int) -> None:
        tokens = np.array(_TOKEN.findall(code) or ["\n"], dtype=object)
        is_newline = np.isin(tokens, ["\r\n", "\r", "\n"])
        line: NDArray[np.intp] = np.cumsum(is_newline) - is_newline
        inside = ~is_newline & (line < lines)
        vocabulary, self._ids = np.unique(tokens[inside].astype(str), return_inverse=True)
        self._terms = [terms(token) for token in vocabulary]
        self._line: NDArray[np.intp] = line[inside]
        self._count = lines

    def counts(self, query: Sequence[str]) -> Counts:
        """Occurrences of the query's terms, by line."""
        column = {term: index for index, term in enumerate(query)}
        table = np.zeros((len(self._terms), len(query) + 1))
        for row, found in zip(table, self._terms, strict=True):
            row[-1] = len(found)
            for term in found:
                if term in column:
                    row[column[term]] += 1
        total = np.zeros((self._count, len(query) + 1))
        np.add.at(total, self._line, table[self._ids])
        return Counts(total[:, :-1], total[:, -1])
