"""Evaluation items: a question, a file, and the lines that answer it.

The file format is the predecessor's training format, one JSON object a line: `query`, `code`, `kept_frags`
(1-based line numbers) and optionally `score`; ours may add `path`, `project` and `kind`. This module reads,
checks and writes items; it knows nothing of scores, metrics or where a benchmark comes from.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from lamr_contract.errors import InvalidInputError
from lamr_postprocess import split_lines as lines_with_newlines
from numpy.typing import NDArray

_TEXT_FIELDS = ("path", "project", "kind")


class DataError(InvalidInputError):
    """An evaluation file can't be used as it is; the message names the file and the line."""


def split_lines(code: str) -> list[str]:
    """Lines of `code`, as post-processing counts them, without their terminators.

    A final terminator ends the last line and doesn't open another: `"a\\n"` is one line, `""` is none.
    """
    return [line.rstrip("\r\n") for line in lines_with_newlines(code)]


@dataclass(frozen=True)
class EvalItem:
    """One question about one file.

    Attributes:
        query: what the reader wants to know.
        code: the whole file or excerpt.
        kept_frags: 1-based numbers of the gold lines, ascending, without repeats.
        score: relevance of the document in [0, 1].
        path, project, kind: where it comes from and what sort of question it is; for grouping only.
    """

    query: str
    code: str
    kept_frags: tuple[int, ...]
    score: float = 1.0
    path: str | None = None
    project: str | None = None
    kind: str | None = None
    lines: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check and normalize.

        Raises:
            ValueError: empty query, a gold line outside the file, or a score outside [0, 1].
        """
        if not self.query.strip():
            raise ValueError("`query` is empty")
        lines = tuple(split_lines(self.code))
        gold = tuple(sorted(set(self.kept_frags)))
        if gold and (gold[0] < 1 or gold[-1] > len(lines)):
            wrong = gold[0] if gold[0] < 1 else gold[-1]
            raise ValueError(f"`kept_frags` names line {wrong}, but `code` has lines 1 to {len(lines)}")
        if not 0.0 <= self.score <= 1.0:
            raise ValueError(f"`score` is {self.score}, which is not in [0, 1]")
        object.__setattr__(self, "kept_frags", gold)
        object.__setattr__(self, "lines", lines)

    @property
    def gold(self) -> NDArray[np.bool_]:
        """Which lines are gold, bool `[L]`."""
        mask = np.zeros(len(self.lines), dtype=np.bool_)
        mask[np.asarray(self.kept_frags, dtype=np.intp) - 1] = True
        return mask

    @property
    def counted(self) -> NDArray[np.bool_]:
        """Which lines are counted, bool `[L]`: those that hold more than white space."""
        return np.fromiter((bool(line.strip()) for line in self.lines), dtype=np.bool_, count=len(self.lines))

    def to_json(self) -> str:
        """One line of JSON that `read_items` reads back equal."""
        row = {key: value for key, value in asdict(self).items() if key != "lines" and value is not None}
        return json.dumps(row, ensure_ascii=False)


def _typed(row: dict[str, Any], name: str, kind: type | tuple[type, ...], words: str) -> Any:
    value = row[name]
    if not isinstance(value, kind) or isinstance(value, bool):
        raise ValueError(f"`{name}` must be {words}, not {type(value).__name__}")
    return value


def parse_item(text: str) -> EvalItem:
    """Read one line of an evaluation file.

    Raises:
        ValueError: not JSON, a field is missing or has the wrong type, or a value is out of range.
    """
    try:
        row = json.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if not isinstance(row, dict):
        raise ValueError(f"expected a JSON object, not {type(row).__name__}")
    missing = [name for name in ("query", "code", "kept_frags") if name not in row]
    if missing:
        raise ValueError("missing " + ", ".join(f"`{name}`" for name in missing))
    frags = _typed(row, "kept_frags", list, "a list of 1-based line numbers")
    if not all(isinstance(number, int) and not isinstance(number, bool) for number in frags):
        raise ValueError("`kept_frags` must hold integers only")
    texts = {n: _typed(row, n, str, "a string") for n in _TEXT_FIELDS if row.get(n) is not None}
    return EvalItem(
        query=_typed(row, "query", str, "a string"),
        code=_typed(row, "code", str, "a string"),
        kept_frags=tuple(frags),
        score=float(_typed(row, "score", (int, float), "a number")) if row.get("score") is not None else 1.0,
        **texts,
    )


def iter_rows(path: Path) -> Iterator[tuple[int, str]]:
    """Non-blank lines of a JSONL file with their 1-based numbers.

    Raises:
        DataError: the file is missing, unreadable or not UTF-8.
    """
    try:
        with path.open(encoding="utf-8", newline="\n") as file:
            for number, text in enumerate(file, 1):
                if text.strip():
                    yield number, text
    except OSError as error:
        raise DataError(f"{path}: can't be read ({error.strerror or error})") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 ({error.reason} at byte {error.start} of a block)") from error


def read_items(path: Path | str, *, skip_bad: bool = False) -> list[EvalItem]:
    """Read an evaluation set.

    Args:
        path: a JSONL file.
        skip_bad: leave out lines that can't be used instead of raising.

    Raises:
        DataError: the file can't be read, a line of it can't be used, or nothing is left.
    """
    path = Path(path)
    items = []
    for number, text in iter_rows(path):
        try:
            items.append(parse_item(text))
        except ValueError as error:
            if not skip_bad:
                raise DataError(f"{path}:{number}: {_reason(error)}") from error
    if not items:
        raise DataError(f"{path}: holds no items; expected one JSON object a line")
    return items


def _reason(error: ValueError) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON ({error.msg}, column {error.colno})"
    return str(error)


def write_items(items: Iterable[EvalItem], path: Path | str) -> int:
    """Write items as JSONL; returns their number."""
    count = 0
    with Path(path).open("w", encoding="utf-8", newline="\n") as file:
        for item in items:
            file.write(item.to_json() + "\n")
            count += 1
    return count
