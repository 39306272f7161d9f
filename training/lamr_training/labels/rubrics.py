"""Rubric labels: why each line of a document is worth keeping (paper section 3.1), by static analysis alone.

`semantic` is the evidence itself: the given lines, weighted by the document's score. `dependency` is what the
evidence needs to be understood: relevance flows from the given lines along the edges of `dependencies`, losing a
factor a hop. `context` is what merely stands near; no shipped model learns it, ablations do. No model is asked. This
module knows a document's lines; it knows no tokens and no files.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from lamr_training.labels.graph import DependencyGraph, EdgeWeights
from lamr_training.labels.graph_pass import dependency_graph
from lamr_training.syntax import parse_lines

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True)
class LabelSettings:
    """Constants of the labels.

    Attributes:
        hops: how far relevance flows.
        decay: what is left of it at each further hop (the first hop has the edge's own weight).
        threshold: least weight of a line that is labelled "keep".
        score_floor: documents scored below it keep nothing; their lines are noise.
        edges: weights of the kinds of dependency.
        definition_lines: most lines of an assignment that explain its name; tables can be long.
        context_lines: how many lines before and after evidence are its context; blank ones don't count.
        context_decay: what is left of relevance at each line's distance.
    """

    hops: int = 2
    decay: float = 0.5
    threshold: float = 0.5
    score_floor: float = 0.1
    edges: EdgeWeights = field(default_factory=EdgeWeights)
    definition_lines: int = 5
    context_lines: int = 3
    context_decay: float = 0.8


@dataclass(frozen=True, eq=False)
class RubricLabels:
    """Labels of L lines.

    Attributes:
        semantic, dependency, context: bool `[L]`, what each rubric keeps.
        semantic_weight, dependency_weight, context_weight: float64 `[L]` in [0, 1], before the threshold.
        parsed: whether the document's syntax could be followed; if not, `dependency` is empty.
    """

    semantic: BoolArray
    dependency: BoolArray
    context: BoolArray
    semantic_weight: FloatArray
    dependency_weight: FloatArray
    context_weight: FloatArray
    parsed: bool

    @property
    def aggregate(self) -> BoolArray:
        """The teacher's lines with what they need, bool `[L]`: the denoised label of the fused decision."""
        return self.semantic | self.dependency


def label_lines(
    code: str, kept: Iterable[int], score: float = 1.0, settings: LabelSettings | None = None
) -> RubricLabels:
    """Label a document's lines.

    Args:
        code: the document; a line ends at `\\n`, `\\r\\n` or `\\r`.
        kept: 1-based lines of evidence.
        score: relevance of the document in [0, 1].

    Code that doesn't parse as Python gets no dependency labels.

    Raises:
        ValueError: a kept line doesn't exist.
    """
    settings = settings or LabelSettings()
    lines, graph = _analysed(code, settings.definition_lines)
    chosen = np.fromiter(kept, np.int64) - 1
    if len(chosen) and (chosen.min() < 0 or chosen.max() >= len(lines)):
        raise ValueError(f"a kept line is outside 1 to {len(lines)}")
    evidence = np.zeros(len(lines))
    if score >= settings.score_floor:
        evidence[chosen] = 1.0
    dependency = np.zeros(len(lines)) if graph is None else _dependency(graph, evidence, settings) * score
    context = _context(lines, evidence > 0, settings) * score
    # The threshold is on a line's standing among the document's lines: the score itself is the relevance head's.
    level = settings.threshold * max(score, settings.score_floor)
    return RubricLabels(
        evidence > 0,
        (dependency >= level) & (dependency > 0),
        (context >= level) & (context > 0),
        evidence * score,
        dependency,
        context,
        graph is not None,
    )


@lru_cache(maxsize=128)  # several records ask about one file
def _analysed(code: str, definition_lines: int) -> tuple[list[str], DependencyGraph | None]:
    """A document's lines, without line ends, and its graph; None if it doesn't parse."""
    lines, tree = parse_lines(code)
    return lines, None if tree is None else dependency_graph(tree, lines, definition_lines)


def _dependency(graph: DependencyGraph, evidence: FloatArray, settings: LabelSettings) -> FloatArray:
    level, found = evidence, np.zeros(graph.lines)
    for hop in range(settings.hops):
        level = graph.flow(level, settings.edges) * (settings.decay if hop else 1.0)
        found = np.maximum(found, level)
    return found


def _context(lines: list[str], evidence: BoolArray, settings: LabelSettings) -> FloatArray:
    """Weight of each line that isn't evidence, by its distance to the nearest line that is; blank lines have none."""
    found = np.zeros(len(lines))
    inked = np.flatnonzero(np.fromiter((bool(line.strip()) for line in lines), np.bool_, len(lines)))
    places = np.flatnonzero(evidence[inked])
    if not len(places):
        return found
    here = np.arange(len(inked))
    after = np.searchsorted(places, here)
    away = np.minimum(
        np.abs(here - places[np.maximum(after - 1, 0)]),
        np.abs(places[np.minimum(after, len(places) - 1)] - here),
    )
    near = (away > 0) & (away <= settings.context_lines)
    found[inked[near]] = settings.context_decay ** away[near]
    return found
