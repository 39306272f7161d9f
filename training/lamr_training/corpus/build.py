"""Builds the training and validation records from packages: whole files, queries of many kinds, no model asked.

Files are chosen evenly over projects, queries by the shares of `queries.KINDS`, and one record in ten asks a file
for something that is elsewhere in its package. Deduplicated by file and query, split by project, the same for the
same packages and seed.
"""

from __future__ import annotations

import hashlib
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from lamr_evaluation.records import Record, write_records

from lamr_training.corpus.fetch import (
    Package,
    Progress,
    SourceFile,
    bundled_manifest,
    fetch_pinned,
    source_files,
    write_manifest,
)
from lamr_training.corpus.kinds import KINDS, Draft
from lamr_training.corpus.windows import cut_window
from lamr_training.corpus.written import handmade_records
from lamr_training.errors import CorpusError
from lamr_training.syntax import ParsedFile, parse_file


@dataclass(frozen=True)
class CorpusSettings:
    """Sizes of a corpus.

    Attributes:
        files_per_project: files taken from one project; small projects give all that fit.
        queries_per_file: records made of one file.
        min_lines, max_lines: of a file.
        largest_gold: share of a file that gold lines may be; questions about most of a file teach nothing.
        absent: share of records whose file holds no answer.
        windows: share of records whose file is cut to a run of paragraphs around part of the answer.
        seed: of every choice.
    """

    files_per_project: int = 60
    queries_per_file: int = 4
    min_lines: int = 60
    max_lines: int = 1200
    largest_gold: float = 0.5
    absent: float = 0.08
    windows: float = 0.0
    seed: int = 0


def build_corpus(
    cache: Path,
    output: Path,
    *,
    packages: Sequence[Package] | None = None,
    settings: CorpusSettings | None = None,
    progress: Progress | None = None,
) -> dict[str, int]:
    """Fetch the packages and write records into `output`: `train.jsonl` and `validation.jsonl`, made by rules, and
    `written.jsonl` and `handmade.jsonl`, questions that were written about training and validation files. The
    packages go to `manifest.json`.

    Args:
        cache: folder for downloaded wheels.
        packages: a manifest; the bundled one by default.
        settings: sizes.
        progress: called with packages and projects done.

    Returns:
        Number of records in each file.

    Raises:
        CorpusError: a package can't be had as the manifest says, or a split got no records.
    """
    settings = settings or CorpusSettings()
    bundled = bundled_manifest()
    packages = fetch_pinned(bundled if packages is None else packages, cache, progress)
    records = make_records(source_files(packages, cache), settings, progress)
    output.mkdir(parents=True, exist_ok=True)
    write_manifest(packages, output / "manifest.json")
    counts = {}
    for split in ("train", "validation"):
        counts[split] = write_records(records[split], output / f"{split}.jsonl")
        if not counts[split]:
            raise CorpusError(
                f"no {split} records: none of the packages has files of {settings.min_lines} lines or more"
            )
    for name, split in (("written", "train"), ("handmade", "validation")):
        chosen = [
            p for p in packages if p.split == split and p in bundled
        ]  # questions are about these versions
        counts[name] = write_records(handmade_records(source_files(chosen, cache)), output / f"{name}.jsonl")
    return counts


def make_records(
    files: Iterable[SourceFile], settings: CorpusSettings, progress: Progress | None = None
) -> dict[str, list[Record]]:
    """Records of each split, shuffled."""
    by_project: dict[tuple[str, str], list[SourceFile]] = defaultdict(list)
    seen: set[str] = set()
    for file in files:
        digest = hashlib.sha256("".join(file.text.split()).encode("utf-8", "replace")).hexdigest()
        lines = file.text.count("\n") + 1
        if digest not in seen and settings.min_lines <= lines <= settings.max_lines:
            seen.add(digest)
            by_project[file.split, file.project].append(file)
    records: dict[str, list[Record]] = {"train": [], "validation": []}
    for number, ((split, project), found) in enumerate(sorted(by_project.items()), 1):
        if progress:
            progress("projects", number, len(by_project))
        rng = random.Random(f"{settings.seed}:{project}")
        chosen = rng.sample(found, min(len(found), settings.files_per_project))
        records[split] += _project_records(chosen, settings, rng)
    for rows in records.values():
        random.Random(settings.seed).shuffle(rows)
    return records


def _project_records(files: list[SourceFile], settings: CorpusSettings, rng: random.Random) -> list[Record]:
    records: list[Record] = []
    queries: set[str] = set()
    for file in files:
        parsed = parse_file(file.text)
        if parsed is None or not parsed.functions:
            continue
        for kind, draft in _drafts(parsed, file, settings, rng):
            if draft.query not in queries:
                queries.add(draft.query)
                records.append(_record(parsed, file, kind, draft))
    found = [
        _elsewhere(record, records, rng) if rng.random() < settings.absent else record for record in records
    ]
    if not settings.windows:
        return found
    return [cut_window(record, rng) if rng.random() < settings.windows else record for record in found]


def _drafts(
    parsed: ParsedFile, file: SourceFile, settings: CorpusSettings, rng: random.Random
) -> Iterator[tuple[str, Draft]]:
    """Up to `queries_per_file` drafts of kinds drawn by their shares; a kind that finds nothing is drawn no more."""
    module = PurePosixPath(file.path).stem
    running = {name: make(parsed, module, rng) for name, (make, _) in KINDS.items()}
    made = 0
    while running and made < settings.queries_per_file:
        kind = rng.choices(list(running), [KINDS[name][1] for name in running])[0]
        draft = next(running[kind], None)
        if draft is None:
            del running[kind]
        elif _fits(draft, parsed, settings):
            made += 1
            yield kind, draft


def _fits(draft: Draft, parsed: ParsedFile, settings: CorpusSettings) -> bool:
    length = len(draft.query)
    return (
        8 <= length <= 400
        and 2 <= len(draft.gold) <= settings.largest_gold * len(parsed.lines)
        and len(draft.query.split()) >= 2
    )


def _record(parsed: ParsedFile, file: SourceFile, kind: str, draft: Draft) -> Record:
    """Take the cut lines out and number the gold lines anew."""
    kept = [number for number in range(1, len(parsed.lines) + 1) if number not in draft.cut]
    gold = tuple(place for place, number in enumerate(kept, 1) if number in draft.gold)
    code = "\n".join(parsed.lines[number - 1] for number in kept)
    return Record(draft.query, code, gold, 1.0, file.path, file.project, kind)


def _elsewhere(record: Record, others: list[Record], rng: random.Random) -> Record:
    """The same file asked for what another file of the project holds."""
    away = [other for other in rng.sample(others, min(len(others), 8)) if other.path != record.path]
    if not away:
        return record
    return Record(away[0].query, record.code, (), 0.0, record.path, record.project, "absent")
