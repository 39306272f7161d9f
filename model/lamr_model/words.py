"""The words of queries and code, and how often a query's words occur in each line.

What is counted are terms: an identifier as a whole and its words (`parse_URL` gives `parse_url`, `parse`, `url`). Words
lose their English endings, and a query loses its stop words. The module knows characters and lines; it scores
nothing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import chain, count, product

import numpy as np
from lamr_base.arrays import Float64Array, ranges
from lamr_base.expressions import expression
from lamr_base.records import dataclass
from lamr_postprocess.layout import DIGIT, LOWER, OTHER, UPPER, LineLayout, line_layout
from numpy.typing import NDArray

_STOP = """
    a about after all also an and any are as at be because been before being between both but by can could
    did do does doing done during each every for from get gets given had has have having how i if in instead
    into is it its itself kind let like may me might more most much must my no nor not now of off on once one
    only or other our out over own per same should since so some such than that the their them then there
    these they this those through to too under until up use used uses using very via was way we were what
    when where whether which while who whom whose why will with without would you your
"""
STOP_WORDS = frozenset(_STOP.split())

IDENTIFIER = expression(r"[^\W\d]\w*|\d+")  # or a number
_WORD = expression(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\dA-Za-z_]+")
_SPACE = 32
_ENDINGS = ("ings", "ing", "ies", "ied", "es", "ed", "s")


def _marks(before: int, here: int, after: int) -> int:
    """Return what begins at or ends after a character between two others, as a sum of marks; all given by kind."""
    if here == UPPER:
        word = before != UPPER or after == LOWER
    elif here == LOWER:
        word = before not in (UPPER, LOWER)
    else:
        word = here in (DIGIT, OTHER) and here != before
    begins, ends = here and not before, here and not after
    digits_end = here == DIGIT and after != DIGIT
    number = begins and here == DIGIT
    marks = (
        (_WORD_BEGINS, word),
        (_BEGINS, begins),
        (_ENDS, ends),
        (_DIGITS_END, digits_end),
        (_NUMBER, number),
    )
    return sum(mark for mark, holds in marks if holds)


# The marks: a word of `_WORD` begins; a run of word characters begins or ends; a run of digits ends; a run of word
# characters begins with digits.
_WORD_BEGINS, _BEGINS, _ENDS, _DIGITS_END, _NUMBER = 1, 2, 4, 8, 16
_MARKS = np.array([_marks(*kinds) for kinds in product(range(6), repeat=3)], np.uint8)


def split_words(identifier: str) -> list[str]:
    """Return the lower-case words of an identifier: `parseHTTPHeader_2` gives `parse`, `http`, `header`, `2`."""
    return [word.lower() for word in _WORD.findall(identifier)]


def stem(word: str) -> str:
    """Return a word without its plural or verb ending, if at least four letters stay: `parsing` gives `pars`.

    The rule is crude, because it only has to give the same for a query and for code; `uses` stays `uses`."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            word = word[: -len(ending)]
            break
    return word[:-1] if word.endswith("e") and len(word) > 4 else word


@lru_cache(maxsize=1 << 14)  # the same identifiers come again and again, in a file and in a project
def terms(identifier: str) -> tuple[str, ...]:
    """Return the stems of an identifier's words and, if there are several, the identifier itself."""
    words = tuple(stem(word) for word in split_words(identifier))
    return words if len(words) < 2 else (*words, identifier.lower().strip("_"))


def query_terms(query: str) -> list[str]:
    """Return the distinct terms of a query without stop words, in their order."""
    identifiers = (each for each in IDENTIFIER.findall(query) if each.lower() not in STOP_WORDS)
    return list(dict.fromkeys(term for each in identifiers for term in terms(each) if len(term) > 1))


@dataclass(frozen=True)
class TermCounts:
    """How often each term of a query occurs in each line."""

    lines: Float64Array  # [L, Q], the occurrences of each of Q terms in each of L lines
    lengths: Float64Array  # [L], how many terms of any kind a line has


