"""Shares one budget of tokens among the lines of many files.

Lines compete by score. What they cost is what their file's part grows by, with repair and markers, so a line whose file
is open already is cheaper than the same line elsewhere. Costs are sums over lines, which were counted once; whoever
writes the parts counts the whole again."""

import math
from collections.abc import Callable, Sequence

import numpy as np
from lamr_base.arrays import Float64Array
from lamr_base.records import dataclass
from lamr_postprocess import Cut, SourceFile
from lamr_postprocess.document import Document, analyse
from lamr_postprocess.lines import BoolArray, IntArray
from lamr_postprocess.render import Style, cuts_of, render
from lamr_postprocess.repair import GAP, REASONS, Codes

_STEP = 0.02  # lines of a piece whose scores differ by less are taken together
_MISSES = 40  # items in a row that don't fit, after which the budget counts as used
_ENOUGH = 0.995


@dataclass(frozen=True, eq=False)
class Competitor:
    """One file whose lines compete. Lines of one piece are taken together where they score alike."""

    source: SourceFile
    scores: Float64Array  # float64 [L]; lines with minus infinity don't compete
    piece: IntArray  # int64 [L]


@dataclass(frozen=True, eq=False)
class PartPrices:
    """What a file's part costs: its heading, each of its L lines int64 [L], and a marker."""

    heading: int
    lines: IntArray
    marker: int

    def of(self, kept: BoolArray) -> int:
        """Return the price of keeping some lines, bool [L]; nothing for none."""
        if not kept.any():
            return 0
        return self.heading + int(self.lines[kept].sum()) + self.marker * len(cuts_of(kept))


@dataclass(eq=False)
class KeptPart:
    """What is kept of one file so far."""

    competitor: Competitor
    document: Document
    prices: PartPrices
    selected: BoolArray  # bool [L], lines that won their place
    codes: Codes  # why each line is kept (see `repair.REASONS`)
    binds: bool = False  # bring the imports and definitions of names, and not only what they need to parse
    tokens: int = 0  # what the part costs
    _rendered: tuple[Codes, Style, tuple[str, tuple[Cut, ...]]] | None = None

    @property
    def kept(self) -> BoolArray:
        """Which lines are kept, bool [L]."""
        kept: BoolArray = self.codes != 0
        return kept

    @property
    def score(self) -> float:
        """The best score of a kept line."""
        return float(self.competitor.scores[self.kept].max(initial=-math.inf))

    @property
    def reasons(self) -> dict[int, str]:
        """Why each kept line is kept, by 1-based number."""
        rows = np.flatnonzero(self.kept)
        codes = self.codes[rows].tolist()
        return {row + 1: REASONS[code] for row, code in zip(rows.tolist(), codes, strict=True)}

    def closed(self, selected: BoolArray) -> Codes:
        """Return a selection, bool [L], closed under the rules of repair."""
        if self.binds:
            return self.document.repair(selected)
        return self.document.repair(np.zeros_like(selected), bare=selected)

    def render(self, style: Style) -> tuple[str, tuple[Cut, ...]]:
        """Return the part's text and its cuts, which are made anew when other lines are kept."""
        last = self._rendered
        if last is None or last[0] is not self.codes or last[1] != style:
            last = self._rendered = self.codes, style, render(self.document, self.kept, style)
        return last[2]


@dataclass(frozen=True, eq=False)
class _Item:
    """Rows of one piece that score alike."""

    file: int
    rows: IntArray
    score: float
    rank: float


