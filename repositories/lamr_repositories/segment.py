"""`Segment`: a `FileIndex` as bytes, of which a question unpacks only the blocks that hold its terms.

Columns of numbers lie as planes, all lowest bytes first, which compress well: a cell takes about a byte and a half. The
cells are in blocks by the first bits of their terms' numbers.
"""

import hashlib
import itertools
import zlib
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from lamr_base.arrays import ranges
from lamr_base.cache import unpacked
from lamr_postprocess.lines import IntArray
from numpy.typing import NDArray

from lamr_repositories.file_index import NUMBER_BITS, FileIndex

_CELLS = 2_048
"""Of a block, about."""
_MOST_BITS = 16
_SIZE = 4  # bytes of a number in front of what it counts
Numbers = NDArray[np.uint64]
Cells = tuple[Numbers, IntArray, IntArray, IntArray]


class Segment:
    """The index of F files with P pieces in n cells, whose columns are those of `FileIndex`."""

    def __init__(self, data: bytes) -> None:
        """Read what `to_bytes` wrote; blocks are read when they are asked for.

        Raises:
            ValueError: it is something else.
        """
        self.data = data
        self._parts = _parted(data)
        try:
            head, lines, counts, gaps, heights, lengths, self.digests, outlined, steps, depths = _columns(
                self._parts[0]
            )
            self._bits, self.cells = map(int, head)
        except (ValueError, IndexError) as error:
            raise ValueError(f"no index ({error})") from error
        columns = [lines, counts, gaps, heights, lengths, outlined, steps, depths]
        if not (
            len(lines) == len(counts) == len(outlined)
            and max(int(each.max(initial=0)) for each in columns) < 1 << 31
            and int(counts.sum()) == len(gaps) == len(heights) == len(lengths) == len(self.digests)
            and int(outlined.sum()) == len(steps) == len(depths)
            and self._bits <= _MOST_BITS
            and len(self._parts) == 1 + (1 << self._bits)
        ):
            raise ValueError("no index: its parts don't fit together")
        self.lines, self.counts, before, rows, self.lengths, self.outlined, folded, inside = (
            each.astype(np.int64) for each in columns
        )
        ends = _sums(before + rows, self.counts)
        self.spans = np.stack([ends - rows, ends], axis=1)
        self.outline_starts = np.cumsum(self.outlined) - self.outlined
        rows = _sums((folded >> 1) ^ -(folded & 1), self.outlined)
        self.definitions = np.stack([rows, inside], axis=1)
        if (ends > np.repeat(self.lines, self.counts)).any() or (
            (rows < 0) | (rows >= np.repeat(self.lines, self.outlined))
        ).any():
            raise ValueError("no index: it names rows that aren't there")

    @cached_property
    def name(self) -> str:
        """What tells the segment from others."""
        return hashlib.sha256(self.data).hexdigest()[:32]

    def frequencies(self, wanted: Numbers) -> tuple[IntArray, IntArray, IntArray]:
        """Return where terms, uint64 [Q], stand: for each cell its piece, its term's place in Q, and how often.

        Raises:
            ValueError: a block is damaged.
        """
        found = [np.zeros((3, 0), np.int64)]
        blocks = wanted >> np.uint64(NUMBER_BITS - self._bits)
        for block in np.unique(blocks).tolist():
            numbers, bounds, piece, times = self._block(block)
            terms = np.flatnonzero(blocks == block)
            if not len(numbers):
                continue
            at = np.minimum(np.searchsorted(numbers, wanted[terms]), len(numbers) - 1)
            here = numbers[at] == wanted[terms]
            terms, at = terms[here], at[here]
            many = bounds[at + 1] - bounds[at]
            cells = ranges(bounds[at], many)
            found.append(np.stack([piece[cells], np.repeat(terms, many), times[cells]]))
        piece, term, times = np.concatenate(found, axis=1)
        return piece, term, times

    def whole(self) -> FileIndex:
        """Return all of it.

        Raises:
            ValueError: a block is damaged.
        """
        blocks = [self._block(block) for block in range(1 << self._bits)]
        return FileIndex(
            self.lines,
            self.counts,
            self.spans,
            self.lengths,
            self.digests,
            np.concatenate([np.repeat(numbers, np.diff(bounds)) for numbers, bounds, *_ in blocks]),
            np.concatenate([piece for *_, piece, _ in blocks]),
            np.concatenate([times for *_, times in blocks]),
            self.outlined,
            self.definitions,
        )

    def _block(self, block: int) -> Cells:
        """Return the terms of a block, where the cells of each begin, and the cells' pieces and times."""
        gaps, sizes, steps, more = _columns(self._parts[1 + block])
        bounds = np.append(0, np.cumsum(sizes.astype(np.int64) + 1))
        if len(gaps) != len(sizes) or not len(steps) == len(more) == bounds[-1]:
            raise ValueError("no index: a block's parts don't fit together")
        piece = _sums(steps.astype(np.int64), np.diff(bounds))
        if len(piece) and not 0 <= piece.min() <= piece.max() < len(self.lengths):
            raise ValueError("no index: a block names a piece that isn't there")
        base = np.uint64(block << (NUMBER_BITS - self._bits))
        return base + np.cumsum(gaps), bounds, piece, more.astype(np.int64) + 1


