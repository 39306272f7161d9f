"""Records of written questions about a repository's files, read at the commit that the manifest pins."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from lamr_evaluation.records import Record

from lamr_training.corpus.fetch import SourceFile
from lamr_training.corpus.written import WrittenQuestion, written_records
from lamr_training.errors import CorpusError
from lamr_training.histories import git
from lamr_training.histories.manifest import Repository
from lamr_training.histories.paths import shown_language, source_language


def written_about(row: Repository, place: Path, questions: Iterable[WrittenQuestion]) -> list[Record]:
    """Those of the questions that are about a repository's files, as records in the order of the files' paths.

    Raises:
        CorpusError: the repository lacks a file that is asked about, or a question names lines that it lacks.
        DataError: git can't read the repository.
    """
    own = [question for question in questions if question.project == row.repository]
    return written_records(_files(row, place, {question.path for question in own}), own) if own else []


def _files(row: Repository, place: Path, paths: set[str]) -> Iterator[SourceFile]:
    blobs = {path: blob for path, blob, _ in git.files(place, row.commit) if path in paths}
    contents = git.blobs(place, blobs.values())
    for path in sorted(paths):
        if blobs.get(path) not in contents:
            raise CorpusError(f"{row.repository}: {place} lacks {path} at {row.commit}; fetch it whole")
        text = contents[blobs[path]].decode("utf-8-sig").replace("\r\n", "\n")
        known = source_language(path)
        language = shown_language(known.name, row.language) if known else row.language
        yield SourceFile(row.repository, path, text, row.split, language)
