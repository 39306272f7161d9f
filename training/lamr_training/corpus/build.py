"""Builds the training and validation records from packages: whole files, queries of many kinds, no model asked.

Files are chosen evenly over projects and queries by the shares of `kinds.KINDS`; a share of the records asks a file for
something that is elsewhere in its package. Records repeat neither file nor query, are split by project, and are the
same for the same packages and seed.
"""

from __future__ import annotations

import hashlib
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath

from lamr_evaluation.records import Record, write_records
from lamr_postprocess.lines import line_spans

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
from lamr_training.corpus.settings import CorpusSettings
from lamr_training.corpus.windows import cut_window
from lamr_training.corpus.written import WRITTEN, written_records
from lamr_training.errors import CorpusError
from lamr_training.syntax import ParsedFile, parse_file


def build_corpus(
    cache: Path,
    output: Path,
    *,
    packages: Sequence[Package] | None = None,
    settings: CorpusSettings | None = None,
    progress: Progress | None = None,
) -> dict[str, int]:
    """Fetch the packages and write records about their files.

    Made questions go to `train.jsonl` and `validation.jsonl`, written ones to the files that `WRITTEN` names, and the
    packages to `manifest.json`.

    Args:
        cache: folder for downloaded wheels.
        output: folder to write into.
        packages: a manifest; the bundled one by default.
        settings: sizes of the corpus.
        progress: called with packages and projects done.

    Returns:
        Number of records in each file, by the file's name without its ending.

    Raises:
        ReservedError: a package is for evaluation only.
        DataError: pip can't download a package.
        CorpusError: a package isn't what the manifest says, or a split got no records.
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
    for split, name in WRITTEN.items():
        # the questions are about the versions that the bundled manifest pins
        pinned = [package for package in packages if package.split == split and package in bundled]
        counts[name.removesuffix(".jsonl")] = write_records(
            written_records(source_files(pinned, cache)), output / name
        )
    return counts


def make_records(
    files: Iterable[SourceFile], settings: CorpusSettings, progress: Progress | None = None
) -> dict[str, list[Record]]:
    """Records of each split, shuffled."""
    by_project: dict[tuple[str, str], list[SourceFile]] = defaultdict(list)
    seen: set[str] = set()
    for file in files:
        digest = hashlib.sha256("".join(file.text.split()).encode("utf-8", "replace")).hexdigest()
        lines = len(line_spans(file.text))
        if digest not in seen and settings.min_lines <= lines <= settings.max_lines:
            seen.add(digest)
            by_project[file.split, file.project].append(file)
    records: dict[str, list[Record]] = {"train": [], "validation": []}
    for number, ((split, project), candidates) in enumerate(sorted(by_project.items()), 1):
        if progress:
            progress("projects", number, len(by_project))
        rng = random.Random(f"{settings.seed}:{project}")
        chosen = rng.sample(candidates, min(len(candidates), settings.files_per_project))
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
    mixed = [
        _elsewhere(record, records, rng) if rng.random() < settings.absent else record for record in records
    ]
    if not settings.windows:
        return mixed
    return [cut_window(record, rng) if rng.random() < settings.windows else record for record in mixed]


def _drafts(
    parsed: ParsedFile, file: SourceFile, settings: CorpusSettings, rng: random.Random
) -> Iterator[tuple[str, Draft]]:
    """Up to `queries_per_file` drafts of kinds drawn by their shares; a kind that runs out is drawn no more."""
    module = PurePosixPath(file.path).stem
    running = {name: make(parsed, module, rng) for name, (make, _) in KINDS.items()}
    count = 0
    while running and count < settings.queries_per_file:
        kind = rng.choices(list(running), [KINDS[name][1] for name in running])[0]
        draft = next(running[kind], None)
        if draft is None:
            del running[kind]
        elif _fits(draft, parsed, settings):
            count += 1
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
