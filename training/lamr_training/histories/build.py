"""Makes records out of a manifest of repositories; the same manifest and settings give the same files.

They are of histories, of what files say of themselves (`made`), and of questions that come with the package.
This module knows settings; files and counts are `parts`' matter, commits and questions the others'.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from lamr_evaluation.records import Record

from lamr_training.corpus.fetch import Progress
from lamr_training.corpus.written import ABOUT_HISTORIES, WRITTEN, bundled_questions
from lamr_training.histories import git
from lamr_training.histories.asked import SHARES, records
from lamr_training.histories.edits import EditSettings, candidates, edits
from lamr_training.histories.manifest import Repository, bundled_histories
from lamr_training.histories.parts import Foreign, Source, build_parts, digest_of, evaluations, file_digest
from lamr_training.made.asked_files import written_about
from lamr_training.made.build import MADE, MadeSettings, made_records
from lamr_training.made.kinds import KINDS


@dataclass(frozen=True)
class HistorySettings:
    """Sizes.

    Attributes:
        per_repository: edits taken from one repository; each gives one record and some more of other kinds.
        edits: what an edit may be.
        made: sizes of made questions.
        apart: a file of evaluation items; files much like one of theirs are left out.
        seed: of every choice.
    """

    per_repository: int = 400
    edits: EditSettings = field(default_factory=EditSettings)
    made: MadeSettings = field(default_factory=MadeSettings)
    apart: Path | None = None
    seed: int = 0

    def digest(self, row: Repository) -> str:
        """Names a repository's part: another commit or other settings make another one."""
        own = asdict(replace(self, apart=None))
        del own["made"]
        return self._digest(own, SHARES, row)

    def digest_made(self, row: Repository) -> str:
        """Names a repository's part of made questions."""
        return self._digest(asdict(self.made), {name: share for name, (_, share) in KINDS.items()}, row)

    def _digest(self, own: dict[str, Any], shares: dict[str, float], row: Repository) -> str:
        return digest_of(own, self._apart_digest, shares, row.commit)

    @cached_property
    def _apart_digest(self) -> str:
        return file_digest(self.apart)


def build_histories(
    rows: Sequence[Repository],
    output: Path,
    place: Callable[[str], Path],
    *,
    settings: HistorySettings | None = None,
    progress: Progress | None = None,
) -> dict[str, int]:
    """Write records of each sort, the manifest, and `counts.json`.

    `train.jsonl`, `validation.jsonl` and `suite.jsonl` hold histories, `made.jsonl` and `made-validation.jsonl` made
    questions, and written ones go to the files that `WRITTEN` names.

    Args:
        rows: the manifest.
        place: gives the git directory of `owner/name`, as `mirrors.locate` and `mirrors.clone` do.
        settings: sizes.
        progress: called with repositories done.

    Returns:
        Number of records in each file, by the file's name without its ending.

    Raises:
        CorpusError: a repository may not be used, or lacks its commit.
        DataError: git can't have or read a repository, or `settings.apart` isn't a file of records.
    """
    settings = settings or HistorySettings()
    foreign = evaluations(settings.apart)
    sources = [_histories(settings, foreign), _made(settings, foreign), _written(settings.seed)]
    return build_parts(rows, output / "histories.json", place, sources, progress)


def _histories(settings: HistorySettings, foreign: Foreign) -> Source:
    def make(row: Repository, where: Path) -> Iterable[Record]:
        known: dict[str, bool] = {}

        def foreign_once(path: str, code: str) -> bool:
            if path not in known:  # versions of one file are about as like to another one
                known[path] = foreign(path, code)
            return known[path]

        chosen = candidates(git.commits(where, row.commit), settings.edits)
        found = list(islice(edits(where, chosen, settings.edits, foreign_once), settings.per_repository))
        return records(found, row, settings.seed)

    return Source(make, settings.digest, settings.seed)


def _made(settings: HistorySettings, foreign: Foreign) -> Source:
    def make(row: Repository, where: Path) -> Iterable[Record]:
        return made_records(row, where, settings.made, foreign)

    return Source(make, settings.digest_made, settings.seed, MADE, "made")


def _written(seed: int) -> Source:
    questions = bundled_questions(ABOUT_HISTORIES)
    digest = hashlib.sha256(repr(questions).encode()).hexdigest()[:8]
    pinned = set(bundled_histories())  # the questions are about these commits

    def make(row: Repository, where: Path) -> Iterable[Record]:
        return written_about(row, where, questions) if row in pinned else []

    return Source(make, lambda row: f"{digest}-{row.commit[:8]}", seed, WRITTEN, "written")
