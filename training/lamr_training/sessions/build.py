"""Makes records out of a manifest of repositories with recorded sessions; the same manifest and settings give the same.

This module chooses among reads, so that no session, file or repository gives too many; it knows neither logs nor git.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from lamr_evaluation.records import Record
from lamr_repositories.progress import OnProgress

from lamr_training.records.manifest import Repository
from lamr_training.records.parts import Foreign, Repositories, Source, build_parts
from lamr_training.sessions.reads import ReadSettings, candidates, record_of, session_logs


@dataclass(frozen=True)
class SessionSettings:
    """Sizes.

    Attributes:
        per_repository, per_task, per_file: most records of a repository, of one user's message, and of a file in it.
        reads: what a read may be.
        seed: of every choice.
    """

    per_repository: int = 150
    per_task: int = 8
    per_file: int = 4
    reads: ReadSettings = field(default_factory=ReadSettings)
    seed: int = 0


def build_sessions(
    repositories: Repositories,
    output: Path,
    *,
    settings: SessionSettings | None = None,
    progress: OnProgress | None = None,
) -> dict[str, int]:
    """Write `train.jsonl`, `validation.jsonl` and `suite.jsonl`, the manifest, and `counts.json`.

    Args:
        repositories: what is read: repositories, and commits of theirs whose files are sessions' logs.
        settings: sizes.
        progress: called with repositories done.

    Returns:
        Number of records in each split.

    Raises:
        CorpusError: a repository may not be used, or lacks its commit.
        DataError: git can't have or read a repository, or `repositories.apart` isn't a file of records.
    """
    sizes = settings or SessionSettings()

    def make(row: Repository, where: Path, foreign: Foreign) -> Iterable[Record]:
        return _repository(row, where, sizes, foreign)

    sources = [Source(make, asdict(sizes), sizes.seed)]
    return build_parts(repositories, output / "sessions.json", sources, progress)


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