class TermIndex:
    """A text's identifiers, ready for counting the terms of any query.

    The kinds of characters tell where words begin; only words that begin like one of a query's are looked
    at."""

    def __init__(self, text: str, lines: int, layout: LineLayout | None = None) -> None:
        """Find the identifiers of a text.

        Args:
            text: the text.
            lines: L, how many of its lines count; what stands beyond them is left out.
            layout: `line_layout(text)`, where it is at hand."""
        layout = layout or line_layout(text)
        self._text, self._count, self._layout = text, lines, layout
        kinds = np.zeros(len(text) + 2, np.uint8)
        kinds[1:-1] = layout.kinds
        marks = _MARKS[kinds[:-2] * 36 + kinds[1:-1] * 6 + kinds[2:]]
        self._words = _places(marks, _WORD_BEGINS)
        self._starts, self._ends = _identifiers(marks)
        of_lines = np.diff(np.searchsorted(self._starts, layout.spans[:, 1]), prepend=0)
        self._line = np.repeat(np.arange(len(of_lines)), of_lines)
        words = np.diff(np.searchsorted(self._words, self._starts), append=len(self._words))
        self._lengths = np.asarray(np.bincount(self._line, words + (words > 1), lines)[:lines], np.float64)

    @classmethod
    def of(cls, text: str, layout: LineLayout) -> TermIndex:
        """Return the index of all lines of a text, whose `line_layout` is given."""
        return cls(text, len(layout.spans), layout)

    def counts(self, query: Sequence[str]) -> TermCounts:
        """Count the terms of a query, which `query_terms` gives, by line."""
        column = defaultdict(lambda: len(query), {term: index for index, term in enumerate(query)})
        alike = self._alike(query)
        spans = map(slice, self._starts[alike].tolist(), self._ends[alike].tolist())
        texts = list(map(self._text.__getitem__, spans))
        term, line = _occurrences(texts, self._line[alike], column.__getitem__)
        total = np.bincount(term * self._count + line, minlength=len(query) * self._count)
        lines = total[: len(query) * self._count].astype(np.float64).reshape(len(query), self._count).T
        return TermCounts(lines, self._lengths)

    def occurrences(self) -> tuple[list[str], NDArray[np.int64], NDArray[np.int64]]:
        """Return all distinct terms of the text, and of each of n occurrences its term's place and its line, int64 [n].

        Counting them by piece once serves every later query, which is what an index of many files needs."""
        column = _numbers()
        line = self._line[self._line < self._count]
        term, line = _occurrences(self._identifiers()[: len(line)], line, column.__getitem__)
        return list(column), term, line

    @property
    def lengths(self) -> Float64Array:
        """How many terms of any kind each line has, float64 [L]."""
        return self._lengths

    def _identifiers(self) -> list[str]:
        """Return the texts of all identifiers, which takes a fourth of the time of cutting them out one by one."""
        points = np.where(self._layout.kinds > 0, self._layout.points, _SPACE)
        touching = self._starts[1:][self._starts[1:] == self._ends[:-1]]
        if len(touching):
            points = np.insert(points, touching, _SPACE)
        if points.itemsize == 1:
            return points.tobytes().decode("ascii").split()
        return points.tobytes().decode("utf-32-le", "surrogatepass").split()

    def _alike(self, query: Sequence[str]) -> NDArray[np.int64]:
        """Return the identifiers that may hold a term of a query, ascending.

        They have a word with the first letters of a term, because a term is the beginning of a word or of an identifier
        that begins with a word. Beyond ASCII a small letter may be longer than its capital, so such words all
        count."""
        wanted = np.zeros((32, 32, 32), np.bool_)
        for term in query:
            wanted[tuple(ord(letter) & 31 for letter in term[:3])] = True
        points = self._layout.points
        letters = points[np.minimum(self._words + np.arange(3)[:, None], len(points) - 1)]
        alike = wanted[tuple(letters & 31)]
        if letters.itemsize > 1:
            alike |= (letters > 127).any(axis=0)
        identifiers = np.searchsorted(self._starts, self._words[alike], side="right") - 1
        distinct: NDArray[np.int64] = identifiers[np.diff(identifiers, prepend=-1) > 0]
        return distinct[self._line[distinct] < self._count]


def _numbers() -> defaultdict[str, int]:
    """What numbers each distinct text when it first comes."""
    return defaultdict(count().__next__)


def _occurrences(
    identifiers: list[str], line: NDArray[np.int64], column: Callable[[str], int]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the column and the line, int64 [n] both, of each term of I identifiers, whose lines are given. `column`:
    the column of a term; asked for the terms of each distinct identifier."""
    rows = _numbers()
    row = np.fromiter(map(rows.__getitem__, identifiers), np.int64, len(identifiers))
    terms_of = list(map(terms, rows))
    many = np.fromiter(map(len, terms_of), np.int64, len(terms_of))
    columns = np.fromiter(map(column, chain.from_iterable(terms_of)), np.int64)
    term = columns[ranges((np.cumsum(many) - many)[row], many[row])]
    return term, np.repeat(line, many[row])


def _places(marks: NDArray[np.uint8], mark: int) -> NDArray[np.int64]:
    """Return the characters that carry a mark, ascending."""
    places: NDArray[np.int64] = ((marks & mark) != 0).nonzero()[0]
    return places


def _identifiers(marks: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where identifiers and numbers begin and end.

    They are runs of word characters, but digits at the beginning of a run are a number of their own."""
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
