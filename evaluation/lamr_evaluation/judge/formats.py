"""Public sets as their authors publish them, read from files that the user has. Nothing is downloaded.

| format | set | one row |
|---|---|---|
| `longcodeqa` | LongCodeBench's LongCodeQA | `question` with choices `A) …`, `correct_letter`, `repo_text` |
| `lcc` | LCC, LongBench's `lcc` | `context` and `gt`, or `context` (and `input`) and `answers` |
| `swe-qa` | SWE-QA's file of one repository | `question`, `answer`; the repository is the root that is given |

Each file is JSONL, or one JSON list.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from lamr_evaluation.errors import RecordError
from lamr_evaluation.judge.items import CHOICE, COMPLETION, OPEN, Item, whole_repository
from lamr_evaluation.judge.tasks import LETTERS
from lamr_evaluation.problems import Problem
from lamr_evaluation.records import iter_rows, parse_row

TAIL_LINES = 8
"""Lines above a completion's hole that every reader sees, and by which pruners know what is looked for."""
_CHOICE = re.compile(r"^\s*\(?([A-Z])[).:]\s+(.*(?:\n(?!\s*\(?[A-Z][).:]\s).*)*)", re.MULTILINE)


def read_public(
    path: Path, name: str, root: Path | None, on_problem: Callable[[Problem], None] | None = None
) -> list[Item]:
    """Read a public set.

    Args:
        path: its file.
        name: a key of `FORMATS`.
        root: the repository that a set's questions are about, for sets whose rows bring no code.
        on_problem: called with each row that is no item, which is then left out. Without it, the first such row ends
            the reading.

    Raises:
        RecordError: the file can't be read; without `on_problem` also when a row is no item.
    """
    make = FORMATS[name](root)
    items: list[Item] = []
    for number, row in _rows(path):
        try:
            items.append(make(row(), number))
        except (KeyError, TypeError, ValueError) as error:
            said = f"the field {error} is missing" if isinstance(error, KeyError) else str(error)
            if on_problem is None:
                raise RecordError(f"{path}:{number}: {said}", path=path, row=number) from error
            on_problem(Problem(number, said))
    return items


def _rows(path: Path) -> Iterator[tuple[int, Callable[[], Any]]]:
    """Yield the number of each row and what parses it; a file that is one JSON list has a row for each of its parts."""
    rows = list(iter_rows(path))
    if rows and rows[0][1].lstrip().startswith(b"["):
        try:
            parts = json.loads(b"".join(line for _, line in rows))
        except (ValueError, RecursionError) as error:
            raise RecordError(f"{path}: not JSON ({error})", path=path) from error
        yield from ((number, partial(_same, part)) for number, part in enumerate(parts, 1))
        return
    yield from ((number, partial(parse_row, line)) for number, line in rows)


def _same(part: Any) -> Any:
    return part


def _text(row: Any, *names: str) -> str:
    """Return the first of several fields that a row has."""
    if not isinstance(row, dict):
        raise ValueError(f"not a JSON object but {type(row).__name__}")
    name = next((name for name in names if row.get(name)), None)
    if name is None:
        raise KeyError(names[0])
    value = row[name][0] if isinstance(row[name], list) else row[name]
    if not isinstance(value, str):
        raise ValueError(f"{name} must be text, not {type(value).__name__}")
    return value


def _longcodeqa(row: Any, number: int) -> Item:
    asked = _text(row, "question", "prompt")
    listed = {letter: text.strip() for letter, text in _CHOICE.findall(asked)}
    letter = _text(row, "correct_letter").strip().upper()
    if letter not in LETTERS or letter not in listed:
        raise ValueError(
            f"correct_letter is {letter!r}, and the question lists {', '.join(listed) or 'no choices'}"
        )
    question = asked[: next(_CHOICE.finditer(asked)).start()].strip()
    project = row.get("repo") if isinstance(row.get("repo"), str) else ""
    choices = tuple(listed.values())
    return Item(
        CHOICE, question, _text(row, "repo_text"), listed[letter], choices, project=str(project), row=number
    )


def _lcc(row: Any, number: int) -> Item:
    before = _text(row, "context") + (row.get("input") or "")
    lines = before.rstrip("\n").split("\n")
    code, tail = "\n".join(lines[:-TAIL_LINES]), "\n".join(lines[-TAIL_LINES:])
    if not code.strip():
        raise ValueError(f"the context has only {len(lines)} lines")
    return Item(
        COMPLETION,
        tail,
        code,
        _text(row, "gt", "answers"),
        language=str(row.get("language") or ""),
        row=number,
    )


def _swe_qa(root: Path | None) -> Callable[[Any, int], Item]:
    if root is None:
        raise RecordError("SWE-QA's rows bring no code; name the repository that they are about by --root")
    code = whole_repository(root)
    return lambda row, number: Item(
        OPEN, _text(row, "question"), code, _text(row, "answer"), project=root.resolve().name, row=number
    )


FORMATS: dict[str, Callable[[Path | None], Callable[[Any, int], Item]]] = {
    "longcodeqa": lambda _: _longcodeqa,
    "lcc": lambda _: _lcc,
    "swe-qa": _swe_qa,
}
"""For each format, what takes the root and gives the maker of items."""
