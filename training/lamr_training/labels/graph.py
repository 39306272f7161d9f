"""Which lines of a Python file need which others, as a graph that relevance flows through.

Lines are not joined to lines, which would be quadratic, but through *reasons*: what many lines have in common ("lies
in the body of this loop", "uses this name") leads to the few lines that explain it. Names are resolved by spelling
within the file, which is what can be done without running it. Knows arrays; `dependency_pass` makes them of a tree.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class EdgeWeights:
    """How much of a line's relevance flows along each kind of edge, in [0, 1]; 0 switches a kind off.

    Attributes:
        header: to headers of the functions, classes and compound statements around the line.
        sibling: to the other branches' headers of those compound statements.
        imported: to the import of a name that the line uses.
        defined: to the header of a function or class of the file, or the assignment of a module- or class-level
            name, that the line uses.
        caller: from a definition's header to the lines that call it.
    """

    header: float = 1.0
    sibling: float = 1.0
    imported: float = 1.0
    defined: float = 0.8
    caller: float = 0.4


# Indices of the weights, in their order.
HEADER, SIBLING, IMPORTED, DEFINED, CALLER = range(5)


@dataclass(frozen=True, eq=False)
class DependencyGraph:
    """The reasons of a file of L lines; all lines 0-based.

    Attributes:
        lines: L.
        ranges: int64 `[R, 2]`, first and one-past-last line that have each of the first R reasons.
        users, reasons: int64 `[M]`, further pairs of a line and its reason.
        count: how many reasons there are.
        origins, targets, kinds: int64 `[T]`, the reasons' edges: reason, line that explains it, index of its weight.
    """

    lines: int
    ranges: IntArray
    users: IntArray
    reasons: IntArray
    count: int
    origins: IntArray
    targets: IntArray
    kinds: IntArray

    def flow(self, level: FloatArray, weights: EdgeWeights) -> FloatArray:
        """The relevance that one hop carries to each line, float64 `[L]`, when lines have `level` `[L]`."""
        reason = np.zeros(self.count)
        if len(self.ranges):
            bounded = np.append(level, 0.0)
            reason[: len(self.ranges)] = np.maximum.reduceat(bounded, self.ranges.reshape(-1))[::2]
        np.maximum.at(reason, self.reasons, level[self.users])
        reached = np.zeros(self.lines)
        np.maximum.at(reached, self.targets, reason[self.origins] * np.array(astuple(weights))[self.kinds])
        return reached
