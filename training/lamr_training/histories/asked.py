"""From an edit to its records: the message itself, and what else an agent could have asked to get there.

`SHARES` is the table of kinds. Records that find nothing in their file are made here too.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from lamr_evaluation.records import Record

from lamr_training.histories.complaints import Question, error, failing_test, identifier
from lamr_training.histories.edits import Edit
from lamr_training.histories.intents import intent
from lamr_training.histories.messages import Message
from lamr_training.histories.tasks import task
from lamr_training.records.manifest import Repository
from lamr_training.records.paths import holds_tests, shown_language
from lamr_training.records.raised import count_words

SHARES = {"task": 0.25, "intent": 0.3, "error": 0.15, "test": 0.3, "grep": 0.15}
"""How many edits also give a record of a kind, beside that of the message itself."""
ABSENT = 0.2
"""Of the records that have an answer, so many are asked of another file again: one in six of all."""
_ABSENT_WEIGHT = 1 + (SHARES["error"] + SHARES["grep"]) / (1 + sum(SHARES.values()))
"""Names and messages could stand in the other file too, so the other kinds give their share of absent answers."""


def records(found: Sequence[Edit], row: Repository, seed: int) -> Iterator[Record]:
    """All records of a repository's edits, in the edits' order."""
    said = [edit.message for edit in found]
    for edit in found:
        rng = random.Random(f"{seed}:{row.repository}:{edit.sha}:{edit.path}")
        for question in _questions(edit, said, row, rng):
            record = _record(edit, question, row)
            if record is None:
                continue
            yield record
            if question.kind not in {"error", "grep"} and rng.random() < ABSENT * _ABSENT_WEIGHT:
                other = _elsewhere(edit, found, rng)
                if other:
                    yield _without_answer(record, other, row)


def _questions(
    edit: Edit, said: Sequence[Message], row: Repository, rng: random.Random
) -> Iterator[Question]:
    kind = "edit-test" if holds_tests(edit.path) else "edit"
    yield Question(kind, _wording(edit.message, rng), edit.gold, edit.headers)
    wanted = {name for name, share in SHARES.items() if rng.random() < share}
    sentence = intent(edit.message.subject, edit.path, [edit.lines[n - 1] for n in edit.headers], rng)
    if "intent" in wanted:
        yield Question("intent", sentence, edit.gold, edit.headers)
    if "task" in wanted:
        others = [each for each in rng.sample(said, min(len(said), 8)) if each != edit.message]
        project = row.repository.split("/")[1]
        text = task(edit.message, others, project, edit.language, rng)
        text = f"{sentence}\n\n{text}" if rng.random() < 0.35 else text
        yield Question("task", text, edit.gold, edit.headers)
    for name, make in (("error", error), ("test", failing_test), ("grep", identifier)):
        question = make(edit, rng) if name in wanted else None
        if question:
            yield question


def _wording(message: Message, rng: random.Random) -> str:
    """Subject, body or both; a conventional prefix stays half the time."""
    subject = message.prefix + message.subject if rng.random() < 0.5 else message.subject
    draw = rng.random()
    if count_words(message.body) < 6 or (draw < 0.4 and count_words(message.subject) >= 4):
        return subject
    return message.body if draw < 0.6 and count_words(message.body) >= 12 else f"{subject}\n\n{message.body}"


def _record(edit: Edit, question: Question, row: Repository) -> Record | None:
    if not question.gold or len(question.gold) > 0.4 * len(edit.lines):
        return None
    return Record(
        question.text,
        edit.code,
        question.gold,
        path=edit.path,
        project=row.repository,
        kind=question.kind,
        id=f"{row.repository}@{edit.sha[:12]}:{edit.path}#{question.kind}",
        language=shown_language(edit.language, row.language),
        frame=tuple(n for n in question.headers if n not in question.gold),
    )


def _elsewhere(edit: Edit, found: Sequence[Edit], rng: random.Random) -> Edit | None:
    """A file of the project that the commit didn't touch."""
    away = (other for other in rng.sample(found, min(len(found), 12)) if other.path not in edit.touched)
    return next(away, None)


def _without_answer(record: Record, other: Edit, row: Repository) -> Record:
    return Record(
        record.query,
        other.code,
        (),
        score=0.0,
        path=other.path,
        project=row.repository,
        kind="absent",
        id=f"{record.id}-absent",
        language=shown_language(other.language, row.language),
    )
