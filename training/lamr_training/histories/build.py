"""Makes records out of a manifest of repositories; the same manifest and settings give the same files.

They are of histories, of what files say of themselves (`made`), and of questions that come with lamr (`written`).
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path

from lamr_evaluation import histories as git
from lamr_evaluation.records import Record
from lamr_repositories.progress import OnProgress

from lamr_training.errors import CorpusError
from lamr_training.histories.asked import SHARES, records
from lamr_training.histories.edits import EditSettings, candidates, edits
from lamr_training.made.build import made_records
from lamr_training.made.kinds import KINDS
from lamr_training.made.settings import MadeSettings
from lamr_training.records.manifest import Repository, bundled_histories
from lamr_training.records.parts import Foreign, Repositories, Source, build_parts
from lamr_training.records.paths import shown_language, source_language
from lamr_training.records.source_files import FileLimits, SourceFile, decoded
from lamr_training.records.written import ABOUT_HISTORIES, WRITTEN, bundled_questions, written_records

MADE = {"train": "made.jsonl", "validation": "made-validation.jsonl"}
"""The file of made questions about each split's repositories."""
_READ = 3
"""Files read for each made question that is wanted: some give none."""


@dataclass(frozen=True)
class HistorySettings:
    """Sizes.

    Attributes:
        per_repository: edits taken from one repository; each gives one record and some more of other kinds.
        edits: what an edit may be.
        made: sizes of made questions.
        seed: of every choice.
    """

    per_repository: int = 400
    edits: EditSettings = field(default_factory=EditSettings)
    made: MadeSettings = field(default_factory=MadeSettings)
    seed: int = 0


def build_histories(
    repositories: Repositories,
    output: Path,
    *,
    settings: HistorySettings | None = None,
    progress: OnProgress | None = None,
) -> dict[str, int]:
    """Write records of each sort, the manifest, and `counts.json`.

    `train.jsonl`, `validation.jsonl` and `suite.jsonl` hold histories, `made.jsonl` and `made-validation.jsonl` made
    questions, and written ones go to the files that `WRITTEN` names.

    Returns:
        Number of records in each file, by the file's name without its ending.

    Raises:
        CorpusError: a repository may not be used, or lacks its commit.
        DataError: git can't have or read a repository, or `repositories.apart` isn't a file of records.
    """
    settings = settings or HistorySettings()
    sources = [_histories(settings), _made(settings.made), _written(settings.seed)]
    return build_parts(repositories, output / "histories.json", sources, progress)


def _histories(settings: HistorySettings) -> Source:
    def make(row: Repository, where: Path, foreign: Foreign) -> Iterable[Record]:
        known: dict[str, bool] = {}

        def foreign_once(path: str, code: str) -> bool:
            if path not in known:  # versions of one file are about as like to another one
                known[path] = foreign(path, code)
            return known[path]

        chosen = candidates(git.commits(where, row.commit), settings.edits)
        found = list(islice(edits(where, chosen, settings.edits, foreign_once), settings.per_repository))
        return records(found, row, settings.seed)

    own = asdict(settings)
    del own["made"]
    return Source(make, [own, SHARES], settings.seed)


def _made(settings: MadeSettings) -> Source:
    def make(row: Repository, where: Path, foreign: Foreign) -> Iterable[Record]:
        rng = random.Random(f"{settings.seed}:{row.repository}:files")
        files = own_files(row, where, _READ * settings.per_project, settings, rng)
        own = (file for file in files if not foreign(file.path, file.text))
        return made_records(row.repository, own, settings)

    shares = {name: share for name, (_, share) in KINDS.items()}
    return Source(make, [asdict(settings), shares], settings.seed, MADE, "made")


def _written(seed: int) -> Source:
    questions = bundled_questions(ABOUT_HISTORIES)
    pinned = set(bundled_histories())  # the questions are about these commits

    def make(row: Repository, where: Path, _: Foreign) -> Iterable[Record]:
        asked = [each for each in questions if each.project == row.repository] if row in pinned else []
        return written_records(files_at(row, where, {each.path for each in asked}), asked) if asked else []

    digest = hashlib.sha256(repr(questions).encode()).hexdigest()
    return Source(make, digest, seed, WRITTEN, "written")


def own_files(
    row: Repository, place: Path, most: int, limits: FileLimits, rng: random.Random
) -> Iterator[SourceFile]:
    """A sample of a repository's own source files, in a random order.

    Raises:
        DataError: git can't read the repository.
    """
    small = [
        (path, blob)
        for path, blob, size in git.files(place, row.commit)
        if size <= limits.max_characters and source_language(path)
    ]
    return _read(row, place, rng.sample(small, min(len(small), most)))


def files_at(row: Repository, place: Path, paths: Iterable[str]) -> Iterator[SourceFile]:
    """Certain files of a repository, by path.

    Raises:
        CorpusError: the repository lacks one.
        DataError: git can't read the repository.
    """
    blobs = {path: blob for path, blob, _ in git.files(place, row.commit)}
    wanted = sorted(set(paths))
    files = {file.path: file for file in _read(row, place, [(p, blobs[p]) for p in wanted if p in blobs])}
    for path in wanted:
        if path not in files:
            raise CorpusError(f"{row.repository}: {place} lacks {path} at {row.commit}; fetch it whole")
        yield files[path]


def _read(row: Repository, place: Path, chosen: list[tuple[str, str]]) -> Iterator[SourceFile]:
    contents = git.blobs(place, (blob for _, blob in chosen))
    for path, blob in chosen:
        text = decoded(contents.get(blob, b"\0"))
        if text is not None:
            known = source_language(path)
            language = shown_language(known.name, row.language) if known else row.language
            yield SourceFile(row.repository, path, text, row.split, language, row.commit[:12])
