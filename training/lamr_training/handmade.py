"""Questions that we wrote by hand about files of the validation projects, as records.

`data/questions.json` names the functions and classes that answer each; their lines come from the pinned files. Made
queries only resemble what people ask, so scorings are fitted on these too. Never trained on.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from importlib import resources

from lamr_training.errors import CorpusError
from lamr_training.fetch import SourceFile
from lamr_training.records import Record
from lamr_training.syntax import Entity, parse_file


def handmade_records(files: Iterable[SourceFile]) -> list[Record]:
    """The questions whose files are among `files`.

    Raises:
        CorpusError: a file doesn't hold a function that answers (another version than the manifest's).
    """
    text = (resources.files("lamr_training") / "data" / "questions.json").read_text(encoding="utf-8")
    questions = json.loads(text)
    wanted = {question["path"] for question in questions}
    found = {file.path: file for file in files if file.path in wanted}
    return [_record(question, found[question["path"]]) for question in questions if question["path"] in found]


def _record(question: dict[str, object], file: SourceFile) -> Record:
    parsed = parse_file(file.text)
    by_name: dict[str, list[Entity]] = {}
    for entity in parsed.entities if parsed else []:
        by_name.setdefault(f"{entity.owner}.{entity.name}".lstrip("."), []).append(entity)
    lines: set[int] = set()
    for name in question["gold"]:  # type: ignore[attr-defined]
        if name not in by_name:
            raise CorpusError(f"{file.path} has no {name}; fetch the version that the manifest pins")
        lines.update(*(entity.lines for entity in by_name[name]))
    return Record(
        str(question["query"]), file.text, tuple(sorted(lines)), 1.0, file.path, file.project, "handmade"
    )
