"""`Segment`: a `FileIndex` as bytes, of which a question unpacks only the blocks that hold its terms.

Columns of numbers lie as planes, all lowest bytes first, which compress well: a cell takes about a byte and a half. The
cells are in blocks by the first bits of their terms' numbers."""

import itertools
import zlib
from dataclasses import replace

import numpy as np
from lamr_base.cache import unpacked
from lamr_postprocess.lines import IntArray
from numpy.typing import NDArray

from lamr_repositories.file_index import FileIndex

_CELLS = 4_096
"""Of a block, about."""
_MOST = 1 << 24  # lines of a file, and definitions around another one
Numbers = NDArray[np.uint64]


class Segment:
    """The index of some files. `index` has all of it but the cells."""

    def __init__(self, data: bytes) -> None:
        """Read what `to_bytes` wrote. Raises `ValueError`: it is something else."""
        self.data = data
        count = int(np.frombuffer(data, "<u4", 1)[0])
        stops = 4 * (count + 1) + np.cumsum(np.frombuffer(data, "<u4", count, 4), dtype=np.int64)
        self._bounds = [4 * (count + 1), *stops.tolist()]
        self._bits = (count - 1).bit_length() - 1
        lines, counts, gaps, heights, lengths, digests, outlined, steps, depths = self._columns(0)
        spans = np.cumsum(np.stack([gaps, heights], axis=1)).reshape(-1, 2)
        definitions = np.stack([np.cumsum(steps), depths], axis=1)
        nothing = np.zeros(0, np.int64)
        self.index = FileIndex(
            lines, counts, spans, lengths, digests, nothing.astype(np.uint64), nothing, outlined, definitions
        )
        if not (self._bits > 0 and _fits(self.index)):
            raise ValueError("no index: its parts don't fit together")

    def read(self, wanted: Numbers | None = None) -> FileIndex:
        """Return the index with all cells, or with those of some terms, uint64 [Q], and others. Raises `ValueError`,
        `IndexError`: a block is damaged."""
        every = np.arange(1 << self._bits)
        blocks = every if wanted is None else np.unique(wanted >> np.uint64(64 - self._bits))
        read = [np.zeros((3, 0), np.int64), *map(self._cells, blocks.tolist())]
        numbers, piece, times = np.concatenate(read, axis=1)
        return replace(self.index, cells=((numbers << 32) + piece).astype(np.uint64), times=times)

    def _cells(self, block: int) -> IntArray:
        """Return the numbers of terms, the pieces and the times of a block's cells, int64 [3, n]."""
        gaps, sizes, steps, times = self._columns(1 + block)
        piece = np.cumsum(steps)
        wrong = (piece < 0) | (piece >= len(self.index.lengths))
        if wrong.any() or (sizes < 1).any() or not sizes.sum() == len(piece) == len(times):
            raise ValueError("no index: a block's parts don't fit together")
        return np.stack([np.repeat(np.cumsum(gaps), sizes), piece, times])

    def _columns(self, part: int) -> list[IntArray]:
        """Read what `_packed` wrote."""
        first, stop = self._bounds[part : part + 2]
        raw, place, columns = unpacked(self.data[first:stop]), 0, []
        while place < len(raw):
            count, width = np.frombuffer(raw, "<u4", 2, place).tolist()
            if not 0 < width <= 8:
                raise ValueError("no index: a column of no numbers")
            planes = np.frombuffer(raw, np.uint8, count * width, place + 8).reshape(width, count)
            wide = np.zeros((count, 8), np.uint8)
            wide[:, :width] = planes.T
            folded = wide.view("<u8")[:, 0]
            columns.append(
                (folded >> np.uint64(1)).astype(np.int64) ^ -(folded & np.uint64(1)).astype(np.int64)
            )
            place += 8 + count * width
        return columns


def _fits(index: FileIndex) -> bool:
    """Return whether every number of a part names something in another, so that nothing is looked up in vain."""
    files, pieces, rows = len(index.lines), len(index.lengths), index.definitions[:, 0]
    for counts, total in ((index.counts, pieces), (index.outlined, len(rows))):
        if len(counts) != files or ((counts < 0) | (counts > total)).any() or counts.sum() != total:
            return False
    first, stop = index.spans.T
    return bool(
        len(first) == len(index.digests) == pieces
        and ((first >= 0) & (first <= stop) & (stop <= np.repeat(index.lines, index.counts))).all()
        and ((rows >= 0) & (rows < np.repeat(index.lines, index.outlined))).all()
        and (index.lengths >= 0).all()
        and max(index.lines.max(initial=0), index.definitions[:, 1].max(initial=0)) < _MOST
    )


def to_bytes(index: FileIndex) -> bytes:
    """Return an index as `Segment` reads it."""
    bits = max(len(index.cells) // _CELLS, 2).bit_length() - 1
    gaps, heights = np.diff(index.spans.reshape(-1), prepend=0).reshape(-1, 2).T
    rows, depths = index.definitions.T
    pieces = (gaps, heights, index.lengths, index.digests)
    parts = [_packed(index.lines, index.counts, *pieces, index.outlined, np.diff(rows, prepend=0), depths)]
    blocks = index.cells >> np.uint64(64 - bits)
    bounds = np.searchsorted(blocks, np.arange((1 << bits) + 1, dtype=np.uint64)).tolist()
    for first, stop in itertools.pairwise(bounds):
        numbers, piece = np.divmod(index.cells[first:stop], np.uint64(1 << 32))
        terms, sizes = np.unique(numbers.astype(np.int64), return_counts=True)
        steps = np.diff(piece.astype(np.int64), prepend=0)
        parts.append(_packed(np.diff(terms, prepend=0), sizes, steps, index.times[first:stop]))
    sizes = np.array([len(parts), *map(len, parts)], "<u4")
    return b"".join([sizes.tobytes(), *parts])


def _packed(*columns: IntArray) -> bytes:
    """Return columns of numbers as bytes. The sign is the lowest bit, so that small numbers stay small."""
    parts = []
    for column in columns:
        folded = ((column << 1) ^ (column >> 63)).astype("<u8")
        width = max(int(folded.max(initial=0)).bit_length() + 7, 8) // 8
        planes = folded.view(np.uint8).reshape(-1, 8)[:, :width]
        parts += [np.array([len(column), width], "<u4").tobytes(), planes.T.tobytes()]
    return zlib.compress(b"".join(parts))
