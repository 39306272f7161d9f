"""The figures of an evaluation on repositories, as a table and as JSON. This module computes means and prints them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from lamr_evaluation.problems import Problem
from lamr_evaluation.repositories.items import RepositoryItem

MAIN, MAIN_BUDGET = "pack", 8_000
_RESAMPLES = 2_000


@dataclass(frozen=True)
class PackOutcome:
    """What one method shows of one item's gold at one budget."""

    item: str  # the item's id
    method: str  # by what, and tokens
    budget: int
    lines: float  # the share of gold lines shown, and of gold files of which a line is shown
    files: float
    tokens: int | None = None  # how many tokens it took; None where the method stops by itself

    @property
    def whole(self) -> float:
        """1 where all gold lines are shown."""
        return float(self.lines == 1.0)


@dataclass(frozen=True)
class RepositoryReport:
    """All outcomes.

    Attributes:
        items: what was measured.
        outcomes: of every method on every item at every budget.
        budgets: tokens.
        left_out: items that no figure includes, because they couldn't be read or measured.
    """

    items: tuple[RepositoryItem, ...]
    outcomes: tuple[PackOutcome, ...]
    budgets: tuple[int, ...]
    left_out: tuple[Problem, ...] = ()

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods in the order of the outcomes."""
        return tuple(dict.fromkeys(each.method for each in self.outcomes))

    @property
    def over_budget(self) -> int:
        """How many packs had more tokens than their budget."""
        return sum(each.tokens is not None and each.tokens > each.budget for each in self.outcomes)

    def mean(self, method: str, budget: int, what: str = "lines") -> float:
        """Return the mean share over items.

        Args:
            method, budget: of the outcomes.
            what: `lines`, `whole` or `files`.
        """
        shares = [getattr(o, what) for o in self.outcomes if (o.method, o.budget) == (method, budget)]
        return float(np.mean(shares)) if shares else float("nan")

    def best_other(self, budget: int) -> str:
        """Return the method that isn't a pack with the best recall of lines."""
        others = [method for method in self.methods if not method.startswith(MAIN)]
        return max(others, key=lambda method: self.mean(method, budget))

    def interval(self, one: str, other: str, budget: int) -> tuple[float, float]:
        """Return the 95 % bootstrap interval over items of the ratio of two methods' recall of lines."""
        shares = [
            np.array([o.lines for o in self.outcomes if (o.method, o.budget) == (method, budget)])
            for method in (one, other)
        ]
        picks = np.random.default_rng(0).integers(0, len(self.items), (_RESAMPLES, len(self.items)))
        above, below = (share[picks].mean(axis=1) for share in shares)
        low, high = np.quantile(above / np.maximum(below, 1e-9), [0.025, 0.975])
        return float(low), float(high)

    def table(self) -> str:
        """Return the report as text."""
        count = len(self.items)
        projects = len({item.repository for item in self.items})
        left_out = f"; {len(self.left_out)} left out" if self.left_out else ""
        rows = [f"{count} items of {projects} repositories{left_out}", ""]
        for what in ("lines", "whole", "files"):
            rows += [*self._recalls(what), ""]
        budget = MAIN_BUDGET if MAIN_BUDGET in self.budgets else self.budgets[-1]
        other = self.best_other(budget)
        ratio = self.mean(MAIN, budget) / max(self.mean(other, budget), 1e-9)
        low, high = self.interval(MAIN, other, budget)
        rows += [f"{MAIN} / {other} at {budget:,} tokens: {ratio:.2f} (95 % {low:.2f} to {high:.2f})"]
        rows += [f"packs over budget: {self.over_budget}"]
        return "\n".join(rows)

    def _recalls(self, what: str) -> list[str]:
        name = "whole answers" if what == "whole" else f"recall of gold {what}"
        head = f"{name:<34}" + "".join(f"{budget:>9,}" for budget in self.budgets)
        rows = [
            f"{method:<34}" + "".join(f"{self.mean(method, budget, what):>9.3f}" for budget in self.budgets)
            for method in self.methods
        ]
        return [head, *rows]

    def to_json(self) -> str:
        """Return all outcomes and the means as one JSON object."""
        methods: Sequence[str] = self.methods
        means = {
            what: {
                method: {str(b): round(self.mean(method, b, what), 4) for b in self.budgets}
                for method in methods
            }
            for what in ("lines", "whole", "files")
        }
        return json.dumps(
            {
                "items": len(self.items),
                "means": means,
                "over_budget": self.over_budget,
                "left_out": [asdict(each) for each in self.left_out],
                "outcomes": [asdict(each) for each in self.outcomes],
            }
        )
