"""A text's lines on their way through the steps: each row stands for some of the original's lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lamr_agents.words import MARK


@dataclass(frozen=True)
class Row:
    """One line as it is shown.

    Attributes:
        text: without its end.
        first, last: 1-based numbers of the original's lines that it stands for.
        shown: whether their words stand here, or in what the row names.
        mark: whether lamr wrote it.
    """

    text: str
    first: int
    last: int
    shown: bool = True
    mark: bool = False


def rows_of(text: str) -> list[Row]:
    """A row a line; only a line feed ends a line."""
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return [Row(line, number, number) for number, line in enumerate(lines, 1)]


def joined(rows: Iterable[Row]) -> str:
    """The text of rows, each with its end."""
    return "".join(f"{row.text}\n" for row in rows)


def marked(words: str, rows: Sequence[Row], *, shown: bool = True) -> Row:
    """The row that stands for others.

    Args:
        words: what it says of them.
        rows: in their order, with no other between them.
        shown: whether their words can still be read where the words point to.
    """
    return Row(f"{MARK}{words}]", rows[0].first, rows[-1].last, shown, mark=True)


def size(rows: Iterable[Row]) -> int:
    """Characters of rows, with their ends."""
    return sum(len(row.text) + 1 for row in rows)
