"""Runs the steps that fit a text."""

from __future__ import annotations

from dataclasses import dataclass

from lamr_agents.lossless.earlier import Earlier
from lamr_agents.lossless.rows import Row, joined, rows_of
from lamr_agents.lossless.steps import OF_FILES, OF_OUTPUT
from lamr_agents.words import BEGIN_WITH

LEAST_SAVED = 240
"""Characters that a shorter text must save, so that the note below it pays."""


@dataclass(frozen=True)
class Shorter:
    """A text made shorter.

    Attributes:
        text: what to show.
        rows: its lines.
        lines: how many lines the original has.
        saved: characters that it saves.
    """

    text: str
    rows: tuple[Row, ...]
    lines: int
    saved: int

    @property
    def kept_lines(self) -> tuple[int, ...]:
        """1-based numbers of the original's lines whose words stand here or where a mark names them."""
        return tuple(
            n for row in self.rows if row.shown for n in range(row.first, row.last + 1) if not _names(row)
        )


def _names(row: Row) -> bool:
    """Whether a mark only names what the next rows begin with."""
    return row.mark and row.first == row.last and BEGIN_WITH in row.text


def shorten(text: str, *, is_file: bool, earlier: Earlier | None = None, first: int | None = 1) -> Shorter:
    """Make a text shorter by all steps that fit it.

    Args:
        text: as the tool gave it, without what a host puts around it.
        is_file: whether it is a file's text, whose lines an edit must find as they are.
        earlier: what the session was shown before.
        first: the number of the text's first line in its file; None where it isn't known.
    """
    rows = rows_of(text)
    lines = len(rows)
    for step in OF_FILES if is_file else OF_OUTPUT:
        rows = step(rows)
    if earlier is not None:
        rows = earlier.without(rows, first)
    shorter = joined(rows)
    return Shorter(shorter, tuple(rows), lines, len(text) - len(shorter))
