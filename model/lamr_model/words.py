"""The words of queries and code, and how often a query's words occur in each line.

What is counted are terms: an identifier as a whole and its words (`parse_URL` gives `parse_url`, `parse`, `url`). Words
lose their English endings, and a query loses its stop words. The module knows characters and lines; it scores nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import chain, count, product
from typing import Any

import numpy as np
from lamr_base.arrays import Float64Array, ranges
from lamr_base.expressions import expression
from lamr_base.records import dataclass
from lamr_postprocess.layout import DIGIT, LOWER, NONE, OTHER, UNDERSCORE, UPPER, LineLayout, line_layout
from lamr_postprocess.lines import code_points
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
    behind = here in _NO_WORD and before not in _NO_WORD
    marks = (
        (_WORD_BEGINS, word),
        (_BEGINS, begins),
        (_ENDS, ends),
        (_DIGITS_END, digits_end),
        (_NUMBER, number),
        (_BEHIND, behind),
    )
    return sum(mark for mark, holds in marks if holds)


# The marks: a word of `_WORD` begins; a run of word characters begins or ends; a run of digits ends; a run of word
# characters begins with digits; what ends a word stands behind it.
_WORD_BEGINS, _BEGINS, _ENDS, _DIGITS_END, _NUMBER, _BEHIND = 1, 2, 4, 8, 16, 32
_NO_WORD = (NONE, UNDERSCORE)
_MARKS = np.array([_marks(*kinds) for kinds in product(range(6), repeat=3)], np.uint8)


def split_words(identifier: str) -> list[str]:
    """Return the lower-case words of an identifier: `parseHTTPHeader_2` gives `parse`, `http`, `header`, `2`."""
    return [word.lower() for word in _WORD.findall(identifier)]


def stem(word: str) -> str:
    """Return a word without its plural or verb ending, if at least four letters stay: `parsing` gives `pars`.

    The rule is crude, because it only has to give the same for a query and for code; `uses` stays `uses`.
    """
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
    """How often each term of a query occurs in each line.

    Attributes:
        lines: float64 [L, Q], the occurrences of each of Q terms in each of L lines.
        lengths: float64 [L], how many terms of any kind a line has.
    """

    lines: Float64Array
    lengths: Float64Array


class TermIndex:
    """A text's identifiers, ready for counting the terms of any query.

    The kinds of characters tell where words begin; only words that begin like one of a query's are looked at.
    """

    def __init__(self, text: str, lines: int, layout: LineLayout | None = None) -> None:
        """Find the identifiers of a text.

        Args:
            text: the text.
            lines: L, how many of its lines count; what stands beyond them is left out.
            layout: `line_layout(text)`, where it is at hand.
        """
        layout = layout or line_layout(text)
        self._text, self._count, self._layout = text, lines, layout
        kinds = np.zeros(len(text) + 2, np.uint8)
        kinds[1:-1] = layout.kinds
        marks = _MARKS[kinds[:-2] * 36 + kinds[1:-1] * 6 + kinds[2:]]
        self._marks = marks
        self._words = _places(marks, _WORD_BEGINS)
        self._starts, self._ends = _identifiers(marks)
        of_lines = np.diff(np.searchsorted(self._starts, layout.spans[:, 1]), prepend=0)
        self._line = np.repeat(np.arange(len(of_lines)), of_lines)
        words = np.diff(np.searchsorted(self._words, self._starts), append=len(self._words))
        self._many = words
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

        Counting them by piece once serves every later query, which is what an index of many files needs.
        """
        column = _numbers()
        line = self._line[self._line < self._count]
        term, line = _occurrences(self._identifiers()[: len(line)], line, column.__getitem__)
        return list(column), term, line

    def numbers(self) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """Return the `term_number` uint64 [n] of each of n occurrences of terms, and its line, int64 [n].

        Terms of one character are left out, since no query has any.
        No term is cut out of the text, so an index of a repository is made in a fraction of the time of `occurrences`.
        A letter whose small form is more than one character stands for itself.
        """
        points = _small(self._text, self._layout.points)
        sums = np.zeros(len(points) + 1, np.uint64)
        powers, inverses = _powers(1 << max(len(points).bit_length(), 16))
        np.cumsum(points * powers[: len(points)], out=sums[1:])
        edges = _places(self._marks, _WORD_BEGINS | _BEHIND)
        ends = np.append(edges[1:], len(points))[(self._marks[edges] & _WORD_BEGINS) != 0]
        several = (self._many > 1).nonzero()[0]
        last = np.cumsum(self._many)[several]
        begin = np.concatenate([self._words, self._words[last - self._many[several]]])
        end = np.concatenate([_stem_ends(points, self._words, ends), ends[last - 1]])
        line = np.concatenate([np.repeat(self._line, self._many), self._line[several]])
        counts = (end - begin > 1) & (line < self._count)
        begin, end = begin[counts], end[counts]
        return _mixed((sums[end] - sums[begin]) * inverses[begin]), line[counts]

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
        that begins with a word. Beyond ASCII a small letter may be longer than its capital, so such words all count.
        """
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
    """Return the column and the line, int64 [n] both, of each term of some identifiers.

    Args:
        identifiers: their texts.
        line: int64 [I], the line of each.
        column: the column of a term; asked for the terms of each distinct identifier.
    """
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

    They are runs of word characters, but digits at the beginning of a run are a number of their own.
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


_BASE = 0x9E3779B97F4A7C15  # any odd number
_WRAP = (1 << 64) - 1


def term_number(term: str) -> int:
    """Return the 64-bit number that stands for a term: a polynomial of its characters, mixed."""
    total, power = 0, 1
    for letter in term:
        total, power = total + ord(letter) * power & _WRAP, power * _BASE & _WRAP
    return int(_mixed(np.array([total], np.uint64))[0])


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return numbers of which each bit depends on all bits of the given ones."""
    numbers = (numbers ^ (numbers >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
    mixed: NDArray[np.uint64] = numbers ^ (numbers >> np.uint64(32))
    return mixed


@lru_cache(maxsize=2)
def _powers(count: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return the first powers of the base and of its inverse, uint64 [count] each."""
    powers = np.ones((2, count), np.uint64)
    for row, base in zip(powers, (_BASE, pow(_BASE, -1, 1 << 64)), strict=True):
        row[1:] = base
        np.multiply.accumulate(row, out=row)
    return powers[0], powers[1]


_SMALL = np.array([ord(chr(point).lower()) for point in range(128)], np.uint64)


def _small(text: str, points: NDArray[Any]) -> NDArray[np.uint64]:
    """Return the small letters of a text, as numbers uint64 [c]."""
    if points.itemsize == 1:
        return np.asarray(_SMALL[points])
    small = text.lower()
    if len(small) != len(text):
        small = "".join(low if len(low := letter.lower()) == 1 else letter for letter in text)
    return code_points(small).astype(np.uint64)


def _stem_ends(
    points: NDArray[np.uint64], begins: NDArray[np.int64], ends: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return where the stems of words end (see `stem`), whose small letters are given: int64 [n]."""
    stems = ends.copy()
    long = (ends - begins > 4).nonzero()[0]
    long = long[_ENDS_A_WORD[np.minimum(points[ends[long] - 1], 127)]]
    last, length = ends[long], (ends - begins)[long]
    letters = np.zeros(len(long), np.uint64)
    for back in range(1, 5):
        letters = (letters << np.uint64(16)) + points[
            last - back
        ]  # no letter of an ending is a sum of others
    holds = [
        (letters >> np.uint64(64 - 16 * len(ending)) == _packed(ending)) & (length >= len(ending) + 4)
        for ending in _ENDINGS
    ]
    cut = last - np.select(holds, [len(ending) for ending in _ENDINGS], 0)
    stems[long] = cut - ((points[cut - 1] == ord("e")) & (cut - begins[long] > 4))
    return stems


def _packed(ending: str) -> np.uint64:
    """Return the last letters of a word as one number, the last one first."""
    return np.uint64(sum(ord(letter) << 16 * place for place, letter in enumerate(ending)))


_ENDS_A_WORD = np.array([chr(point) in "sgde" for point in range(128)])
"""The last letters of words that aren't their own stems."""
