"""Makes records of made questions about the files of pinned repositories.

This module knows files and counts; what is asked is `kinds`' matter, and where repositories lie the caller's.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lamr_evaluation.records import Record
from lamr_postprocess.languages import Language, language_named

from lamr_training.histories import git
from lamr_training.histories.edits import EditSettings, is_objective_c, own_text
from lamr_training.histories.gold import headers_of
from lamr_training.histories.manifest import Repository
from lamr_training.histories.parts import Foreign
from lamr_training.histories.paths import holds_tests, shown_language, source_language
from lamr_training.made.facts import facts_of
from lamr_training.made.kinds import KINDS, Draft, MadeFile

MADE = {"train": "made.jsonl", "validation": "made-validation.jsonl"}
"""The file of made questions about each split's repositories."""
_FILES = EditSettings(min_lines=150, max_lines=1200, max_characters=60_000)
_READ = 3
"""Files read for each one that is wanted: some give nothing."""


@dataclass(frozen=True)
class MadeSettings:
    """Sizes.

    Attributes:
        per_repository: records of one repository.
        per_file: records of one file.
        largest_gold: share of a file that gold lines may be.
        tests: share of the test files that is taken.
        seed: of every choice.
    """

    per_repository: int = 30
    per_file: int = 3
    largest_gold: float = 0.4
    tests: float = 0.3
    seed: int = 0


def made_records(row: Repository, place: Path, settings: MadeSettings, foreign: Foreign) -> list[Record]:
    """Records about the files of a repository's commit, all and of no kind more than its share.

    Args:
        row: the repository.
        place: its git directory.
        settings: sizes.
        foreign: whether a file is an evaluation's.

    Raises:
        DataError: git can't read the repository.
    """
    rng = random.Random(f"{settings.seed}:{row.repository}:made")
    left = Counter({name: math.ceil(share * settings.per_repository) for name, (_, share) in KINDS.items()})
    found: dict[str, Record] = {}
    for path, language, text in _texts(row, place, settings, rng):
        if len(found) >= settings.per_repository:
            break
        if (holds_tests(path) and rng.random() > settings.tests) or foreign(path, text):
            continue
        facts = facts_of(text, language)
        if facts is None:
            continue
        file = MadeFile(facts, path, shown_language(language.name, row.language))
        for record in _file_records(file, row, settings, +left, rng):
            if record.query not in found and left[record.kind]:
                left[record.kind] -= 1
                found[record.query] = record
    return list(found.values())[: settings.per_repository]


def _texts(
    row: Repository, place: Path, settings: MadeSettings, rng: random.Random
) -> Iterator[tuple[str, Language, str]]:
    """Path, language and text of the repository's own files, in a random order."""
    listed = [
        (path, language, blob)
        for path, blob, size in git.files(place, row.commit)
        if size <= _FILES.max_characters and (language := _language(path, row))
    ]
    listed = rng.sample(listed, min(len(listed), _READ * settings.per_repository))
    blobs = git.blobs(place, (blob for _, _, blob in listed))
    for path, language, blob in listed:
        text = own_text(blobs.get(blob, b""), _FILES)
        if text is not None and "\f" not in text and not is_objective_c(path, text):
            yield path, language, text


def _language(path: str, row: Repository) -> Language | None:
    """The language whose grammar reads a file; None of Python, whose questions come from packages."""
    known = source_language(path)
    if known is None or known.name in {"python", "tsx"}:
        return known if known and known.name == "tsx" else None
    return language_named(shown_language(known.name, row.language))


def _file_records(
    file: MadeFile, row: Repository, settings: MadeSettings, left: Counter[str], rng: random.Random
) -> Iterator[Record]:
    """Records of one file, of the kinds of which some are left."""
    running = {name: make(file, rng) for name, (make, _) in KINDS.items() if name in left}
    count = 0
    taken: set[frozenset[int]] = set()
    while running and count < settings.per_file:
        kind = rng.choices(list(running), [KINDS[name][1] for name in running])[0]
        draft = next(running[kind], None)
        if draft is None:
            del running[kind]
        elif _fits(draft, file.facts.lines, settings) and draft.gold not in taken:
            taken.add(draft.gold)
            count += 1
            yield _record(draft, file, row, kind, count)


def _fits(draft: Draft, lines: list[str], settings: MadeSettings) -> bool:
    return (
        12 <= len(draft.query) <= 400
        and len(draft.query.split()) >= 4
        and 1 <= len(draft.gold) <= settings.largest_gold * len(lines)
    )


def _record(draft: Draft, file: MadeFile, row: Repository, kind: str, number: int) -> Record:
    """Take the cut rows out and number the gold lines anew."""
    kept = [at for at in range(len(file.facts.lines)) if at not in draft.cut]
    gold = tuple(
        place for place, at in enumerate(kept, 1) if at in draft.gold and file.facts.lines[at].strip()
    )
    lines = [file.facts.lines[at] for at in kept]
    return Record(
        draft.query,
        "\n".join(lines),
        gold,
        path=file.path,
        project=row.repository,
        kind=kind,
        id=f"{row.repository}@{row.commit[:12]}:{file.path}#{kind}{number}",
        language=file.language,
        frame=headers_of(gold, lines),
    )
