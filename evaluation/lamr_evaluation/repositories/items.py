"""Items: a repository at a revision, a query, and the lines by file that answer it.

A file of items holds one JSON object a line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from lamr_evaluation.problems import Problem
from lamr_evaluation.records import read_rows


@dataclass(frozen=True)
class RepositoryItem:
    """One question about one repository.

    Attributes:
        repository: `owner/name`.
        revision: the commit that is searched.
        query: what is looked for.
        gold: 1-based lines by path.
        language: what the gold files are written in.
        names_it: whether the query names a gold file, or a function around a gold line.
        id: a name that no other item has.
        row: its 1-based line in the file that it was read from; 0 when it wasn't read from one.
    """

    repository: str
    revision: str
    query: str
    gold: Mapping[str, tuple[int, ...]]
    language: str = ""
    names_it: bool = False
    id: str = ""
    row: int = field(default=0, compare=False)

    def __post_init__(self) -> None:
        """Check.

        Raises:
            ValueError: the query is empty, there is no gold line, or a line is below 1.
        """
        if not self.query.strip():
            raise ValueError("the query is empty")
        if not self.gold or not all(self.gold.values()):
            raise ValueError("gold must name lines of at least one file")
        if any(line < 1 for lines in self.gold.values() for line in lines):
            raise ValueError("lines count from 1")


_NAMES = {each.name for each in fields(RepositoryItem)} - {"row"}


def read_items(path: Path, on_problem: Callable[[Problem], None] | None = None) -> list[RepositoryItem]:
    """Read a file of items; see `read_rows`."""
    return list(read_rows(path, _item, on_problem))


def _item(row: Any, number: int) -> RepositoryItem:
    if not isinstance(row, dict) or not set(row) <= _NAMES or not isinstance(row.get("gold"), dict):
        raise ValueError(f"expected an object with the fields {', '.join(sorted(_NAMES))}")
    gold = {path: tuple(int(line) for line in lines) for path, lines in row["gold"].items()}
    return RepositoryItem(**{**row, "gold": gold, "row": number})
