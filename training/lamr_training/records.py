"""Training records: a query, a file, and the lines of it that answer the query.

One JSON object a line, in SWE-Pruner's published form with our optional extras. This module reads and writes them
and checks each by itself; it knows neither where they come from nor what labels are made of them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lamr_postprocess import split_lines

from lamr_training.errors import RecordError

_OPTIONAL = ("path", "project", "kind", "id")


@dataclass(frozen=True)
class Record:
    """One example.

    Attributes:
        query: the information need.
        code: the whole file (or a window of one); a line ends at `\\n`, `\\r\\n` or `\\r`.
        kept_frags: 1-based lines that answer the query, ascending; empty when nothing does.
        score: relevance of the document, in [0, 1].
        path, project, kind: where it comes from and how the query was made; may be empty.
        id: a name that no other record of its file has; may be empty.
    """

    query: str
    code: str
    kept_frags: tuple[int, ...]
    score: float = 1.0
    path: str = ""
    project: str = ""
    kind: str = ""
    id: str = ""

    def __post_init__(self) -> None:
        if not self.query.strip():
            raise ValueError("the query is empty")
        if not 0.0 <= self.score <= 1.0:
            raise ValueError(f"score {self.score} is outside [0, 1]")
        count = line_count(self.code)
        wrong = [n for n in self.kept_frags if not 1 <= n <= count]
        if wrong:
            lines = f"lines 1 to {count}" if count else "no lines"
            raise ValueError(f"kept_frags holds {', '.join(map(str, wrong[:3]))}, but the code has {lines}")

    def to_json(self) -> str:
        """One line of JSON, without the line end."""
        row = {name: value for name, value in asdict(self).items() if value or name not in _OPTIONAL}
        return json.dumps(row, ensure_ascii=False)

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
        if not isinstance(lines, list) or not all(type(n) is int for n in lines):
            raise ValueError("kept_frags must be a list of line numbers")
        score = 1.0 if row.get("score") is None else row["score"]
        if isinstance(score, bool) or not isinstance(score, (int, float)) or math.isnan(score):
            raise ValueError(f"score must be a number, not {score!r}")
        for name in ("query", "code"):
            if not isinstance(row[name], str):
                raise ValueError(f"{name} must be text, not {type(row[name]).__name__}")
        optional = {name: "" if row.get(name) is None else str(row[name]) for name in _OPTIONAL}
        return cls(row["query"], row["code"], tuple(sorted(set(lines))), float(score), **optional)


def line_count(code: str) -> int:
    """How many lines there are; text that ends without a line end has a last line all the same."""
    if "\r" in code:
        return len(split_lines(code))
    return code.count("\n") + (code != "" and code[-1] != "\n")


def parse_row(line: str | bytes) -> Any:
    """One row's JSON.

    Raises:
        ValueError: it isn't JSON or not UTF-8.
    """
    try:
        return json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON ({error.msg}, column {error.colno})") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 ({error.reason})") from error
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def read_records(path: Path) -> Iterator[Record]:
    """Read a JSONL file, blank lines skipped.

    Raises:
        RecordError: the file is missing, a row isn't a record, or two have the same id; with file and line.
    """
    seen: dict[str, int] = {}
    try:
        with path.open("rb") as stream:
            for number, line in enumerate(stream, 1):
                if not line.strip():
                    continue
                try:
                    record = Record.from_row(parse_row(line))
                except ValueError as error:
                    raise RecordError(f"{path}:{number}: {error}") from error
                first = seen.setdefault(record.id, number)
                if record.id and first != number:
                    raise RecordError(
                        f"{path}:{number}: the id {record.id!r} is that of line {first} already"
                    )
                yield record
    except OSError as error:
        raise RecordError(f"{path}: can't be read ({error.strerror or error})") from error


def write_records(records: Iterable[Record], path: Path) -> int:
    """Write records as JSONL and return their number."""
    count = 0
    with path.open("w", encoding="utf-8", newline="\n") as stream:
        for record in records:
            stream.write(record.to_json() + "\n")
            count += 1
    return count
