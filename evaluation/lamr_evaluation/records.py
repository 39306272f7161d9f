"""Records: a query, a file, and the lines of the file that answer the query; and rows that an evaluation leaves out.

A file of records holds one JSON object a line, in SWE-Pruner's published form (`query`, `code`, `kept_frags`, optional
`score`) with our optional `path`, `project`, `kind`, `language`, `id` and `frame`. Evaluation and training read the
same form."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from lamr_base.private_files import replaced
from lamr_postprocess.lines import blank_lines, code_points, line_spans, spans_of, split_lines
from numpy.typing import NDArray

from lamr_evaluation.errors import RecordError


@dataclass(frozen=True, order=True)
class Problem:
    """What is wrong with one record: its 1-based line in the file, and why."""

    line: int
    reason: str


class Refusals:
    """Items that can't be measured, by their place among the items."""

    def __init__(self, items: Sequence[Any], on_problem: Callable[[Problem], None] | None) -> None:
        self._items, self._on_problem = items, on_problem
        self._problems: dict[int, Problem] = {}

    def add(self, place: int, reason: str, error: Exception) -> None:
        """Note a refusal and report it."""
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

    def first(self) -> str:
        return f"line {self.all()[0].line}: {self.all()[0].reason}"


def file_of(item: Any, place: int) -> str:
    """Return the file that an item is about, by which intervals resample; items without a path are apart."""
    return f"{item.project}/{item.path}" if item.path else f"item {place}"


_REQUIRED = ("query", "code", "kept_frags")
_OPTIONAL = ("task", "history", "path", "project", "kind", "language", "id")
_NUMBERS = ("kept_frags", "frame")
Row = TypeVar("Row")


def bare_lines(code: str) -> list[str]:
    """The lines of `code`, as post-processing counts them, without their terminators. A final terminator ends the last
    line and doesn't open another: `"a\\n"` is one line, `""` is none."""
    return [line.rstrip("\r\n") for line in split_lines(code)]


