"""Where a text's tree parts what its brackets and end words hold together.

A tree that has errors says nothing of the rows around them, and one without may be another text's: a grammar that
doesn't know `time {` takes the brace for an argument. There, the two ends of a pair need each other."""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

import numpy as np
from lamr_base.records import dataclass
from numpy.typing import NDArray

from lamr_postprocess.clock import in_time
from lamr_postprocess.extent import broken_rows
from lamr_postprocess.languages.table import Scan
from lamr_postprocess.lines import BoolArray, IntArray
from lamr_postprocess.outline import NOBODY, Outline
from lamr_postprocess.pairs import Pair, Pairs
from lamr_postprocess.source_file import SourceFile
from lamr_postprocess.syntax import ParsedText

_WITHIN = "(["  # brackets of which no row is cut alone
_BRACKETS = "()[]{}"
_STEPS = np.zeros(256)  # what each bracket adds to a sum, in which the kinds have digits of their own
_STEPS[list(_BRACKETS.encode())] = [1, -1, 1e5, -1e5, 1e10, -1e10]
_COUNTED = _STEPS != 0
_LONGEST_WORD = 64  # bytes of a word that opens or closes a block


@dataclass(frozen=True, eq=False)
class Disputes:
    """What a text's pairs say that its tree doesn't."""

    closures: tuple[tuple[int, int], ...] = ()  # pairs of rows that need each other
    # pairs of rows of which the first needs the second, which opens the block around
    scopes: tuple[tuple[int, int], ...] = ()
    # the first and the last row of each block that only its pair holds together
    told: tuple[tuple[int, int], ...] = ()
    broken: frozenset[int] = frozenset()  # the rows that errors are in


def disputes_of(source: SourceFile, outline: Outline, tree: ParsedText) -> Disputes:
    """Compare the pairs of a text with its tree."""
    broken = broken_rows(tree)
    if broken or tree.tree.root_node.has_error:
        single = outline.owner > outline.unit_group.max()  # rows that no unit owns
        broken |= frozenset(np.flatnonzero(single).tolist())
    scan = tree.grammar.language.scan
    if scan is None or not (broken or _may_part(outline, tree, scan)) or source.pairs is None:
        return Disputes(broken=broken)
    return _Comparison(source, source.pairs, outline, tree, broken).disputes()


def _may_part(outline: Outline, tree: ParsedText, scan: Scan) -> bool:
    """Whether a group of a tree without errors has half a pair, by counts alone; where none has, nothing is scanned."""
    points = np.frombuffer(tree.data, dtype=np.uint8)
    places = np.flatnonzero(_COUNTED[points])
    groups, steps = outline.owner[_rows(tree, places)] + 1, _STEPS[points[places]]
    uneven = _uneven(groups, steps, scan)
    if uneven.any():  # what is left may be in texts
        uneven[uneven] = [_is_sign(tree, at) for at in in_time(places[uneven].tolist())]
        if _uneven(groups[uneven], steps[uneven], scan).any():
            return True
    ends = _ends(scan)
    if ends is None:
        return False
    rows = _rows(tree, np.array([each.end() - 1 for each in ends.finditer(tree.data)], np.int64))
    return bool(outline.starts[rows].any())


def _rows(tree: ParsedText, places: IntArray) -> IntArray:
    """The rows of bytes of a text."""
    rows: IntArray = np.searchsorted(tree.rows[:, 1], places, side="right")
    return rows


def _uneven(groups: IntArray, steps: NDArray[np.float64], scan: Scan) -> BoolArray:
    """Which of n brackets are in groups int [n] where one lacks its other half, bool [n]."""
    sums = np.bincount(groups, steps)
    if scan.loose:  # round ones that only close
        sums = sums - np.minimum((sums + 5e4) % 1e5 - 5e4, 0)
    uneven: BoolArray = sums[groups] != 0
    return uneven


@lru_cache(maxsize=64)
def _ends(scan: Scan) -> re.Pattern[bytes] | None:
    """An expression of how the end of a block is written, where that is no bracket."""
    words = [each for each in dict.fromkeys(scan.pairs.values()) if each not in _BRACKETS]
    before = r"\n[ \t]*" if words and words[0].isalpha() else ""
    if not scan.pairs:  # of a tag alone in its row
        return re.compile(rb"\n[ \t]*</[\w:.-]+>[ \t\r]*$", re.MULTILINE)
    return re.compile(rf"{before}(?:{'|'.join(words)})\b".encode()) if words else None


