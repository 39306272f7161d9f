"""Training records: a query, a file, and the lines of it that answer the query.

One JSON object a line, in SWE-Pruner's published form with our optional extras. This module reads and writes them
and checks each by itself; it knows neither where they come from nor what labels are made of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lamr_training.errors import RecordError


@dataclass(frozen=True)
class Record:
    """One example.

    Attributes:
        query: the information need.
        code: the whole file (or a window of one); lines end at `\\n`.
        kept_frags: 1-based lines that answer the query, ascending; empty when nothing does.
        score: relevance of the document, in [0, 1].
        path, project, kind: where it comes from and how the query was made; may be empty.
    """

    query: str
    code: str
    kept_frags: tuple[int, ...]
    score: float = 1.0
    path: str = ""
    project: str = ""
    kind: str = ""

    def __post_init__(self) -> None:
        if not self.query.strip():
            raise ValueError("the query is empty")
        if not 0.0 <= self.score <= 1.0:
            raise ValueError(f"score {self.score} is outside [0, 1]")
        count = self.code.count("\n") + 1
        wrong = [n for n in self.kept_frags if not 1 <= n <= count]
        if wrong:
            raise ValueError(f"kept_frags holds {wrong[:3]}, but the code has lines 1 to {count}")

    def to_json(self) -> str:
        """One line of JSON, without the line end."""
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def from_row(cls, row: Any) -> Record:
        """From a parsed JSON object; unknown fields are ignored.

        Raises:
            ValueError: a field is missing or has a value that can't be.
        """
        if not isinstance(row, dict):
            raise ValueError("not a JSON object")
        missing = [name for name in ("query", "code", "kept_frags") if name not in row]
        if missing:
            raise ValueError(f"the field {missing[0]!r} is missing")
        lines = row["kept_frags"]
        if not isinstance(lines, list) or not all(isinstance(n, int) for n in lines):
            raise ValueError("kept_frags must be a list of line numbers")
        return cls(
            query=str(row["query"]),
            code=str(row["code"]),
            kept_frags=tuple(sorted(set(lines))),
            score=float(row.get("score", 1.0)),
            path=str(row.get("path") or ""),
            project=str(row.get("project") or ""),
            kind=str(row.get("kind") or ""),
        )


def read_records(path: Path) -> Iterator[Record]:
    """Read a JSONL file, blank lines skipped.

    Raises:
        RecordError: the file is missing, or a row isn't a record; with file and line.
    """
    try:
        with path.open(encoding="utf-8") as stream:
            for number, line in enumerate(stream, 1):
                if line.strip():
                    yield _parse(line, f"{path}:{number}")
    except (OSError, UnicodeDecodeError) as error:
        raise RecordError(f"{path}: can't be read ({error})") from error


def write_records(records: Iterable[Record], path: Path) -> int:
    """Write records as JSONL and return their number."""
    count = 0
    with path.open("w", encoding="utf-8", newline="\n") as stream:
        for record in records:
            stream.write(record.to_json() + "\n")
            count += 1
    return count


def _parse(line: str, place: str) -> Record:
    try:
        return Record.from_row(json.loads(line))
    except (ValueError, TypeError) as error:
        raise RecordError(f"{place}: {error}") from error
