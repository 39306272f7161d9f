"""What a pack has to beat: whole files and functions by BM25, a map of definitions by who refers to them, and
what retrieval by embeddings finds: functions and windows of all files, by their cosine with the query (the two
constructors that LongCodeZip's paper compares itself with; the caller brings the encoder).

Each method shows lines until a budget of tokens is used. What it shows costs what its text costs with a heading for
each file, without any markers, repair or tree, which favours it over a pack.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from lamr_contract.arrays import Float64Array
from lamr_contract.words import terms
from lamr_postprocess.lines import IntArray, split_lines
from lamr_repositories.file_index import FileIndex, term_hash
from lamr_repositories.kinds import is_code, is_test
from lamr_repositories.lexical import PieceTable, by_rank
from numpy.typing import NDArray

Shown = Mapping[str, set[int]]
"""1-based lines by path."""
Method = Callable[["Corpus", int], Shown]
"""Takes the files and a budget of tokens."""
_NAME = re.compile(r"([A-Za-z_]\w{2,})\s*(?:[(<:={]|$)")
_DAMPING, _ROUNDS, _MENTIONED = 0.85, 30, 10.0


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

    def prices(self, path: str) -> IntArray:
        """Return the tokens of a file's heading, and those of each of its L lines, int64 [1 + L]."""
        if path not in self._prices:
            self._prices[path] = self.count_each([path, *split_lines(self.read(path))])
        return self._prices[path]

    def sources(self) -> Corpus:
        """Return the corpus without tests, prose and data."""
        kept = {p: each for p, each in self.indexes.items() if is_code(each.language) and not is_test(p)}
        return Corpus(self.query, kept, self.read, self.count_each, self._prices)


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


def repository_map(corpus: Corpus, budget: int) -> Shown:
    """Show the lines of the definitions that most is referred to, from the files that the query leads to.

    The rank of files is PageRank over references by name, where names that the query mentions count more and files
    whose path it names are where a walk begins (Aider's idea).
    """
    paths = list(corpus.indexes)
    if not paths:
        return {}
    definitions = [
        (file, line, name) for file, path in enumerate(paths) for line, name in _named(corpus.indexes[path])
    ]
    scores = _definition_ranks(corpus, paths, definitions)
    order = by_rank(scores).tolist()
    return fill(
        corpus,
        ((paths[definitions[at][0]], definitions[at][1] - 1, definitions[at][1]) for at in order),
        budget,
    )


