"""What asking costs: foreseen before, counted meanwhile, and never beyond a budget.

A question is reserved for before it is sent, at the most that it can cost, so that what is under way together stays
within the budget too.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

_MILLION = 1_000_000


@dataclass(frozen=True)
class Cost:
    """Questions, their tokens, and what those cost.

    Attributes:
        questions: how many.
        tokens_in, tokens_out: read and written.
        dollars: by the prices; 0 without any.
    """

    questions: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    dollars: float = 0.0

    @property
    def tokens(self) -> int:
        """Return all tokens."""
        return self.tokens_in + self.tokens_out

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.questions + other.questions,
            self.tokens_in + other.tokens_in,
            self.tokens_out + other.tokens_out,
            self.dollars + other.dollars,
        )

    def __sub__(self, other: Cost) -> Cost:
        return self + Cost(-other.questions, -other.tokens_in, -other.tokens_out, -other.dollars)

    def __str__(self) -> str:
        money = f", ${self.dollars:,.4f}" if self.dollars else ""
        return f"{self.questions:,} questions, {self.tokens_in:,} tokens read, {self.tokens_out:,} written{money}"


@dataclass(frozen=True)
class Prices:
    """Dollars for a million tokens that are read and written."""

    tokens_in: float = 0.0
    tokens_out: float = 0.0

    def of(self, tokens_in: int, tokens_out: int) -> Cost:
        """Return the cost of one question."""
        dollars = (tokens_in * self.tokens_in + tokens_out * self.tokens_out) / _MILLION
        return Cost(1, tokens_in, tokens_out, dollars)


@dataclass(frozen=True)
class Budget:
    """The most that may be spent; None where there is no end."""

    tokens: int | None = None
    dollars: float | None = None

    def holds(self, cost: Cost) -> bool:
        """Whether a cost is within it."""
        within = self.tokens is None or cost.tokens <= self.tokens
        return within and (self.dollars is None or cost.dollars <= self.dollars)


class Ledger:
    """Counts what is spent and what is under way. Threads may share one."""

    def __init__(self, budget: Budget) -> None:
        """Begin with nothing spent."""
        self._budget = budget
        self._spent, self._reserved = Cost(), Cost()
        self._turn = threading.Lock()

    def reserve(self, most: Cost) -> bool:
        """Set the most that a question can cost aside; False where the budget doesn't hold it."""
        with self._turn:
            if not self._budget.holds(self._spent + self._reserved + most):
                return False
            self._reserved = self._reserved + most
            return True

    def settle(self, most: Cost, cost: Cost) -> None:
        """Put what a question did cost, nothing where it failed, in the place of what was set aside."""
        with self._turn:
            self._reserved = self._reserved - most
            self._spent = self._spent + cost

    @property
    def spent(self) -> Cost:
        """Return what was spent so far."""
        with self._turn:
            return self._spent
