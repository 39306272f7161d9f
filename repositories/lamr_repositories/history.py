"""What past changes say about a question: who asks for a change is often answered by files that a like one changed.

Messages of past commits are ranked for the question by BM25, and a file has the rank of the best one that changed it.
This module knows commits' messages and paths; it reads no file and no difference.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np
from lamr_contract.arrays import Float64Array
from lamr_contract.bm25 import idf, saturated
from lamr_contract.words import TermIndex, query_terms

from lamr_repositories.git import run_git
from lamr_repositories.lexical import RARITY

MOST_CHANGES = 2000
MOST_FILES = 30
"""Commits that change more files say nothing of any."""
_OFFLINE = {"GIT_NO_LAZY_FETCH": "1"}
"""A clone without all of its objects would fetch each that is missing."""
_FORMAT = "--format=%x00=%B"  # the sign keeps an empty message from looking like the end of a list of files


@dataclass(frozen=True, slots=True)
class Change:
    """A commit's message, and the files that it changed, from the root of what is packed."""

    message: str
    paths: tuple[str, ...]


def past_changes(
    revision: str, *, place: Path | None = None, folder: Path | None = None, prefix: str = ""
) -> list[Change]:
    """Return the last changes before and at a revision, newest first; none where git knows no history.

    Merges are left out. Nothing is fetched.

    Args:
        revision: a commit, or `HEAD`.
        place, folder: see `run_git`.
        prefix: the folder in the repository whose files count, with a slash at its end; with a `folder` its own.
    """
    options = (
        "--encoding=UTF-8",
        "--no-merges",
        "--no-renames",
        "--no-show-signature",
        "-z",
        "--name-only",
        _FORMAT,
    )
    inside = (f"--relative={prefix}",) if prefix else ("--relative",) if folder else ()
    paths = (f":(top,literal){prefix}",) if prefix else (".",) if folder else ()
    done = run_git(
        "log",
        *options,
        f"--max-count={MOST_CHANGES}",
        *inside,
        revision,
        "--",
        *paths,
        place=place,
        folder=folder,
        check=False,
        environment=_OFFLINE,
    )
    return [] if done.returncode else list(_changes(done.stdout))


def _changes(log: bytes) -> Iterator[Change]:
    """Yield the changes of a log: empty fields stand between commits, whose first field is the message."""
    for empty, fields in groupby(log.split(b"\0"), key=lambda each: not each):
        if not empty:
            message, *paths = fields
            named = tuple(os.fsdecode(path.removeprefix(b"\n")) for path in paths)
            yield Change(message[1:].decode("utf-8", "replace"), named)


def rank_by_history(query: str, changes: Sequence[Change], files: Sequence[str]) -> Float64Array:
    """Return for each of F files how like the query the likest change of it was, float64 [F]: from 0 to 1.

    A change of n of the files counts by the square root of n less: it says less of each.

    Args:
        query: what is looked for.
        changes: see `past_changes`.
        files: the files' paths.
    """
    scores = np.zeros(len(files))
    asked = query_terms(query)
    place = {path: at for at, path in enumerate(files)}
    told = [(each, [place[path] for path in each.paths if path in place]) for each in changes]
    told = [(each, known) for each, known in told if known and len(each.paths) <= MOST_FILES]
    if not asked or not told:
        return scores
    likeness = _likeness(asked, [each.message for each, _ in told])
    sizes = np.array([len(known) for _, known in told])
    owners = np.concatenate([known for _, known in told])
    np.maximum.at(scores, owners, np.repeat(likeness / np.sqrt(sizes), sizes))
    return scores


def _likeness(asked: Sequence[str], messages: Sequence[str]) -> Float64Array:
    """Return BM25 of each of N messages for terms, float64 [N], the best being 1; all 0 where none has a term."""
    lines = "\n".join(" ".join(message.split()) for message in messages)
    counts = TermIndex(lines, len(messages)).counts(asked)
    found: Float64Array = saturated(counts.lines, counts.lengths) @ idf(counts.lines) ** RARITY
    best = float(found.max())
    return found / best if best > 0 else found