def to_bytes(index: FileIndex) -> bytes:
    """Return an index as `Segment` reads it."""
    bits = min(max(len(index.numbers) // _CELLS, 1).bit_length() - 1, _MOST_BITS)
    heights = index.spans[:, 1] - index.spans[:, 0]
    gaps = _steps(index.spans[:, 1], index.counts) - heights
    rows = _steps(index.definitions[:, 0], index.outlined)
    rows = (rows << 1) ^ (rows >> 63)  # a step back is an odd number
    pieces = [gaps, heights, index.lengths, index.digests]
    outlines = [index.outlined, rows, index.definitions[:, 1]]
    parts = [_packed([np.array([bits, len(index.numbers)]), index.lines, index.counts, *pieces, *outlines])]
    blocks = index.numbers >> np.uint64(NUMBER_BITS - bits)
    bounds = np.searchsorted(blocks, np.arange((1 << bits) + 1, dtype=np.uint64)).tolist()
    for block, (first, stop) in enumerate(itertools.pairwise(bounds)):
        base = block << (NUMBER_BITS - bits)
        parts.append(
            _cells(
                index.numbers[first:stop] - np.uint64(base), index.piece[first:stop], index.times[first:stop]
            )
        )
    return b"".join(
        [
            len(parts).to_bytes(_SIZE, "little"),
            *(len(each).to_bytes(_SIZE, "little") for each in parts),
            *parts,
        ]
    )


def _cells(numbers: Numbers, piece: IntArray, times: IntArray) -> bytes:
    """Pack a block, whose terms count from its first number."""
    terms, sizes = np.unique(numbers, return_counts=True)
    return _packed([np.diff(terms, prepend=np.uint64(0)), sizes - 1, _steps(piece, sizes), times - 1])


def _steps(values: IntArray, counts: IntArray) -> IntArray:
    """Return what each value is more than the one before it in its group, for groups of so many."""
    steps = np.diff(values, prepend=0)
    firsts = (np.cumsum(counts) - counts)[counts > 0]
    steps[firsts] = values[firsts]
    return steps


def _sums(steps: IntArray, counts: IntArray) -> IntArray:
    """Undo `_steps`."""
    sums = np.append(0, np.cumsum(steps))
    values: IntArray = sums[1:] - np.repeat(sums[np.cumsum(counts) - counts], counts)
    return values


def _packed(columns: Sequence[NDArray[Any]]) -> bytes:
    """Return columns of numbers from 0 as bytes."""
    parts = []
    for column in columns:
        width = max(int(column.max(initial=0)).bit_length() + 7, 8) // 8
        planes = column.astype("<u8").view(np.uint8).reshape(-1, 8)[:, :width]
        parts += [len(column).to_bytes(_SIZE, "little"), bytes([width]), planes.T.tobytes()]
    return zlib.compress(b"".join(parts))


def _columns(data: bytes) -> list[Numbers]:
    """Read what `_packed` wrote."""
    raw, place = unpacked(data), 0
    columns = []
    while place < len(raw):
        count, width = int.from_bytes(raw[place : place + _SIZE], "little"), raw[place + _SIZE]
        place += _SIZE + 1
        planes = np.frombuffer(raw, np.uint8, count * width, place).reshape(width, count)
        column = np.zeros((count, 8), np.uint8)
        column[:, :width] = planes.T
        columns.append(column.view("<u8")[:, 0])
        place += count * width
    return columns


def _parted(data: bytes) -> list[bytes]:
    """Return the parts that stand one after another, behind their number and their sizes."""
    count = int.from_bytes(data[:_SIZE], "little")
    begin = _SIZE * (count + 1)
    if not count or begin > len(data):
        raise ValueError("no index: it is cut off")
    stops = (begin + np.cumsum(np.frombuffer(data, "<u4", count, _SIZE).astype(np.int64))).tolist()
    if stops[-1] != len(data):
        raise ValueError("no index: it is cut off")
    return [data[first:stop] for first, stop in zip([begin, *stops], stops, strict=False)]
