"""Which lines of a Python file need which others, as a graph that relevance flows through.

Edges between lines would be quadratic in number. Instead lines are joined through *reasons*: what many lines have in
common ("lies in the body of this loop", "uses this name") leads to the few lines that explain it. Names are resolved by
spelling within the file, because nothing is run.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

# The kinds of edges: to the headers of the functions, classes and compound statements around a line; to the headers of
# the other branches of those statements; to the import of a name that the line uses; to the header of a function or
# class that it uses, or the assignment of a module- or class-level name; from a header to its callers.
HEADER, SIBLING, IMPORTED, DEFINED, CALLER = range(5)
_WEIGHTS = np.array([1.0, 1.0, 1.0, 0.8, 0.4])  # how much of a line's relevance flows along each kind


@dataclass(frozen=True, eq=False)
class DependencyGraph:
    """The reasons of a file of L lines; line numbers are 0-based.

    Attributes:
        lines: the number of lines, L.
        ranges: int64 `[R, 2]`, the first and one-past-last line that have each of the first R reasons.
        users, reasons: int64 `[M]`, further pairs of a line and its reason.
        count: how many reasons there are.
        origins, targets, kinds: int64 `[T]`, the edges that lead on from reasons: the reason, a line that explains it,
            and the kind of the edge.
    """

    lines: int
    ranges: IntArray
    users: IntArray
    reasons: IntArray
    count: int
    origins: IntArray
    targets: IntArray
    kinds: IntArray

    def flow(self, relevance: FloatArray) -> FloatArray:
        """The relevance that one hop carries to each line, float64 `[L]`.

        Args:
            relevance: float64 `[L]`, the relevance of each line before the hop.
        """
        of_reasons = np.zeros(self.count)
        if len(self.ranges):
            padded = np.append(relevance, 0.0)
            of_reasons[: len(self.ranges)] = np.maximum.reduceat(padded, self.ranges.reshape(-1))[::2]
        np.maximum.at(of_reasons, self.reasons, relevance[self.users])
        reached = np.zeros(self.lines)
        carried = of_reasons[self.origins] * _WEIGHTS[self.kinds]
        np.maximum.at(reached, self.targets, carried)
        return reached
