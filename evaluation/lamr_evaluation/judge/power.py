"""How many items a difference needs to show, and how small a difference a number of items can show.

A difference is a mean over paired items. It shows with a chance of 80 % at a level of 5 % when it is 2.8 standard
errors (1.96 + 0.84, the normal distribution's quantiles) from 0.
"""

from __future__ import annotations

import math

_ERRORS = 1.96 + 0.84
POINT = 0.01
CHANGING = 0.1
"""Of answers, the share that a pruner is taken to turn from right to wrong or back, before anything was measured."""


def items_needed(spread: float, difference: float = POINT) -> int:
    """Return how many items show a difference.

    Args:
        spread: the standard deviation of the paired differences of items.
        difference: of the means.
    """
    return math.ceil((_ERRORS * spread / difference) ** 2)


def smallest_shown(spread: float, items: int) -> float:
    """Return the smallest difference that so many items show."""
    return _ERRORS * spread / math.sqrt(items)


def forewarning(items: int) -> str:
    """Say before a run what so many items can show, where answers are right or wrong."""
    spread = math.sqrt(CHANGING)
    return (
        f"{items:,} items show a difference of {100 * smallest_shown(spread, items):.0f} points and more, if pruning "
        f"turns one answer in ten; 1 point needs {items_needed(spread):,} items"
    )
