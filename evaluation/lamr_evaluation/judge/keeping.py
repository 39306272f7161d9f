"""What a pruner is: it takes an item and a number of the reader's tokens, and gives what of the code is shown.

All keep whole lines and mark each cut, within the same number of tokens, markers included. Pruners that rank lines
share one way of filling the budget.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from lamr_contract.counters import Counter
from lamr_postprocess import BudgetError, prune_lines
from numpy.typing import NDArray

from lamr_evaluation.judge.items import Item

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Kept:
    """What a pruner shows of an item's code.

    Attributes:
        text: the code with its markers; empty where not even a marker fits.
        lines: the 1-based numbers of the lines in it.
        tokens: of the text, as budgets are counted.
        seconds: that pruning took.
    """

    text: str
    lines: tuple[int, ...]
    tokens: int = 0
    seconds: float = 0.0


class Pruner(Protocol):
    """Prunes items."""

    @property
    def key(self) -> str | None:
        """Return what names it, so that what it kept may be kept; None where it may not."""
        ...

    def __call__(self, item: Item, budget: int) -> Kept:
        """Show at most `budget` tokens of an item's code; `tokens` and `seconds` are the caller's to fill in.

        Raises:
            InvalidInputError: it refuses the item.
            ServerError: its model failed.
        """
        ...


class Pruned(Protocol):
    """What pruning gives, as `lamr_postprocess` and `lamr_client` say it."""

    @property
    def text(self) -> str: ...
    @property
    def kept_lines(self) -> Sequence[int]: ...


@dataclass(frozen=True)
class ByLines:
    """Fills the budget with lines in falling order of score.

    Attributes:
        score: gives float `[L]` for an item of L lines.
        count: counts tokens.
        key: see `Pruner`.
    """

    score: Callable[[Item], FloatArray]
    count: Counter
    key: str | None

    def __call__(self, item: Item, budget: int) -> Kept:
        """See `Pruner`."""
        scores = self.score(item)

        def prune() -> Pruned:
            return prune_lines(
                item.code,
                scores,
                path=item.path or None,
                max_tokens=budget,
                count_tokens=self.count.count_tokens,
                repair=False,
            )

        return or_nothing(prune)


def or_nothing(prune: Callable[[], Pruned]) -> Kept:
    """Show nothing where not even the smallest text is within the budget."""
    try:
        return shown(prune())
    except BudgetError:
        return Kept("", ())


def shown(done: Pruned) -> Kept:
    return Kept(done.text, tuple(done.kept_lines))


def timed(pruner: Pruner, item: Item, budget: int, count: Counter) -> Kept:
    """Prune, and fill in tokens and seconds."""
    started = time.perf_counter()
    kept = pruner(item, budget)
    seconds = time.perf_counter() - started
    return replace(kept, tokens=count.count_tokens(kept.text) if kept.text else 0, seconds=seconds)


def kept_key(pruner: Pruner, item: Item, budget: int) -> str | None:
    """Return what names a pruner's result; None where it may not be kept."""
    if pruner.key is None:
        return None
    parts = (pruner.key, item.query, item.path, str(budget), str(item.gold), item.code)
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
