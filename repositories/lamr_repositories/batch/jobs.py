"""The rows of a file of jobs, and how they are checked. This module runs nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lamr_repositories.errors import RepositoryError

_TEXTS = ("query", "path", "repo", "code", "rev", "ranker", "format")
_SOURCES = ("path", "repo", "code")


@dataclass(frozen=True)
class Job:
    """One row of the file.

    Attributes:
        id: names the row's answer; `line-7` for the row in line 7 where it has none.
        fields: what the row says, or None where it is no job.
        problem: why it is no job.
    """

    id: str
    fields: dict[str, Any] | None
    problem: str = ""


def read_jobs(file: Path) -> Iterator[Job]:
    """Yield the jobs of a JSONL file; blank lines are passed over, and a row that is no job says so.

    Raises:
        RepositoryError: the file can't be read, or two rows have the same id.
    """
    seen: dict[str, int] = {}
    try:
        with file.open("rb") as stream:
            for number, line in enumerate(stream, 1):
                if line.strip():
                    job = _job(line, number)
                    first = seen.setdefault(job.id, number)
                    if first != number:
                        raise RepositoryError(
                            f"{file}:{number}: the id {job.id!r} is that of line {first} already; give each its own",
                            path=file,
                        )
                    yield job
    except OSError as error:
        raise RepositoryError(f"{file}: can't be read ({error.strerror or error})", path=file) from error


def _job(line: bytes, number: int) -> Job:
    name = f"line-{number}"
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        return Job(name, None, f"line {number} is no JSON ({error})")
    if not isinstance(row, dict):
        return Job(name, None, f"line {number} is no JSON object")
    fields = {key: value for key, value in row.items() if value is not None}
    name = str(fields.pop("id", name))
    problem = _problem(fields)
    return Job(name, None if problem else fields, problem and f"line {number}: {problem}")


def _problem(fields: dict[str, Any]) -> str:
    """Return what is wrong with a row; nothing for a job."""
    unknown = sorted(fields.keys() - {*_TEXTS, "max_tokens"})
    if unknown:
        return f"unknown field {unknown[0]!r}; there are id, {', '.join(_TEXTS)} and max_tokens"
    for name in _TEXTS:
        if not isinstance(fields.get(name, ""), str):
            return f"{name} must be text"
    tokens = fields.get("max_tokens", 1)
    if isinstance(tokens, bool) or not isinstance(tokens, int) or tokens < 1:
        return "max_tokens must be a whole number of at least 1"
    if "query" not in fields:
        return "the field query is missing"
    return _wrong_together(fields)


def _wrong_together(fields: dict[str, Any]) -> str:
    """Return which fields of a row exclude each other; nothing where none do."""
    has_code = not {"path", "code"}.isdisjoint(fields)
    if ("repo" in fields) == has_code:
        return f"give one of {', '.join(_SOURCES)}; path may name the language of code"
    wrong = sorted({"rev", "ranker", "format"} & fields.keys()) if has_code else []
    return f"{wrong[0]} goes with repo" if wrong else ""
