"""A pruner as something that can be measured: its scores, and what it keeps at its own threshold.

Anything with the method `prune` of `lamr_client.Pruner` will do. The client isn't imported, so a pruner of another make
can be measured in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from lamr_evaluation.records import Record

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True)
class Selection:
    """What a pruner keeps of one item.

    Attributes:
        scores: float `[L]`, one for each line.
        kept: bool `[L]`, the lines in the pruned text, those that repair adds included.
        text: the pruned text.
    """

    scores: FloatArray
    kept: BoolArray
    text: str


@runtime_checkable
class Selector(Protocol):
    """A scorer with a threshold of its own."""

    def select(self, item: Record) -> Selection:
        """Prune one item."""
        ...


class PruneResultLike(Protocol):
    """The fields of `lamr_client.PruneResult` that are measured."""

    @property
    def text(self) -> str: ...
    @property
    def kept_lines(self) -> Sequence[int]: ...
    @property
    def line_scores(self) -> Sequence[float] | FloatArray: ...


class PrunerLike(Protocol):
    """The method of `lamr_client.Pruner` that is measured."""

    @property
    def prune(self) -> Callable[..., PruneResultLike]: ...


class PrunerScorer:
    """Measures a pruner: line scores for ranking, its kept lines at its default threshold."""

    def __init__(
        self, pruner: PrunerLike, options: Mapping[str, Any] | None = None, *, history: bool = False
    ) -> None:
        """Measure a pruner.

        Args:
            pruner: anything with `lamr_client.Pruner`'s `prune`.
            options: of its every call, such as its effort.
            history: whether it is told what an item's session said before; it must take `history` then.
        """
        self._pruner, self._options, self._history = pruner, options or {}, history

    def __call__(self, query: str, code: str) -> FloatArray:
        """Scores of the lines, float `[L]`."""
        return self.select(Record(query, code, ())).scores

    def select(self, item: Record) -> Selection:
        """Prune one item.

        Raises:
            ValueError: the result's lines aren't those of the item.
        """
        options = dict(self._options)
        if self._history and item.history:
            options["history"] = item.history
        result = self._pruner.prune(item.query, item.code, task=item.task, path=item.path or None, **options)
        count = len(item.lines)
        scores = np.asarray(result.line_scores, dtype=np.float64)
        lines = np.asarray(result.kept_lines, dtype=np.intp)
        if scores.shape != (count,) or (lines.size and not 1 <= lines.min() <= lines.max() <= count):
            raise ValueError(f"{item.path or 'item'} has {count} lines, but its pruning speaks of others")
        kept = np.zeros(count, dtype=np.bool_)
        kept[lines - 1] = True
        return Selection(scores, kept, result.text)
