"""Makes records out of a manifest of histories: one part a repository, then one shuffled file a split.

A repository whose part is there is skipped, so a run goes on where an earlier one ended; the same manifest and settings
give the same files. This module knows files and counts; commits and questions are the others' matter.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from lamr_evaluation.mirrors import folder_name
from lamr_evaluation.records import read_records, write_records
from lamr_evaluation.reserved import reserved_path

from lamr_training.corpus.fetch import Progress
from lamr_training.errors import CorpusError
from lamr_training.histories import git
from lamr_training.histories.asked import SHARES, records
from lamr_training.histories.edits import Edit, EditSettings, candidates, edits
from lamr_training.histories.likeness import Likeness
from lamr_training.histories.manifest import SPLITS, Repository, check_histories, write_histories

MOST_LIKE = 0.5
"""Share of a file's runs of eight tokens that evaluation files may have too."""


@dataclass(frozen=True)
class HistorySettings:
    """Sizes.

    Attributes:
        per_repository: edits taken from one repository; each gives one record and some more of other kinds.
        edits: what an edit may be.
        apart: a file of evaluation items; files much like one of theirs are left out.
        seed: of every choice.
    """

    per_repository: int = 400
    edits: EditSettings = field(default_factory=EditSettings)
    apart: Path | None = None
    seed: int = 0

    def digest(self, row: Repository) -> str:
        """Names a repository's part: another commit or other settings make another one."""
        apart = hashlib.sha256(self.apart.read_bytes()).hexdigest() if self.apart else ""
        text = json.dumps([asdict(replace(self, apart=None)), apart, SHARES, row.commit], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:8]


def build_histories(
    rows: Sequence[Repository],
    output: Path,
    place: Callable[[str], Path],
    *,
    settings: HistorySettings | None = None,
    progress: Progress | None = None,
) -> dict[str, int]:
    """Write `train.jsonl`, `validation.jsonl` and `suite.jsonl`, the manifest, and `counts.json`.

    Args:
        rows: the manifest.
        place: gives the git directory of `owner/name`, as `mirrors.locate` and `mirrors.clone` do.
        settings: sizes.
        progress: called with repositories done.

    Returns:
        Number of records in each split.

    Raises:
        CorpusError: a repository may not be used, or lacks its commit.
        DataError: git can't have or read a repository, or `settings.apart` isn't a file of records.
    """
    check_histories(rows)
    settings = settings or HistorySettings()
    likeness = Likeness(item.code for item in (read_records(settings.apart) if settings.apart else ()))
    parts = output / "parts"
    parts.mkdir(parents=True, exist_ok=True)
    places: dict[str, list[Path]] = {split: [] for split in SPLITS}
    ordered = sorted(rows, key=lambda row: row.repository.lower())
    for number, row in enumerate(ordered, 1):
        part = parts / f"{folder_name(row.repository)}.{settings.digest(row)}.jsonl"
        if not part.exists():
            _write_part(row, part, place(row.repository), settings, likeness)
        places[row.split].append(part)
        if progress:
            progress("repositories", number, len(ordered))
    write_histories(rows, output / "histories.json")
    tables = {
        split: _join(found, output / f"{split}.jsonl", settings.seed) for split, found in places.items()
    }
    (output / "counts.json").write_text(json.dumps(tables, indent=1) + "\n", encoding="utf-8")
    return {split: sum(table["kinds"].values()) for split, table in tables.items()}


def _write_part(
    row: Repository, part: Path, place: Path, settings: HistorySettings, likeness: Likeness
) -> None:
    if not git.has_commit(place, row.commit):
        raise CorpusError(f"{place}: lacks commit {row.commit} of {row.repository}; fetch it there")
    known: dict[str, bool] = {}

    def foreign(path: str, code: str) -> bool:
        if path not in known:  # versions of one file are about as like to another one
            known[path] = bool(reserved_path(path)) or likeness.share(code) > MOST_LIKE
        return known[path]

    chosen = candidates(git.commits(place, row.commit), settings.edits)
    found: list[Edit] = []
    for edit in edits(place, chosen, settings.edits, foreign):
        found.append(edit)
        if len(found) >= settings.per_repository:
            break
    unfinished = part.with_suffix(".partial")
    write_records(records(found, row, settings.seed), unfinished)
    unfinished.rename(part)


def _join(parts: Sequence[Path], target: Path, seed: int) -> dict[str, dict[str, int]]:
    """Write the parts' lines in a shuffled order, reading each from its place, and count them."""
    lines: list[tuple[int, int]] = []
    for number, part in enumerate(parts):
        at = 0
        with part.open("rb") as stream:
            for line in stream:
                lines.append((number, at))
                at += len(line)
    random.Random(seed).shuffle(lines)
    counts: dict[str, Counter[str]] = {"kinds": Counter(), "languages": Counter()}
    streams = [part.open("rb") for part in parts]
    with target.open("wb") as written:
        for number, at in lines:
            streams[number].seek(at)
            line = streams[number].readline()
            written.write(line)
            row = _ending(line)
            counts["kinds"][row["kind"]] += 1
            counts["languages"][row["language"]] += 1
    for stream in streams:
        stream.close()
    return {name: dict(sorted(table.items())) for name, table in counts.items()}


def _ending(line: bytes) -> dict[str, str]:
    """What a record's row says after its code, which is most of it; inside texts quotes don't stand bare."""
    return dict(json.loads(b"{" + line[line.rindex(b'"score": ') :]))
