"""Other ways to cut a text to the same size, which a pruner must beat: its head, and grep with its neighbourhood."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from lamr_evaluation.baselines import grep
from lamr_postprocess import approximate_tokens

Yardstick = Callable[[str, Sequence[str], int], tuple[int, ...]]
"""From a query, lines and a number of tokens to the 1-based numbers of the lines that are kept."""


def _head(_query: str, lines: Sequence[str], tokens: int) -> tuple[int, ...]:
    return _filled(range(len(lines)), lines, tokens)


def _grep(query: str, lines: Sequence[str], tokens: int) -> tuple[int, ...]:
    scores = grep(query, "\n".join(lines) + "\n")
    return _filled(np.argsort(-scores, kind="stable").tolist(), lines, tokens)


def _filled(order: Sequence[int], lines: Sequence[str], tokens: int) -> tuple[int, ...]:
    costs = np.cumsum([approximate_tokens(lines[at] + "\n") for at in order])
    taken = int(np.searchsorted(costs, tokens, side="right"))
    return tuple(sorted(at + 1 for at in order[:taken]))


YARDSTICKS: Mapping[str, Yardstick] = {"head of the file": _head, "grep ± 5 lines": _grep}
