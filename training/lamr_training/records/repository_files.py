"""Source files of a repository, read at the commit that the manifest pins."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from pathlib import Path

from lamr_evaluation import histories as git

from lamr_training.errors import CorpusError
from lamr_training.records.manifest import Repository
from lamr_training.records.paths import shown_language, source_language
from lamr_training.records.source_files import FileLimits, SourceFile, decoded


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