@dataclass(frozen=True)
class Record:
    """One question about one file."""

    query: str  # what the reader wants to know
    code: str  # the whole file, or a window of it
    kept_frags: tuple[int, ...]  # 1-based numbers of the gold lines, ascending, without repeats
    score: float = 1.0  # how relevant the file is to the query, in [0, 1]
    path: str = ""  # where the file comes from and how the query was made; empty when unknown
    project: str = ""
    kind: str = ""
    id: str = ""  # a name that no other record of its file has, or empty
    row: int = field(default=0, compare=False)  # 1-based line of the file that it was read from; 0 for none
    language: str = ""  # what the file is written in, for grouping only; empty when unknown
    # lines that say where the gold lines stand, such as headers around them; weaker
    frame: tuple[int, ...] = ()
    task: str = ""  # what the query serves, such as an issue's text; empty when there is none
    history: str = ""  # what a session said before the query; empty when there is none

    def __post_init__(self) -> None:
        """Check and normalize. Raises `ValueError`: the query is empty, a gold line lies outside the code, or the score
        outside [0, 1]."""
        if not self.query.strip():
            raise ValueError("the query is empty")
        if not 0.0 <= self.score <= 1.0:
            raise ValueError(f"score {self.score} is outside [0, 1]")
        count = len(line_spans(self.code))
        for name in _NUMBERS:
            numbers = getattr(self, name)
            outside = [number for number in numbers if not 1 <= number <= count]
            if outside:
                lines = f"lines 1 to {count}" if count else "no lines"
                raise ValueError(f"{name} holds {', '.join(map(str, outside[:3]))}, but the code has {lines}")
            object.__setattr__(self, name, tuple(sorted(set(numbers))))

    @property
    def words(self) -> str:
        """All words that are known of what is looked for: the query, and after it the task."""
        return f"{self.query}\n\n{self.task}" if self.task else self.query

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """The code's lines without their terminators."""
        return tuple(bare_lines(self.code))

    @property
    def gold(self) -> NDArray[np.bool_]:
        """Which lines are gold, bool `[L]`."""
        mask = np.zeros(len(self.lines), dtype=np.bool_)
        mask[np.asarray(self.kept_frags, dtype=np.intp) - 1] = True
        return mask

    @property
    def counted(self) -> NDArray[np.bool_]:
        """Which lines count in metrics, bool `[L]`: those that aren't blank."""
        points = code_points(self.code)
        return ~blank_lines(points, spans_of(points))

    def to_json(self) -> str:
        """One line of JSON, without its line end, that `Record.from_row` reads back equal."""
        row: dict[str, Any] = {name: getattr(self, name) for name in (*_REQUIRED, "score")}
        row |= {name: value for name in (*_OPTIONAL, "frame") if (value := getattr(self, name))}
        return json.dumps(row, ensure_ascii=False)

    @classmethod
    def from_row(cls, fields: Any, row: int = 0) -> Record:
        """A record of a parsed JSON object, which stands in line `row` of its file.

        Unknown fields are ignored, and null counts as absent. Raises `ValueError`: a field is missing, has the wrong
        type or a value out of range."""
        if not isinstance(fields, dict):
            raise ValueError(f"not a JSON object but {type(fields).__name__}")
        missing = [repr(name) for name in _REQUIRED if name not in fields]
        if missing:
            plural = "s" if missing[1:] else ""
            raise ValueError(f"the field{plural} {', '.join(missing)} {'are' if plural else 'is'} missing")
        frame = fields.get("frame")
        lines = {"kept_frags": fields["kept_frags"], "frame": [] if frame is None else frame}
        for name, numbers in lines.items():
            if not isinstance(numbers, list) or not all(type(number) is int for number in numbers):
                raise ValueError(f"{name} must be a list of line numbers")
        score = 1.0 if fields.get("score") is None else fields["score"]
        if isinstance(score, bool) or not isinstance(score, (int, float)):
            raise ValueError(f"score must be a number, not {score!r}")
        given = {name: fields[name] for name in _OPTIONAL if fields.get(name) is not None}
        if type(given.get("id")) is int:
            given["id"] = str(given["id"])
        texts = {"query": fields["query"], "code": fields["code"], **given}
        for name, value in texts.items():
            if not isinstance(value, str):
                raise ValueError(f"{name} must be text, not {type(value).__name__}")
        gold, frame = (tuple(numbers) for numbers in lines.values())
        return cls(kept_frags=gold, frame=frame, score=float(score), row=row, **texts)


def parse_row(line: str | bytes) -> Any:
    try:
        return json.loads(line.rstrip())  # with its line end, an error's column would count from there
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON ({error.msg}, column {error.colno})") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 ({error.reason})") from error
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def read_rows(
    path: Path, read: Callable[[Any, int], Row], on_problem: Callable[[Problem], None] | None = None
) -> Iterator[Row]:
    """Read a JSONL file one row after another; blank lines are passed over."""
    try:
        stream = path.open("rb")
    except OSError as error:
        raise RecordError(f"{path}: can't be read ({error.strerror or error})", path=path) from error
    with stream:
        for number, line in enumerate(stream, 1):
            if not line.strip():
                continue
            try:
                row = read(parse_row(line), number)
            except (TypeError, ValueError) as error:
                if on_problem is None:
                    raise RecordError(f"{path}:{number}: {error}", path=path, row=number) from error
                on_problem(Problem(number, str(error)))
            else:
                yield row


def read_records(path: Path | str, on_problem: Callable[[Problem], None] | None = None) -> Iterator[Record]:
    """Read a file of records; see `read_rows`. A row with the id of an earlier one can't be used."""
    first_with: dict[str, int] = {}

    def record_of(fields: Any, row: int) -> Record:
        record = Record.from_row(fields, row)
        first = first_with.setdefault(record.id, row)
        if record.id and first != row:
            raise ValueError(f"the id {record.id!r} is that of line {first} already")
        return record

    return read_rows(Path(path), record_of, on_problem)


def write_records(records: Iterable[Record], path: Path | str) -> int:
    """Write records as JSONL, whole or not at all, and return their number."""
    count = 0
    with replaced(Path(path)) as part, part.open("w", encoding="utf-8", newline="\n") as stream:
        for record in records:
            stream.write(record.to_json() + "\n")
            count += 1
    return count