class Allocation:
    """The lines that won, file by file."""

    def __init__(
        self, competitors: Sequence[Competitor], price: Callable[[Competitor, Document], PartPrices]
    ) -> None:
        """Begin with nothing kept. The price is asked once for each file that gets a chance."""
        self._competitors, self._price = competitors, price
        self._items = _items(competitors)
        self._parts: dict[int, KeptPart] = {}
        self._taken: list[tuple[int, IntArray]] = []
        self.tokens = 0

    @property
    def parts(self) -> list[KeptPart]:
        """The files of which something is kept, that of the best line first."""
        kept = (part for part in self._parts.values() if part.tokens)
        return sorted(kept, key=lambda part: (-part.score, part.competitor.source.path))

    def fill(self, limit: int, on_progress: Callable[[int, int], None] | None = None) -> None:
        """Take lines in falling order of score, as long as all parts together cost no more than a limit.

        Items that don't fit are passed over, and have another chance when `fill` is called with a larger
        limit."""
        misses = 0
        left: list[_Item] = []
        for place, item in enumerate(self._items):
            if misses >= _MISSES or self.tokens >= limit * _ENOUGH:
                left += self._items[place:]
                break
            if self._take(item, limit):
                misses = 0
            else:
                misses += 1
                left.append(item)
            if on_progress:
                on_progress(self.tokens, limit)
        self._items = left
        self._close_small_cuts()

    def drop_last(self) -> bool:
        """Give up the item that was taken last; returns whether there was one."""
        if not self._taken:
            return False
        file, rows = self._taken.pop()
        part = self._parts[file]
        part.selected[rows] = False
        self._keep(part, part.closed(part.selected))
        return True

    def bind(self, limit: int) -> None:
        """Let files bring what names in their lines mean, best first, as long as all cost no more than a limit."""
        for part in self.parts:
            codes = part.document.repair(part.selected)
            if self.tokens - part.tokens + part.prices.of(codes != 0) <= limit:
                part.binds = True
                self._keep(part, codes)

    def _take(self, item: _Item, limit: int) -> bool:
        part = self._parts.get(item.file) or self._open(item.file)
        if part.kept[item.rows].all():  # repair brought them
            return True
        selected = part.selected.copy()
        selected[item.rows] = True
        codes = part.closed(selected)
        if self.tokens - part.tokens + part.prices.of(codes != 0) > limit:
            return False
        self._taken.append((item.file, item.rows[~part.selected[item.rows]]))
        part.selected = selected
        self._keep(part, codes)
        return True

    def _open(self, file: int) -> KeptPart:
        each = self._competitors[file]
        document = analyse(each.source)
        nothing = np.zeros(len(each.scores), np.bool_)
        part = KeptPart(each, document, self._price(each, document), nothing, nothing.astype(np.int8))
        self._parts[file] = part
        return part

    def _keep(self, part: KeptPart, codes: Codes) -> None:
        tokens = part.prices.of(codes != 0)
        self.tokens += tokens - part.tokens
        part.codes, part.tokens = codes, tokens

    def _close_small_cuts(self) -> None:
        """Keep a file whole where that costs no more than its cuts."""
        for part in self.parts:
            whole = np.where(part.codes == 0, GAP, part.codes).astype(np.int8)
            if part.prices.of(whole != 0) <= part.tokens:
                self._keep(part, whole)


def _items(competitors: Sequence[Competitor]) -> list[_Item]:
    """Return all items, best first; equal ones in the order of files and lines."""
    items: list[_Item] = []
    for file, each in enumerate(competitors):
        rows = np.flatnonzero(np.isfinite(each.scores))
        if not len(rows):
            continue
        level = np.floor(each.scores[rows] / _STEP).astype(np.int64)
        piece = each.piece[rows]
        order = np.lexsort((rows, -level, piece))
        rows, level, piece = rows[order], level[order], piece[order]
        starts = np.flatnonzero((np.diff(piece, prepend=-1) != 0) | (np.diff(level, prepend=level[0]) != 0))
        best = np.maximum.reduceat(each.scores[rows], starts)
        for start, stop, score in zip(
            starts.tolist(), [*starts[1:].tolist(), len(rows)], best.tolist(), strict=True
        ):
            items.append(_Item(file, rows[start:stop], float(level[start]), score))
    return sorted(items, key=lambda item: (-item.score, -item.rank, item.file, int(item.rows[0])))
