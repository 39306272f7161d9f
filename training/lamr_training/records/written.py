"""Written questions: questions that were written while reading the files of the corpus, as records.

Made questions only resemble what people ask; written ones train, and the scores are fitted on them.
`data/written.jsonl` is about Python files of the packages' versions that the manifest pins,
`data/written-histories.jsonl` about files of ten other languages at the commits that `histories.json` pins; both name
the lines that answer.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import resources

from lamr_evaluation.records import Record
from lamr_postprocess.lines import line_spans

from lamr_training.errors import CorpusError
from lamr_training.records.source_files import SourceFile

WRITTEN = {"train": "written.jsonl", "validation": "written-validation.jsonl"}
"""The file of written questions about each split."""
ABOUT_PACKAGES, ABOUT_HISTORIES = "written.jsonl", "written-histories.jsonl"
"""The package's questions about files of packages and of repositories."""


@dataclass(frozen=True)
class WrittenQuestion:
    """One question as it is stored.

    Attributes:
        project: name of the package or repository, as the manifest has it.
        path: the file's path in it.
        query: the question.
        kind: in which manner it asks: how, why, where and so on.
        gold: first and last lines, 1-based, of the parts that answer.
        task: what the question serves, such as what an agent's user asked for; empty when there is none.
    """

    project: str
    path: str
    query: str
    kind: str
    gold: tuple[tuple[int, int], ...]
    task: str = ""


def bundled_questions(name: str = ABOUT_PACKAGES) -> list[WrittenQuestion]:
    """All written questions of one of the package's two files."""
    text = (resources.files("lamr_training") / "data" / name).read_text(encoding="utf-8")
    rows = (json.loads(line) for line in text.split("\n") if line)
    return [WrittenQuestion(**{**row, "gold": tuple(map(tuple, row["gold"]))}) for row in rows]


def written_records(
    files: Iterable[SourceFile], questions: Iterable[WrittenQuestion] | None = None
) -> list[Record]:
    """The questions about `files` as records, in the order of the files.

    Args:
        files: the sources.
        questions: what to choose from; those about packages by default.

    Raises:
        CorpusError: a question names lines that its file doesn't have: the file is of another version than the
            manifest pins.
    """
    by_file: dict[tuple[str, str], list[WrittenQuestion]] = {}
    for question in bundled_questions() if questions is None else questions:
        by_file.setdefault((question.project, question.path), []).append(question)
    return [record for file in files for record in _records(file, by_file.pop((file.project, file.path), []))]


def _records(file: SourceFile, questions: list[WrittenQuestion]) -> Iterator[Record]:
    count = len(line_spans(file.text))
    for question in questions:
        lines = {number for first, last in question.gold for number in range(first, last + 1)}
        if not lines or max(lines) > count:
            raise CorpusError(
                f"{file.path} has {count} lines, a question is about line {max(lines, default=0)}; fetch the version "
                "that the manifest pins"
            )
        yield Record(
            question.query,
            file.text,
            tuple(lines),
            path=file.path,
            project=file.project,
            kind=question.kind,
            language=file.language,
            task=question.task,
        )
