"""Words of queries and code, and how often a query's words occur in each line.

Identifiers count as a whole and as their words (`parse_URL` gives `parse_url`, `parse`, `url`); words lose their
English endings, and the query loses its stop words. Knows characters and lines; it scores nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, product
from typing import Any

import numpy as np
from lamr_postprocess.lines import code_points, spans_of
from numpy.typing import NDArray

from lamr_contract.arrays import Float64Array, ranges
from lamr_contract.layout import LineLayout

_STOP = """
    a about after all also an and any are as at be because been before being between both but by can could
    did do does doing done during each every for from get gets given had has have having how i if in instead
    into is it its itself kind let like may me might more most much must my no nor not now of off on once one
    only or other our out over own per same should since so some such than that the their them then there
    these they this those through to too under until up use used uses using very via was way we were what
    when where whether which while who whom whose why will with without would you your
"""
STOP_WORDS = frozenset(_STOP.split())

_TOKEN = re.compile(r"[^\W\d]\w*|\d+")
_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\dA-Za-z_]+")
_ENDINGS = ("ings", "ing", "ies", "ied", "es", "ed", "s")


# Kinds of characters: no part of a word, A-Z, a-z, decimal digits, other letters, the underscore.
_NONE, _UPPER, _LOWER, _DIGIT, _OTHER, _UNDERSCORE = range(6)


def _kind(letter: str) -> int:
    if letter == "_":
        return _UNDERSCORE
    if letter.isascii() and letter.isalpha():
        return _UPPER if letter.isupper() else _LOWER
    return _DIGIT if letter.isdecimal() else _OTHER if letter.isalnum() else _NONE


def _marks(before: int, here: int, after: int) -> int:
    """What begins at or ends after a character of one kind between two others, as a sum of marks."""
    if here == _UPPER:
        word = before != _UPPER or after == _LOWER
    elif here == _LOWER:
        word = before not in (_UPPER, _LOWER)
    else:
        word = here in (_DIGIT, _OTHER) and here != before
    begins, ends = here and not before, here and not after
    digits_end = here == _DIGIT and after != _DIGIT
    number = begins and here == _DIGIT
    marks = (
        (_WORD_BEGINS, word),
        (_BEGINS, begins),
        (_ENDS, ends),
        (_DIGITS_END, digits_end),
        (_NUMBER, number),
    )
    return sum(mark for mark, holds in marks if holds)


# A word of `_WORD` begins; a run of word characters begins or ends; a run of digits ends; the first run is of digits.
_WORD_BEGINS, _BEGINS, _ENDS, _DIGITS_END, _NUMBER = 1, 2, 4, 8, 16
_KINDS = np.array([_kind(chr(point)) for point in range(128)] + [_NONE], np.uint8)
_MARKS = np.array([_marks(*kinds) for kinds in product(range(6), repeat=3)], np.uint8)


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

    lines: Float64Array
    lengths: Float64Array


class Tokens:
    """A file's words, ready to be counted against any query.

    Where words begin, the kinds of the characters tell; only words that begin like one of a query's are looked at.
    """

    def __init__(self, code: str, lines: int, layout: LineLayout | None = None) -> None:
        """Args:
        code, lines: the text, and how many lines it has.
        layout: `line_layout(code)`, where it is at hand.
        """
        self._code, self._count = code, lines
        self._points = code_points(code) if layout is None else layout.points
        spans = spans_of(self._points) if layout is None else layout.spans
        kinds = np.zeros(len(code) + 2, np.uint8)
        kinds[1:-1] = kinds_of(self._points)
        marks = _MARKS[kinds[:-2] * 36 + kinds[1:-1] * 6 + kinds[2:]]
        self._words = _places(marks, _WORD_BEGINS)
        self._starts, self._ends = _tokens(marks)
        self._line = np.searchsorted(spans[:, 1], self._starts, side="right")
        words = self._starts  # how many are in each token
        if len(words):
            words = np.add.reduceat(marks & _WORD_BEGINS, self._starts, dtype=np.int64)
        self._lengths = np.asarray(np.bincount(self._line, words + (words > 1), lines)[:lines], np.float64)

    def counts(self, query: Sequence[str]) -> Counts:
        """Occurrences of the query's terms, by line."""
        tokens = self._alike(query)
        spans = map(slice, self._starts[tokens].tolist(), self._ends[tokens].tolist())
        texts = list(map(self._code.__getitem__, spans))
        rows = {text: row for row, text in enumerate(dict.fromkeys(texts))}
        column = {term: index for index, term in enumerate(query)}
        found = [[column[term] for term in terms(text) if term in column] for text in rows]
        columns = np.fromiter(chain.from_iterable(found), np.int64)
        many = np.array([len(each) for each in found], np.int64)
        row = np.fromiter(map(rows.__getitem__, texts), np.int64, len(texts))
        term = columns[ranges((np.cumsum(many) - many)[row], many[row])]
        line = np.repeat(self._line[tokens], many[row])
        total = np.bincount(term * self._count + line, minlength=len(query) * self._count)
        lines = total.astype(np.float64).reshape(len(query), self._count).T
        return Counts(lines, self._lengths)

    def _alike(self, query: Sequence[str]) -> NDArray[np.int64]:
        """The tokens that may hold a term of a query, ascending: those with a word that has the first letters of one.

        A term is the beginning of a word, or of an identifier that begins with a word. Beyond ASCII a small letter may
        be longer than its capital, so such words are all taken.
        """
        wanted = np.zeros((32, 32, 32), np.bool_)
        for term in query:
            wanted[tuple(ord(letter) & 31 for letter in term[:3])] = True
        places = np.minimum(self._words + np.arange(3)[:, None], len(self._points) - 1)
        letters = self._points[places]
        alike = wanted[tuple(letters & 31)]
        if letters.itemsize > 1:
            alike |= (letters > 127).any(axis=0)
        tokens = np.searchsorted(self._starts, self._words[alike], side="right") - 1
        found: NDArray[np.int64] = tokens[np.diff(tokens, prepend=-1) > 0]
        return found[self._line[found] < self._count]


def kinds_of(points: NDArray[Any]) -> NDArray[np.uint8]:
    """What each character [c] is for words: `_KINDS`' numbers."""
    kinds: NDArray[np.uint8] = _KINDS[np.minimum(points, 128)]
    if points.itemsize > 1:
        wide = np.flatnonzero(points > 127)
        letters, place = np.unique(points[wide], return_inverse=True)
        kinds[wide] = np.array([_kind(chr(letter)) for letter in letters.tolist()], np.uint8)[place]
    return kinds


def _places(marks: NDArray[np.uint8], mark: int) -> NDArray[np.int64]:
    found: NDArray[np.int64] = ((marks & mark) != 0).nonzero()[0]
    return found


def _tokens(marks: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where identifiers and numbers begin and end.

    They are runs of word characters, but digits at the beginning of one are a token of their own.
    """
    starts, ends = _places(marks, _BEGINS), _places(marks, _ENDS) + 1
    numbers = _places(marks, _NUMBER)
    if not len(numbers):
        return starts, ends
    digits_end = _places(marks, _DIGITS_END) + 1
    splits = digits_end[np.searchsorted(digits_end, numbers, side="right")]
    splits = splits[marks[splits - 1] & _ENDS == 0]
    if not len(splits):
        return starts, ends
    return np.sort(np.append(starts, splits)), np.sort(np.append(ends, splits))
