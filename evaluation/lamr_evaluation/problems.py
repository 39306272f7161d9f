"""Rows that are left out of an evaluation, each with its line and the reason.

This module keeps account of them. What makes a row unfit is known where it is read or measured.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from lamr_evaluation.errors import RecordError


@dataclass(frozen=True, order=True)
class Problem:
    """What is wrong with one record: its 1-based line in the file, and why."""

    line: int
    reason: str


class HasRow(Protocol):
    """An item that may have come from a line of a file."""

    @property
    def row(self) -> int:
        """Its 1-based line; 0 for one that was made in memory."""
        ...


class Refusals:
    """Items that can't be measured, by their place among the items."""

    def __init__(self, items: Sequence[HasRow], on_problem: Callable[[Problem], None] | None) -> None:
        """Refuse nothing yet."""
        self._items, self._on_problem = items, on_problem
        self._problems: dict[int, Problem] = {}

    def add(self, place: int, reason: str, error: Exception) -> None:
        """Note a refusal and report it.

        Raises:
            RecordError: there is no `on_problem` to report it to.
        """
        row = self._items[place].row or place + 1
        problem = Problem(row, reason)
        if self._on_problem is None:
            raise RecordError(f"line {row}: {reason}", row=row) from error
        self._on_problem(problem)
        self._problems[place] = problem

    def __contains__(self, place: int) -> bool:
        return place in self._problems

    def all(self) -> tuple[Problem, ...]:
        """Return the refusals, in the order of the items."""
        return tuple(self._problems[place] for place in sorted(self._problems))