def _is_sign(tree: ParsedText, at: int) -> bool:
    """Whether a byte begins a token by itself to the grammar, and no part of a text."""
    node = tree.tree.root_node.descendant_for_byte_range(at, at + 1)
    if node is None or node.child_count:
        return False
    size = node.end_byte - node.start_byte  # of a text without signs, one node may be all of it
    if size <= 2:  # `${`, or what a grammar takes for a word
        return not node.is_named or tree.data[at - 1 : at].isspace()
    return size <= _LONGEST_WORD and (node.text or b"").isalpha()


class _Comparison:
    """What a comparison knows."""

    def __init__(
        self, source: SourceFile, pairs: Pairs, outline: Outline, tree: ParsedText, broken: frozenset[int]
    ) -> None:
        self._text, self._lines, self._spans = source.body, source.body_lines, source.layout.spans
        self._pairs, self._tree, self._broken = pairs, tree, broken
        self._owner = outline.owner.tolist()

    def disputes(self) -> Disputes:
        """Find what the tree doesn't hold together."""
        pairs = self._pairs
        owner = self._owner
        parted = [
            pair
            for pair in pairs.pairs
            if owner[pair.first] != owner[pair.last]
            and NOBODY not in (owner[pair.first], owner[pair.last])
            and self._counts(pair)
        ]
        texts = [each for each in pairs.texts if each[0] in self._broken]
        if not (parted or self._broken):
            return Disputes()
        closures = [pair[:2] for pair in parted]
        if self._tree.grammar.language.filled:
            closures += [(pair.first, row) for pair in parted for row in self._filling(pair)]
        for first, last in in_time((*texts, *self._whole())):
            owned = [row for row in range(first, last + 1) if self._owner[row] != NOBODY]
            closures += pairwise(owned)
        opens = np.zeros(pairs.rows + 1, np.bool_)  # the last one for rows without a block around
        opens[[pair.first for pair in parted]] = True
        held = opens[pairs.around]
        held[[row for row in self._broken if row < pairs.rows]] = True
        held &= pairs.around >= 0
        scopes = zip(np.flatnonzero(held).tolist(), pairs.around[held].tolist(), strict=True)
        told = tuple(pair[:2] for pair in parted if not self._broken.intersection(pair[:2]))
        return Disputes(tuple(closures), tuple(scopes), told, self._broken)

    def _counts(self, pair: Pair) -> bool:
        """Whether a pair is to be believed: where brackets are missing, none is but what its indentation bears out."""
        if self._broken.intersection(pair[:2]):
            return self._pairs.balanced or self._indent(pair.first) == self._indent(pair.last)
        return (
            self._pairs.balanced
            and self._is_sign(pair.first, pair.opening)
            and self._is_sign(pair.last, pair.closing)
        )

    def _indent(self, row: int) -> str:
        line = self._lines[row]
        return line[: len(line) - len(line.lstrip())]

    def _is_sign(self, row: int, at: int) -> bool:
        before = self._text[int(self._spans[row, 0]) : at].encode("utf-8", "surrogatepass")
        return _is_sign(self._tree, int(self._tree.rows[row, 0]) + len(before))

    def _filling(self, pair: Pair) -> Iterator[int]:
        """The first row inside of a block that may not be empty."""
        comment = self._tree.grammar.language.comment.opening
        begun = [last for first, last in self._pairs.texts if first == pair.first]
        for row in range(max([pair.first, *begun]) + 1, pair.last):
            line = self._lines[row].strip()
            if line and not line.startswith(comment):
                yield row
                return

    def _whole(self) -> Iterator[tuple[int, int]]:
        """The pairs in broken rows of which no row is cut alone: those that hold no block."""
        ends = [*self._pairs.pairs[1:], None]
        for pair, following in in_time(zip(self._pairs.pairs, ends, strict=False)):
            if (
                self._text[pair.opening] in _WITHIN
                and self._broken.intersection(pair[:2])
                and (following is None or following.first > pair.last)
            ):
                yield pair[:2]
