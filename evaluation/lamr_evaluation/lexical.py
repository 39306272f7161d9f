"""Words of queries and code, and BM25 over pieces of a file.

Identifiers count as a whole and as their words (`parse_URL` gives `parse_url`, `parse`, `url`); words lose
their English endings, and the query loses its stop words. Term statistics are those of the one file at hand.
BM25 is Robertson and Zaragoza's (2009) with the usual k1 = 1.2, b = 0.75.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from lamr_client.lexical import STOP_WORDS
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

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


def idf(frequency: FloatArray) -> FloatArray:
    """Rarity of terms `[Q]` from their counts in pieces `[S, Q]`: ln(1 + (S - df + ½) / (df + ½))."""
    holds = (frequency > 0).sum(axis=0)
    return np.asarray(np.log1p((len(frequency) - holds + 0.5) / (holds + 0.5)), dtype=np.float64)


def bm25(counts: Counts, segments: NDArray[np.intp], *, k1: float = 1.2, b: float = 0.75) -> FloatArray:
    """BM25 of each piece for the query; float `[S]`."""
    pieces = int(segments.max()) + 1 if segments.size else 0
    frequency, length = np.zeros((pieces, counts.lines.shape[1])), np.zeros(pieces)
    np.add.at(frequency, segments, counts.lines)
    np.add.at(length, segments, counts.lengths)
    norm = k1 * (1 - b + b * length / max(float(length.mean()) if pieces else 0.0, 1.0))
    weighted = frequency * (k1 + 1) / (frequency + norm[:, None])
    return np.asarray(weighted @ idf(frequency), dtype=np.float64)
