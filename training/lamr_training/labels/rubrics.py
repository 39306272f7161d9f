"""Rubric labels say why each line of a document is worth keeping (paper section 3.1), by static analysis alone.

`semantic` are the gold lines themselves, weighted by the document's score. `dependency` are the lines that are needed
to understand these: relevance flows from the gold lines along the edges of the dependency graph and loses a factor a
hop. No model is asked.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from lamr_postprocess import split_lines
from numpy.typing import NDArray

from lamr_training.labels.tree_walk import DependencyGraph, dependency_graph

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

_HOPS = 2
"""How many edges relevance flows along."""
_DECAY = 0.5
"""The share of relevance that is left at each hop after the first, which has the edge's own weight."""
_THRESHOLD = 0.5
"""The least weight of a line that is labelled "keep", as a share of the document's score."""
_SCORE_FLOOR = 0.1
"""The score below which a document keeps nothing, because its lines are noise."""


@dataclass(frozen=True, eq=False)
class RubricLabels:
    """The labels of L lines."""

    semantic: BoolArray  # bool `[L]`, the lines that each rubric keeps
    dependency: BoolArray
    dependency_weight: FloatArray  # float64 `[L]` in [0, 1], before the threshold
    parsed: bool  # whether the document is Python that parses; if not, `dependency` is empty


def label_lines(code: str, kept: Iterable[int], score: float = 1.0) -> RubricLabels:
    """Label a document's lines.

    Args:
        code: the document; a line ends at `\\n`, `\\r\\n` or `\\r`.
        kept: the 1-based numbers of the gold lines.
        score: the relevance of the document in [0, 1].

    Returns:
        The labels; those of `dependency` are empty if the code isn't Python that parses.

    Raises:
        ValueError: a kept line doesn't exist.
    """
    lines, graph = _analysed(code)
    places = np.fromiter(kept, np.int64) - 1
    if len(places) and (places.min() < 0 or places.max() >= len(lines)):
        raise ValueError(f"a kept line is outside 1 to {len(lines)}")
    gold = np.zeros(len(lines), np.bool_)
    gold[places] = score >= _SCORE_FLOOR
    dependency = np.zeros(len(lines)) if graph is None else _dependency(graph, gold) * score
    # The threshold compares a line with its document's other lines; the score itself is for the relevance head.
    least = _THRESHOLD * max(score, _SCORE_FLOOR)
    return RubricLabels(
        semantic=gold,
        dependency=(dependency >= least) & (dependency > 0),
        dependency_weight=dependency,
        parsed=graph is not None,
    )


@lru_cache(maxsize=128)  # several records ask about one file
def _analysed(code: str) -> tuple[list[str], DependencyGraph | None]:
    """A document's lines, without line ends, and its dependency graph; None if it isn't Python that parses."""
    lines, tree = parse_lines(code)
    return lines, None if tree is None else dependency_graph(tree, lines)


def _dependency(graph: DependencyGraph, gold: BoolArray) -> FloatArray:
    """The weight of each line: the most relevance that any hop carries to it."""
    relevance, weight = gold.astype(np.float64), np.zeros(graph.lines)
    for hop in range(_HOPS):
        relevance = graph.flow(relevance) * (_DECAY if hop else 1.0)
        weight = np.maximum(weight, relevance)
    return weight


def parse_lines(code: str) -> tuple[list[str], ast.Module | None]:
    """The lines of any text, without their ends, and its syntax tree, whose nodes have these lines' numbers.

    Line ends of every kind and form feeds are allowed. The tree is None where the text isn't Python that parses; that
    alone decides whether a document gets dependency labels.
    """
    lines = [line.rstrip("\r\n") for line in split_lines(code)]
    text = "\n".join(lines).replace("\f", "")  # a form feed separates pages, not lines
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return lines, ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # MemoryError: too deep for the parser
        return lines, None