METHODS: dict[str, Method] = {
    "bm25 files": bm25_files,
    "bm25 functions": bm25_functions,
    "bm25 functions, sources only": lambda corpus, budget: bm25_functions(corpus.sources(), budget),
    "map of definitions": lambda corpus, budget: repository_map(corpus.sources(), budget),
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
    """Show runs of rows in their order until one doesn't fit; rows that are shown already cost nothing.

    Args:
        corpus: the files.
        runs: for each its file, its first and its one-past-last row.
        budget: tokens.
    """
    shown: dict[str, set[int]] = defaultdict(set)
    used = 0
    for path, first, stop in runs:
        prices = corpus.prices(path)
        fresh = [row for row in range(first + 1, stop + 1) if row not in shown.get(path, ())]
        used += int(prices[fresh].sum()) + (0 if path in shown else int(prices[0]))
        if used > budget:
            break
        shown[path].update(fresh)
    return shown


def _named(index: FileIndex) -> Iterator[tuple[int, str]]:
    """Yield line and name of each definition that has one."""
    for each in index.outline:
        match = _NAME.search(each.text)
        if match:
            yield each.line, match[1]


def _definition_ranks(
    corpus: Corpus, paths: Sequence[str], definitions: Sequence[tuple[int, int, str]]
) -> Float64Array:
    """Return how much of the files' rank flows into each definition."""
    by_name: dict[int, list[int]] = defaultdict(list)
    for at, (_, _, name) in enumerate(definitions):
        by_name[term_hash(terms(name)[-1])].append(at)
    asked = {
        term_hash(term) for word in re.findall(r"[A-Za-z_]\w+", corpus.query) for term in terms(word)[-1:]
    }
    users, used, weights = _references(corpus, paths, by_name, asked)
    owner = np.array([file for file, _, _ in definitions], np.int64)
    out = np.bincount(users, weights, len(paths))
    share = weights / np.maximum(out[users], 1e-12)
    start = _starts(corpus.query, paths)
    rank = start.copy()
    for _ in range(_ROUNDS):
        flow = (
            np.bincount(owner[used], rank[users] * share, len(paths)) if len(used) else np.zeros(len(paths))
        )
        rank = (1 - _DAMPING) * start + _DAMPING * (flow + rank[out == 0].sum() * start)
    if not len(used):
        return np.zeros(len(definitions))
    return np.bincount(used, rank[users] * share, len(definitions)).astype(np.float64)


def _references(
    corpus: Corpus, paths: Sequence[str], by_name: Mapping[int, list[int]], asked: set[int]
) -> tuple[IntArray, IntArray, Float64Array]:
    """Return for each reference the file that refers, the definition, and its weight."""
    known = np.array(sorted(by_name), np.uint64)
    users: list[int] = []
    used: list[int] = []
    weights: list[float] = []
    for file, path in enumerate(paths):
        for name in np.intersect1d(corpus.indexes[path].hashes, known).tolist():
            at = by_name[name]
            weight = (_MENTIONED if name in asked else 1.0) / len(at)
            users += [file] * len(at)
            used += at
            weights += [weight] * len(at)
    return np.array(users, np.int64), np.array(used, np.int64), np.array(weights)


def _starts(query: str, paths: Sequence[str]) -> Float64Array:
    """Return where a walk over the files begins: everywhere, and more where the query names a part of the path."""
    said = {term for word in re.findall(r"[A-Za-z_]\w+", query) for term in terms(word)}
    named = [
        len(said & {term for word in re.findall(r"\w+", path) for term in terms(word)}) for path in paths
    ]
    start = 1.0 + _MENTIONED * np.array(named, np.float64)
    return np.asarray(start / start.sum())


Embed = Callable[[Sequence[str]], NDArray[np.floating[Any]]]
"""Turns N texts into vectors, float `[N, D]`."""
WINDOW, STRIDE = 80, 40
"""Lines of a window, and from one's beginning to the next: as in the published comparison."""

Run = tuple[str, int, int]
"""A file, a first and a one-past-last row."""


def cosine_methods(embed: Embed) -> dict[str, Method]:
    """Return the methods by name. They share the vectors of the texts that they meet."""
    vectors = _Vectors(embed)
    return {
        "cosine functions": partial(_best, vectors, _functions),
        "cosine functions, sources only": lambda corpus, budget: _best(
            vectors, _functions, corpus.sources(), budget
        ),
        "cosine windows": partial(_best, vectors, _windows),
        "cosine windows, sources only": lambda corpus, budget: _best(
            vectors, _windows, corpus.sources(), budget
        ),
    }


class _Vectors:
    """Unit vectors of texts, which are kept: other questions and methods meet the same texts."""

    def __init__(self, embed: Embed) -> None:
        self._embed = embed
        self._known: dict[bytes, NDArray[np.float32]] = {}

    def of(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return float32 `[N, D]`."""
        keys = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts]
        waiting = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._known}
        if waiting:
            vectors = np.asarray(self._embed(list(waiting.values())), np.float32)
            units = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
            self._known.update(zip(waiting, units, strict=True))
        return np.stack([self._known[key] for key in keys])


def _best(
    vectors: _Vectors, runs_of: Callable[[Corpus], Iterator[Run]], corpus: Corpus, budget: int
) -> Shown:
    """Show the runs of lines that are most like the query, each whole."""
    runs = list(runs_of(corpus))
    texts: list[str] = []
    lines: list[str] = []
    last = None
    for path, first, stop in runs:
        if path != last:
            lines, last = split_lines(corpus.read(path)), path
        texts.append("".join(lines[first:stop]))
    units = vectors.of([corpus.query, *texts])
    scores: Float64Array = (units[1:] @ units[0]).astype(np.float64)
    return fill(corpus, (runs[place] for place in by_rank(scores).tolist()), budget)


def _functions(corpus: Corpus) -> Iterator[Run]:
    for path, index in corpus.indexes.items():
        for first, stop in index.spans.tolist():
            yield path, first, stop


def _windows(corpus: Corpus) -> Iterator[Run]:
    for path in corpus.indexes:
        count = len(split_lines(corpus.read(path)))
        for first in range(0, max(count - (WINDOW - STRIDE), 1), STRIDE):
            if count:
                yield path, first, min(first + WINDOW, count)
