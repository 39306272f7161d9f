"""Where a text's tree parts what its brackets and end words hold together.

A tree that has errors says nothing of the rows around them, and one without may be another text's: a grammar that
doesn't know `time {` takes the brace for an argument. There, the two ends of a pair need each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from lamr_postprocess.clock import in_time
from lamr_postprocess.extent import broken_rows
from lamr_postprocess.languages.table import Scan
from lamr_postprocess.lines import IntArray
from lamr_postprocess.outline import NOBODY, Outline
from lamr_postprocess.scanner import Pair, Pairs, pairs_in
from lamr_postprocess.syntax import ParsedText

_WITHIN = "(["  # brackets of which no row is cut alone
_LONGEST_WORD = 64  # bytes of a word that opens or closes a block


@dataclass(frozen=True, eq=False)
class Disputes:
    """What a text's pairs say that its tree doesn't.

    Attributes:
        closures: pairs of rows that need each other.
        scopes: pairs of rows of which the first needs the second, which opens the block around.
        told: the first and the last row of each block that only its pair holds together.
        broken: the rows that errors are in.
    """

    closures: tuple[tuple[int, int], ...] = ()
    scopes: tuple[tuple[int, int], ...] = ()
    told: tuple[tuple[int, int], ...] = ()
    broken: frozenset[int] = frozenset()


def disputes_of(text: str, spans: IntArray, outline: Outline, source: ParsedText) -> Disputes:
    """Compare the pairs of a text, whose rows' offsets int [R, 2] are given, with its tree."""
    single = (outline.owner != NOBODY) & ~np.isin(outline.owner, outline.unit_group)
    broken = broken_rows(source) | frozenset(np.flatnonzero(single).tolist())
    scan = source.grammar.language.scan
    if scan is None:
        return Disputes(broken=broken)
    return _Comparison(text, spans, outline, source, broken).disputes(scan)


class _Comparison:
    """What a comparison knows."""

    def __init__(
        self, text: str, spans: IntArray, outline: Outline, source: ParsedText, broken: frozenset[int]
    ) -> None:
        self._text, self._spans, self._source, self._broken = text, spans, source, broken
        self._owner = outline.owner.tolist()

    def disputes(self, scan: Scan) -> Disputes:
        """Find what the tree doesn't hold together."""
        pairs = pairs_in(self._text, self._spans, scan)
        parted = [pair for pair in pairs.pairs if self._parts(*pair[:2]) and self._counts(pair, pairs)]
        texts = [each for each in pairs.texts if each[0] in self._broken]
        if not (parted or self._broken):
            return Disputes()
        openings = {pair.first for pair in parted}
        closures = [pair[:2] for pair in parted]
        if scan.filled:
            closures += [(pair.first, row) for pair in parted for row in self._filling(pair, pairs)]
        for first, last in in_time((*texts, *self._whole(pairs))):
            owned = [row for row in range(first, last + 1) if self._owner[row] != NOBODY]
            closures += pairwise(owned)
        scopes = [
            (row, opening)
            for row, opening in enumerate(pairs.around.tolist())
            if opening in openings or (opening >= 0 and row in self._broken)
        ]
        told = tuple(pair[:2] for pair in parted if not self._broken.intersection(pair[:2]))
        return Disputes(tuple(closures), tuple(scopes), told, self._broken)

    def _parts(self, first: int, last: int) -> bool:
        """Whether the tree parts two rows."""
        one, other = self._owner[first], self._owner[last]
        return bool(one != other and NOBODY not in (one, other))

    def _counts(self, pair: Pair, pairs: Pairs) -> bool:
        """Whether a pair is to be believed: where brackets are missing, none is but what its indentation bears out."""
        if self._broken.intersection(pair[:2]):
            return pairs.balanced or self._indent(pair.first) == self._indent(pair.last)
        return (
            pairs.balanced
            and self._is_sign(pair.first, pair.opening)
            and self._is_sign(pair.last, pair.closing)
        )

    def _indent(self, row: int) -> str:
        line = self._text[slice(*self._spans[row].tolist())]
        return line[: len(line) - len(line.lstrip())]

    def _is_sign(self, row: int, at: int) -> bool:
        """Whether what stands at an offset is a token by itself to the grammar, and no part of a text."""
        column = len(self._text[int(self._spans[row, 0]) : at].encode("utf-8", "surrogatepass"))
        node = self._source.tree.root_node.descendant_for_point_range((row, column), (row, column + 1))
        if node is None or node.child_count:
            return False
        size = node.end_byte - node.start_byte  # of a text without signs, one node may be all of it
        return size <= 2 or (size <= _LONGEST_WORD and (node.text or b"").isalpha())  # `${`

    def _filling(self, pair: Pair, pairs: Pairs) -> Iterator[int]:
        """The first row inside of a block that may not be empty."""
        comment = self._source.grammar.language.comment.opening
        begun = [last for first, last in pairs.texts if first == pair.first]
        for row in range(max([pair.first, *begun]) + 1, pair.last):
            line = self._text[slice(*self._spans[row].tolist())].strip()
            if line and not line.startswith(comment):
                yield row
                return

    def _whole(self, pairs: Pairs) -> Iterator[tuple[int, int]]:
        """The pairs in broken rows of which no row is cut alone: those that hold no block."""
        ends = [*pairs.pairs[1:], None]
        for pair, following in in_time(zip(pairs.pairs, ends, strict=False)):
            if (
                self._text[pair.opening] in _WITHIN
                and self._broken.intersection(pair[:2])
                and (following is None or following.first > pair.last)
            ):
                yield pair[:2]
