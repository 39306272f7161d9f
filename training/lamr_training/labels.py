"""Rubric labels: why each line of a document is worth keeping (paper section 3.1), by static analysis alone.

`semantic` is the evidence itself: the given lines, weighted by the document's score. `dependency` is what the
evidence needs to be understood: relevance flows from the given lines along the edges of `dependencies`, losing a
factor a hop. No model is asked. This module knows records' lines; it knows no tokens.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from lamr_training.dependencies import EdgeWeights, dependency_edges
from lamr_training.syntax import parse_tree


@dataclass(frozen=True)
class LabelSettings:
    """Constants of the labels.

    Attributes:
        hops: how far relevance flows.
        decay: what is left of it at each further hop (the first hop has the edge's own weight).
        threshold: least weight of a line that is labelled "keep".
        score_floor: documents scored below it keep nothing; their lines are noise.
        edges: weights of the kinds of dependency.
    """

    hops: int = 2
    decay: float = 0.5
    threshold: float = 0.5
    score_floor: float = 0.1
    edges: EdgeWeights = field(default_factory=EdgeWeights)


@dataclass(frozen=True, eq=False)
class RubricLabels:
    """Labels of L lines.

    Attributes:
        semantic, dependency: bool `[L]`, what each rubric keeps.
        semantic_weight, dependency_weight: float64 `[L]` in [0, 1], before the threshold.
    """

    semantic: NDArray[np.bool_]
    dependency: NDArray[np.bool_]
    semantic_weight: NDArray[np.float64]
    dependency_weight: NDArray[np.float64]

    @property
    def aggregate(self) -> NDArray[np.bool_]:
        """The teacher's lines with what they need, bool `[L]`: the denoised label of the fused decision."""
        return self.semantic | self.dependency


def label_lines(
    code: str, kept: Iterable[int], score: float = 1.0, settings: LabelSettings | None = None
) -> RubricLabels:
    """Label a document's lines.

    Args:
        code: the document; lines end at `\\n`.
        kept: 1-based lines of evidence.
        score: relevance of the document in [0, 1].

    Code that doesn't parse gets semantic labels only.

    Raises:
        ValueError: a kept line doesn't exist.
    """
    settings = settings or LabelSettings()
    count = code.count("\n") + 1
    chosen = np.fromiter(kept, np.int64) - 1
    if len(chosen) and (chosen.min() < 0 or chosen.max() >= count):
        raise ValueError(f"a kept line is outside 1 to {count}")
    semantic = np.zeros(count)
    if score >= settings.score_floor:
        semantic[chosen] = score
    tree = parse_tree(code) if semantic.any() else None
    dependency = np.zeros(count) if tree is None else _propagate(tree, code, semantic > 0, settings) * score
    # The threshold is on a line's standing among the document's lines: the score itself is the relevance head's.
    level = settings.threshold * max(score, settings.score_floor)
    return RubricLabels(semantic > 0, (dependency >= level) & (dependency > 0), semantic, dependency)


def _propagate(
    tree: ast.Module, code: str, evidence: NDArray[np.bool_], settings: LabelSettings
) -> NDArray[np.float64]:
    source, target, weight = dependency_edges(tree, code.split("\n"), settings.edges)
    level = evidence.astype(np.float64)
    found = np.zeros(len(level))
    for hop in range(settings.hops):
        reached = np.zeros(len(level))
        np.maximum.at(reached, target, level[source] * weight * settings.decay ** min(hop, 1))
        level = reached
        found = np.maximum(found, reached)
    return found
