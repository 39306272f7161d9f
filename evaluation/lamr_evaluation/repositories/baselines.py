"""What a pack has to beat: functions by BM25, of all files and of sources alone.

Each method shows lines until a budget of tokens is used. What it shows costs what its text costs with a heading for
each file, without any markers, repair or tree, which favours it over a pack.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from lamr_postprocess.lines import IntArray, split_lines
from lamr_repositories.file_index import FileIndex
from lamr_repositories.kinds import is_code, is_test
from lamr_repositories.lexical import PieceTable, by_rank

Shown = Mapping[str, set[int]]
"""1-based lines by path."""
Method = Callable[["Corpus", int], Shown]
"""Takes the files and a budget of tokens."""
MOST_MISSES = 20
"""Runs that don't fit, after which no other one is tried."""


@dataclass(eq=False)
class Corpus:
    """All files of one repository, as the baselines see them."""

    query: str  # what is looked for
    indexes: Mapping[str, FileIndex]  # the files' indexes by path, in the order of paths
    read: Callable[[str], str]  # gives a file's text
    count_each: Callable[[Sequence[str]], IntArray]  # the tokens of each of several short texts
    _prices: dict[str, IntArray] = field(default_factory=dict)

    def prices(self, path: str) -> IntArray:
        """Return the tokens of a file's heading, and those of each of its L lines, int64 [1 + L]."""
        if path not in self._prices:
            self._prices[path] = self.count_each([path, *split_lines(self.read(path))])
        return self._prices[path]

    def sources(self) -> Corpus:
        """Return the corpus without tests, prose and data."""
        kept = {p: each for p, each in self.indexes.items() if is_code(each.language) and not is_test(p)}
        return replace(self, indexes=kept)


def bm25_functions(corpus: Corpus, budget: int) -> Shown:
    """Show the best functions and paragraphs by BM25, each whole."""
    table = PieceTable(corpus.query)
    for path, index in corpus.indexes.items():
        table.add(path, index)
    pieces = table.finish()
    order = by_rank(pieces.by_piece).tolist()
    runs = ((pieces.paths[pieces.file[piece]], *pieces.spans[piece].tolist()) for piece in order)
    return fill(corpus, runs, budget)


METHODS: dict[str, Method] = {
    "bm25 functions": bm25_functions,
    "bm25 functions, sources only": lambda corpus, budget: bm25_functions(corpus.sources(), budget),
}


def fill(corpus: Corpus, runs: Iterable[tuple[str, int, int]], budget: int) -> Shown:
    """Show runs of rows in their order, as many as fit; rows that are shown already cost nothing."""
    shown: dict[str, set[int]] = defaultdict(set)
    used = misses = 0
    for path, first, stop in runs:
        prices = corpus.prices(path)
        fresh = [row for row in range(first + 1, stop + 1) if row not in shown.get(path, ())]
        cost = int(prices[fresh].sum()) + (0 if path in shown else int(prices[0]))
        if used + cost > budget:
            misses += 1
            if misses > MOST_MISSES:
                break
            continue
        used += cost
        shown[path].update(fresh)
    return shown
