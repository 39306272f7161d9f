"""What retrieval by embeddings finds: functions and windows of all files, by their cosine with the query.

These are the two constructors that LongCodeZip's paper compares itself with. The caller brings the encoder.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from lamr_contract.arrays import Float64Array
from lamr_postprocess.lines import split_lines
from lamr_repositories.lexical import by_rank
from numpy.typing import NDArray

from lamr_evaluation.repositories.baselines import Corpus, Method, Shown, fill

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
