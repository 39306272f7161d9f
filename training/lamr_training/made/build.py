"""Makes records of made questions about the files of one project, whatever they are written in."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from lamr_evaluation.records import Record
from lamr_postprocess.languages import Language, language_named
from lamr_postprocess.lines import split_lines

from lamr_training.made.facts import facts_of
from lamr_training.made.kinds import KINDS, Draft, MadeFile
from lamr_training.made.settings import MadeSettings
from lamr_training.records.headers import headers_of
from lamr_training.records.paths import holds_tests, source_language
from lamr_training.records.source_files import SourceFile, is_own_code


def made_records(project: str, files: Iterable[SourceFile], settings: MadeSettings) -> list[Record]:
    """Records about a project's files, no more of a kind than its share.

    Args:
        project: its name, which the choices follow from.
        files: its files in the order in which they are asked about; no more are read than are needed.
        settings: sizes.
    """
    rng = random.Random(f"{settings.seed}:{project}:made")
    left = Counter({name: math.ceil(share * settings.per_project) for name, (_, share) in KINDS.items()})
    found: dict[str, Record] = {}
    for file in files:
        if len(found) >= settings.per_project:
            break
        if (holds_tests(file.path) and rng.random() > settings.tests) or not _is_asked(file, settings):
            continue
        facts = facts_of(file.text, _grammar(file))
        if facts is None:
            continue
        for record in _file_records(MadeFile(facts, file.path, file.language), file, settings, +left, rng):
            if record.query not in found and left[record.kind]:
                left[record.kind] -= 1
                found[record.query] = record
    records = list(found.values())[: settings.per_project]
    records = [_elsewhere(each, records, rng) if rng.random() < settings.absent else each for each in records]
    return [cut_window(each, rng) if rng.random() < settings.windows else each for each in records]


def _is_asked(file: SourceFile, settings: MadeSettings) -> bool:
    return is_own_code(file.path, file.text, settings) and "\f" not in file.text


def _grammar(file: SourceFile) -> Language:
    """The language whose grammar reads a file; TSX counts as TypeScript, but has a grammar of its own."""
    known = source_language(file.path)
    return known if known and known.name == "tsx" else language_named(file.language)


def _file_records(
    made: MadeFile, file: SourceFile, settings: MadeSettings, left: Counter[str], rng: random.Random
) -> Iterator[Record]:
    """Records of one file, of the kinds of which some are left; a kind that runs out is drawn no more."""
    running = {name: make(made, rng) for name, (make, _) in KINDS.items() if name in left}
    count = 0
    taken: set[frozenset[int]] = set()
    while running and count < settings.per_file:
        kind = rng.choices(list(running), [KINDS[name][1] for name in running])[0]
        draft = next(running[kind], None)
        if draft is None:
            del running[kind]
        elif _fits(draft, made.facts.lines, settings) and draft.gold not in taken:
            taken.add(draft.gold)
            count += 1
            yield _record(draft, made, file, kind, count)


def _fits(draft: Draft, lines: list[str], settings: MadeSettings) -> bool:
    return (
        12 <= len(draft.query) <= 400
        and len(draft.query.split()) >= 4
        and 1 <= len(draft.gold) <= settings.largest_gold * len(lines)
    )


def _record(draft: Draft, made: MadeFile, file: SourceFile, kind: str, number: int) -> Record:
    """Take the cut rows out and number the gold lines anew."""
    all_lines = made.facts.lines
    kept = [at for at in range(len(all_lines)) if at not in draft.cut]
    gold = tuple(place for place, at in enumerate(kept, 1) if at in draft.gold and all_lines[at].strip())
    lines = [all_lines[at] for at in kept]
    return Record(
        draft.query,
        "\n".join(lines),
        gold,
        path=file.path,
        project=file.project,
        kind=kind,
        id=f"{file.project}@{file.revision}:{file.path}#{kind}{number}",
        language=file.language,
        frame=headers_of(gold, lines),
    )


def _elsewhere(record: Record, others: list[Record], rng: random.Random) -> Record:
    """The same file asked for what another file of the project holds."""
    away = [other for other in rng.sample(others, min(len(others), 8)) if other.path != record.path]
    if not away:
        return record
    query = away[0].query
    return replace(
        record, query=query, kind="absent", id=f"{record.id}-absent", kept_frags=(), frame=(), score=0.0
    )


SHORTEST, LONGEST = 30, 200
"""How many lines a window has, about."""


def cut_window(record: Record, rng: random.Random) -> Record:
    """Part of a record: a run of paragraphs with at least one line of the answer, or any run if there is no answer.

    A file that is hardly longer than a window stays whole.
    """
    lines = split_lines(record.code)
    size = rng.randint(SHORTEST, LONGEST)
    if len(lines) < 1.5 * size:
        return record
    anchor = rng.choice(record.kept_frags) if record.kept_frags else rng.randint(1, len(lines))
    starts = [n for n, line in enumerate(lines, 1) if line.strip() and (n == 1 or not lines[n - 2].strip())]
    wanted = anchor - rng.randrange(size)
    first = max((n for n in starts if n <= max(wanted, starts[0])), default=1)
    least = min(max(first + size - 1, anchor), len(lines))
    last = min(n - 1 for n in (*starts, len(lines) + 1) if n > least)
    while last > max(first, anchor) and not lines[last - 1].strip():
        last -= 1
    kept, frame = (
        tuple(n - first + 1 for n in numbers if first <= n <= last)
        for numbers in (record.kept_frags, record.frame)
    )
    return replace(record, code="".join(lines[first - 1 : last]), kept_frags=kept, frame=frame)
