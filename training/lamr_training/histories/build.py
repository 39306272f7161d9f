"""Makes records out of a manifest of histories; the same manifest and settings give the same files.

This module knows settings; files and counts are `parts`' matter, commits and questions the others'.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from pathlib import Path

from lamr_evaluation.records import Record

from lamr_training.corpus.fetch import Progress
from lamr_training.histories import git
from lamr_training.histories.asked import SHARES, records
from lamr_training.histories.edits import EditSettings, candidates, edits
from lamr_training.histories.manifest import Repository
from lamr_training.histories.parts import Source, build_parts, evaluations


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
    settings = settings or HistorySettings()
    known: dict[tuple[str, str], bool] = {}
    of_evaluations = evaluations(settings.apart)

    def make(row: Repository, where: Path) -> Iterable[Record]:
        def foreign(path: str, code: str) -> bool:
            key = (row.repository, path)
            if key not in known:  # versions of one file are about as like to another one
                known[key] = of_evaluations(path, code)
            return known[key]

        chosen = candidates(git.commits(where, row.commit), settings.edits)
        found = list(islice(edits(where, chosen, settings.edits, foreign), settings.per_repository))
        return records(found, row, settings.seed)

    source = Source(make, settings.digest, "histories.json", settings.seed)
    return build_parts(rows, output, place, source, progress)
