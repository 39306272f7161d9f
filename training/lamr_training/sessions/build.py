"""Makes records out of a manifest of repositories with recorded sessions; the same manifest and settings give the same.

This module chooses among reads, so that no session, file or repository gives too many; it knows neither logs nor git.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path

from lamr_evaluation.records import Record

from lamr_training.records.manifest import Repository
from lamr_training.records.parts import (
    Foreign,
    Progress,
    Source,
    build_parts,
    digest_of,
    evaluations,
    file_digest,
)
from lamr_training.sessions.logs import session_logs
from lamr_training.sessions.reads import ReadSettings, candidates, record_of


@dataclass(frozen=True)
class SessionSettings:
    """Sizes.

    Attributes:
        per_repository, per_task, per_file: most records of a repository, of one user's message, and of a file in it.
        reads: what a read may be.
        apart: a file of evaluation items; files much like one of theirs are left out.
        seed: of every choice.
    """

    per_repository: int = 150
    per_task: int = 8
    per_file: int = 4
    reads: ReadSettings = field(default_factory=ReadSettings)
    apart: Path | None = None
    seed: int = 0

    def digest(self, row: Repository) -> str:
        """Names a repository's part: another commit or other settings make another one."""
        return digest_of(asdict(replace(self, apart=None)), self._apart_digest, row.commit)

    @cached_property
    def _apart_digest(self) -> str:
        return file_digest(self.apart)


def build_sessions(
    rows: Sequence[Repository],
    output: Path,
    place: Callable[[str], Path],
    *,
    settings: SessionSettings | None = None,
    progress: Progress | None = None,
) -> dict[str, int]:
    """Write `train.jsonl`, `validation.jsonl` and `suite.jsonl`, the manifest, and `counts.json`.

    Args:
        rows: the manifest: repositories, and commits of theirs whose files are sessions' logs.
        place: gives the git directory of `owner/name`, as `mirrors.locate` and `mirrors.clone` do.
        settings: sizes.
        progress: called with repositories done.

    Returns:
        Number of records in each split.

    Raises:
        CorpusError: a repository may not be used, or lacks its commit.
        DataError: git can't have or read a repository, or `settings.apart` isn't a file of records.
    """
    settings = settings or SessionSettings()
    foreign = evaluations(settings.apart)

    def make(row: Repository, where: Path) -> Iterable[Record]:
        return _repository(row, where, settings, foreign)

    source = Source(make, settings.digest, settings.seed)
    return build_parts(rows, output / "sessions.json", place, [source], progress)


def _repository(row: Repository, place: Path, settings: SessionSettings, foreign: Foreign) -> list[Record]:
    """A repository's records: of each task some, and first those of the files that have the fewest."""
    rng = random.Random(f"{settings.seed}:{row.repository}")
    found: list[Record] = []
    calls: set[str] = set()
    seen: set[tuple[str, int, tuple[int, ...]]] = set()
    per_task: Counter[str] = Counter()
    per_file: Counter[str] = Counter()
    for name, log in session_logs(place, row.commit):
        for candidate in candidates(name, log, row, rng):
            task, path = candidate.read.task, candidate.path
            full = per_task[task] >= settings.per_task or per_file[path] >= settings.per_file
            if full or candidate.call in calls:
                continue
            calls.add(candidate.call)
            record = record_of(candidate, row, settings.reads, foreign)
            if record is None:
                continue
            same = (path, len(record.lines), record.kept_frags)  # read again and again, with the same to do
            if same not in seen:
                found.append(record)
                per_task[task] += 1
                per_file[path] += 1
            seen.add(same)
    rng.shuffle(found)
    places: Counter[str] = Counter()
    ranked = []
    for record in found:
        ranked.append((places[record.path], record))
        places[record.path] += 1
    ranked.sort(key=lambda pair: pair[0])
    return [record for _, record in ranked[: settings.per_repository]]
