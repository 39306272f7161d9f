"""The manifest of repositories: which, at which commit, under which licence, for which split.

It reads, checks and writes rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from lamr_evaluation.reserved import reserved_repository

from lamr_training.errors import CorpusError
from lamr_training.records.licences import permissive
from lamr_training.records.manifest_rows import bundled_rows, read_rows, write_rows

SPLITS = ("train", "validation", "suite")
_NAME = re.compile(r"[\w-]+/[\w.-]+")
_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class Repository:
    """One row.

    Attributes:
        repository: `owner/name`.
        commit: whose ancestors are read, or whose files are the logs of sessions.
        licence: SPDX names; of several joined by OR one is enough, joined by AND all must be permissive.
        language: the one that most of it is written in.
        split: `train`, `validation`, or `suite` for what evaluations are made of and training never reads.
    """

    repository: str
    commit: str
    licence: str
    language: str
    split: str


def bundled_histories() -> list[Repository]:
    """The repositories that come with the distribution, by split; lamr-mini 0.5 was not trained on them."""
    return bundled_rows("histories.json", Repository)


def bundled_sessions() -> list[Repository]:
    """The repositories with recorded sessions of agents that come with the distribution, by split."""
    return bundled_rows("sessions.json", Repository)


def read_histories(path: Path) -> list[Repository]:
    """Read and check a manifest.

    Raises:
        CorpusError: it can't be read, isn't a manifest, or names a repository that may not be used.
    """
    rows = read_rows(path, Repository)
    check_histories(rows)
    return rows


def write_histories(rows: Iterable[Repository], path: Path) -> None:
    """Write rows as JSON, sorted by split, language and name."""
    write_rows(sorted(rows, key=lambda row: (row.split, row.language, row.repository.lower())), path)


def check_histories(rows: Sequence[Repository]) -> None:
    """Refuse what training may not read.

    Raises:
        CorpusError: with the repository's name and what to do about it.
    """
    seen: set[str] = set()
    for row in rows:
        if not _NAME.fullmatch(row.repository) or not _COMMIT.fullmatch(row.commit):
            raise CorpusError(f"{row.repository} {row.commit}: expected owner/name and a whole commit hash")
        if row.split not in SPLITS:
            raise CorpusError(f"{row.repository}: split {row.split!r}; expected one of {', '.join(SPLITS)}")
        if row.repository.lower() in seen:
            raise CorpusError(f"{row.repository}: twice in the manifest; remove one row")
        seen.add(row.repository.lower())
        if not permissive(row.licence):
            raise CorpusError(
                f"{row.repository}: licence {row.licence!r} isn't one we train on; remove the row"
            )
        reserved = reserved_repository(row.repository)
        if reserved:
            raise CorpusError(
                f"{row.repository}: kept for evaluation (as {reserved.repository}), so that training never sees it; "
                "remove the row"
            )
