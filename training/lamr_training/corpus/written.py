"""Questions that were written while reading the files of the corpus, as records.

Questions made by rules only resemble what people ask; these are for training and for fitting
scores. `data/written.jsonl` gives lines of the pinned files, `data/questions.json` (validation projects only) names
the functions and classes that answer. Both belong to the versions that the manifest pins. Knows no other data.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import resources

from lamr_evaluation.records import Record

from lamr_training.corpus.fetch import SourceFile
from lamr_training.errors import CorpusError
from lamr_training.syntax import Entity, parse_file


@dataclass(frozen=True)
class Question:
    """One question as it is stored.

    Attributes:
        path: of the file in its package.
        query, kind: what is asked, and in which manner.
        lines: first and last lines, 1-based, of what answers.
        names: functions and classes that answer; either these or `lines`.
    """

    path: str
    query: str
    kind: str
    lines: tuple[tuple[int, int], ...] = ()
    names: tuple[str, ...] = ()


def bundled_questions() -> list[Question]:
    """All questions that come with the package."""
    data = resources.files("lamr_training") / "data"
    named = json.loads((data / "questions.json").read_text(encoding="utf-8"))
    found = [Question(r["path"], r["query"], "handmade", names=tuple(r["gold"])) for r in named]
    for line in (data / "written.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        ranges = tuple((int(first), int(last)) for first, last in row["gold"])
        found.append(Question(row["path"], row["query"], row["kind"], ranges))
    return found


def handmade_records(
    files: Iterable[SourceFile], questions: Iterable[Question] | None = None
) -> list[Record]:
    """The questions whose files are among `files`, the bundled ones by default.

    Raises:
        CorpusError: a file doesn't hold what answers (another version than the manifest's).
    """
    by_path: dict[str, list[Question]] = {}
    for question in bundled_questions() if questions is None else questions:
        by_path.setdefault(question.path, []).append(question)
    return [record for file in files for record in _records(file, by_path.pop(file.path, []))]


def _records(file: SourceFile, questions: list[Question]) -> Iterator[Record]:
    entities = _by_name(file) if any(question.names for question in questions) else {}
    count = file.text.count("\n") + 1
    for question in questions:
        lines = {n for first, last in question.lines for n in range(first, last + 1)}
        for name in question.names:
            if name not in entities:
                raise CorpusError(f"{file.path} has no {name}; fetch the version that the manifest pins")
            lines.update(*(entity.lines for entity in entities[name]))
        if not lines or max(lines) > count:
            raise CorpusError(
                f"{file.path} has {count} lines, a question is about line {max(lines, default=0)}; fetch the version "
                "that the manifest pins"
            )
        yield Record(
            question.query, file.text, tuple(sorted(lines)), 1.0, file.path, file.project, question.kind
        )


def _by_name(file: SourceFile) -> dict[str, list[Entity]]:
    parsed = parse_file(file.text)
    found: dict[str, list[Entity]] = {}
    for entity in parsed.entities if parsed else []:
        found.setdefault(f"{entity.owner}.{entity.name}".lstrip("."), []).append(entity)
    return found
