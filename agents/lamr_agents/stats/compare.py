"""Sessions with cuts beside those that were left alone by chance: the count that assumes nothing.

Which sessions are left alone follows from their names (`local.holdout`), so that the two kinds differ in nothing but
what lamr does, and by luck. The intervals say how much luck there may be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from lamr_evaluation.resampling import Interval, items_for, relative_difference

from lamr_agents.stats.happened import Happened, Money

FIGURES: Mapping[str, Callable[[Money], float]] = {
    "requests": lambda money: money.requests,
    "tokens": lambda money: money.tokens,
    "dollars": lambda money: money.bill,
}
DIFFERENCES = (0.02, 0.05, 0.10)
"""Of the means, for which it is said how many sessions would show them."""


@dataclass(frozen=True)
class Compared:
    """One figure.

    Attributes:
        name: the figure's.
        left_alone, with_cuts: its mean over sessions of either kind.
        difference: of those with cuts, as a share of those left alone, with its interval.
    """

    name: str
    left_alone: float
    with_cuts: float
    difference: Interval


@dataclass(frozen=True)
class Comparison:
    """Both kinds.

    Attributes:
        left_alone, with_cuts: how many sessions of either kind, of which the transcripts are known.
        figures: means and their differences.
        needed: how many sessions in all show a difference of dollars, by the difference.
    """

    left_alone: int
    with_cuts: int
    figures: Sequence[Compared]
    needed: Mapping[float, int | None]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "needed": {f"{share:g}": count for share, count in self.needed.items()}}


def compared(sessions: Sequence[Happened]) -> Comparison | None:
    """Set both kinds beside each other; None where no session was left alone, or none wasn't."""
    chosen = [(each.session.held_out, each.money) for each in sessions if each.session.held_out is not None]
    alone = [money for held_out, money in chosen if held_out and money]
    cut = [money for held_out, money in chosen if not held_out and money]
    if not alone or not cut:
        return None
    figures = []
    for name, figure in FIGURES.items():
        one, other = [figure(money) for money in cut], [figure(money) for money in alone]
        difference = relative_difference(one, other)
        figures.append(Compared(name, sum(other) / len(other), sum(one) / len(one), difference))
    dollars = [money.bill for money in (*alone, *cut)]
    share = len(alone) / len(dollars)
    needed = {difference: items_for(dollars, difference, share) for difference in DIFFERENCES}
    return Comparison(len(alone), len(cut), figures, needed)
