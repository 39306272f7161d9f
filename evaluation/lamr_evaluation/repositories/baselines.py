"""What a pack has to beat: whole files, functions and windows by BM25, and grep.

Each method shows lines until a budget of tokens is used. What it shows costs what its text costs with a heading for
each file, without any markers, repair or tree, which favours it over a pack.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from lamr_contract.bm25 import rarity
from lamr_contract.words import TermIndex, query_terms
from lamr_postprocess.layout import line_layout
from lamr_postprocess.lines import IntArray, split_lines
from lamr_repositories.file_index import FileIndex, counted
from lamr_repositories.kinds import is_code, is_test
from lamr_repositories.lexical import PieceTable, by_rank

Shown = Mapping[str, set[int]]
"""1-based lines by path."""
Method = Callable[["Corpus", int], Shown]
"""Takes the files and a budget of tokens."""
WINDOW, CONTEXT = 30, 5
"""Lines of a window, and around a hit of grep."""
MOST_MISSES = 20
"""Runs that don't fit, after which no other one is tried."""


@dataclass(eq=False)
class Corpus:
    """All files of one repository, as the baselines see them.

    Attributes:
        query: what is looked for.
        indexes: the files' indexes by path, in the order of paths.
        read: gives a file's text.
        count_each: the tokens of each of several short texts.
    """

    query: str
    indexes: Mapping[str, FileIndex]
    read: Callable[[str], str]
    count_each: Callable[[Sequence[str]], IntArray]
    _prices: dict[str, IntArray] = field(default_factory=dict)
    _words: dict[str, TermIndex] = field(default_factory=dict)
    _windows: dict[str, FileIndex] = field(default_factory=dict)

    def words(self, path: str) -> TermIndex:
        """Return a file's words."""
        if path not in self._words:
            text = self.read(path)
            self._words[path] = TermIndex.of(text, line_layout(text))
        return self._words[path]

    def windows(self, path: str, index: FileIndex) -> FileIndex:
        """Return a file's index with windows of so many lines for its pieces."""
        if path not in self._windows:
            firsts = np.arange(0, index.lines, WINDOW)
            spans = np.stack([firsts, np.minimum(firsts + WINDOW, index.lines)], axis=1)
            self._windows[path] = replace(counted(self.words(path), spans), language=index.language)
        return self._windows[path]

    def prices(self, path: str) -> IntArray:
        """Return the tokens of a file's heading, and those of each of its L lines, int64 [1 + L]."""
        if path not in self._prices:
            self._prices[path] = self.count_each([path, *split_lines(self.read(path))])
        return self._prices[path]

    def sources(self) -> Corpus:
        """Return the corpus without tests, prose and data."""
        kept = {p: each for p, each in self.indexes.items() if is_code(each.language) and not is_test(p)}
        return replace(self, indexes=kept)


def bm25_files(corpus: Corpus, budget: int) -> Shown:
    """Show the best files by BM25 from their tops, the last one as far as tokens last."""
    pieces = _table(corpus).finish()
    return fill(
        corpus, _whole(corpus, [pieces.paths[file] for file in by_rank(pieces.by_file).tolist()]), budget
    )


def bm25_functions(corpus: Corpus, budget: int) -> Shown:
    """Show the best functions and paragraphs by BM25, each whole."""
    pieces = _table(corpus).finish()
    order = by_rank(pieces.by_piece).tolist()
    runs = ((pieces.paths[pieces.file[piece]], *pieces.spans[piece].tolist()) for piece in order)
    return fill(corpus, runs, budget)


def bm25_windows(corpus: Corpus, budget: int) -> Shown:
    """Show the best windows of thirty lines by BM25, path included."""
    windows = {path: corpus.windows(path, index) for path, index in corpus.indexes.items()}
    return bm25_functions(replace(corpus, indexes=windows), budget)


def grep(corpus: Corpus, budget: int) -> Shown:
    """Show the lines with the most and rarest terms of the query, with five lines around each, as a reader greps."""
    hits: list[tuple[float, str, int]] = []
    wanted = query_terms(corpus.query)
    counts = {path: corpus.words(path).counts(wanted).lines > 0 for path in corpus.indexes}
    found = sum((each.sum(axis=0) for each in counts.values()), np.zeros(len(wanted), np.int64))
    worth = rarity(found, sum(map(len, counts.values())))
    for path, each in counts.items():
        rows = np.flatnonzero(each.any(axis=1))
        hits += zip((each[rows] @ worth).tolist(), itertools.repeat(path), rows.tolist(), strict=False)
    hits.sort(key=lambda hit: (-hit[0], hit[1:]))
    ends = {path: len(each) for path, each in counts.items()}
    runs = ((path, max(row - CONTEXT, 0), min(row + CONTEXT + 1, ends[path])) for _, path, row in hits)
    return fill(corpus, runs, budget)


METHODS: dict[str, Method] = {
    "bm25 files": bm25_files,
    "bm25 functions": bm25_functions,
    "bm25 functions, sources only": lambda corpus, budget: bm25_functions(corpus.sources(), budget),
    "bm25 windows": bm25_windows,
    "bm25 windows, sources only": lambda corpus, budget: bm25_windows(corpus.sources(), budget),
    "grep": grep,
}


def _table(corpus: Corpus) -> PieceTable:
    table = PieceTable(corpus.query)
    for path, index in corpus.indexes.items():
        table.add(path, index)
    return table


def _whole(corpus: Corpus, paths: Iterable[str]) -> Iterator[tuple[str, int, int]]:
    """Yield files line by line."""
    for path in paths:
        for row in range(len(corpus.prices(path)) - 1):
            yield path, row, row + 1


def fill(corpus: Corpus, runs: Iterable[tuple[str, int, int]], budget: int) -> Shown:
    """Show runs of rows in their order, as many as fit; rows that are shown already cost nothing.

    Args:
        corpus: the files.
        runs: for each its file, its first and its one-past-last row.
        budget: tokens.
    """
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
