"""The suites that a pruner is measured on, built by name from pinned sources.

`questions` is the benchmark in Python. `polyglot` holds written questions about files in ten other languages, and
`edits` messages of commits, for which the lines that the commit changed in its parent's file are gold. For each item
of those two, a manifest under `data/` names repository, commit, path and hash of the file and the gold lines; nobody's
code stands in it. No project of theirs is used for training. This module joins manifests with files; it measures
nothing.
"""

from __future__ import annotations

import importlib.resources
import os
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path

from lamr_evaluation.benchmark import build_items
from lamr_evaluation.errors import DataError
from lamr_evaluation.mirrors import Mirrors
from lamr_evaluation.records import Record, iter_rows, parse_row
from lamr_evaluation.wheels import WHEELS


@dataclass(frozen=True)
class PinnedItem:
    """One row of a manifest: a query about one version of a file in a public repository.

    Attributes:
        repository, commit, licence: where the file comes from; `owner/name`, a full hash, an SPDX expression.
        language: as the suite's tables name it.
        path, blob: the file in the commit, and git's hash of it.
        query, kind: the question, and what sort of question it is.
        kept_frags: 1-based gold lines.
    """

    repository: str
    commit: str
    licence: str
    language: str
    path: str
    blob: str
    query: str
    kind: str
    kept_frags: tuple[int, ...]


_FIELDS = frozenset(field.name for field in fields(PinnedItem))


def read_manifest(path: Path) -> list[PinnedItem]:
    """The rows of a suite's manifest.

    Raises:
        DataError: the file can't be read, or a row isn't of the form.
    """
    items = []
    for number, line in iter_rows(path):
        try:
            row = parse_row(line)
        except ValueError as error:
            raise DataError(f"{path}:{number}: {error}") from error
        if not isinstance(row, dict) or row.keys() != _FIELDS or not isinstance(row["kept_frags"], list):
            raise DataError(f"{path}:{number}: expected exactly the fields {', '.join(sorted(_FIELDS))}")
        items.append(PinnedItem(**{**row, "kept_frags": tuple(row["kept_frags"])}))
    return items


def manifest(suite: str) -> Path:
    """The bundled manifest of a suite whose files lie in repositories."""
    return Path(str(importlib.resources.files("lamr_evaluation") / "data" / f"{suite}.jsonl"))


def join(items: list[PinnedItem], mirrors: Mirrors) -> list[Record]:
    """The records of a manifest.

    Raises:
        DataError: a file can't be had, or an item doesn't fit its file.
    """
    records = []
    for item in items:
        code = mirrors.read(item.repository, item.blob)
        try:
            record = Record(
                query=item.query,
                code=code,
                kept_frags=item.kept_frags,
                path=item.path,
                project=item.repository,
                kind=item.kind,
                language=item.language,
            )
        except ValueError as error:
            raise DataError(f"{item.query!r} on {item.repository}/{item.path}: {error}") from error
        records.append(record)
    return records


def _questions(cache: Path, mirror: Path | None) -> list[Record]:  # noqa: ARG001 - its files lie in wheels
    return build_items(cache / WHEELS)


def _of_manifest(suite: str) -> Callable[[Path, Path | None], list[Record]]:
    def build(cache: Path, mirror: Path | None) -> list[Record]:
        mirrors = Mirrors(mirror) if mirror else Mirrors(cache / "repositories", cloning=True)
        return join(read_manifest(manifest(suite)), mirrors)

    return build


SUITES: dict[str, Callable[[Path, Path | None], list[Record]]] = {
    "questions": _questions,
    "polyglot": _of_manifest("polyglot"),
    "edits": _of_manifest("edits"),
}
"""How each suite is built, by name: from a folder for downloads and, perhaps, a folder of bare repositories."""


def default_cache() -> Path:
    """Where suites keep what they download: `lamr` in the user's cache folder."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lamr"


def build_suite(name: str, cache: Path, mirror: Path | None = None) -> list[Record]:
    """The records of a suite.

    Args:
        name: one of `SUITES`.
        cache: folder for downloads, kept for the next time.
        mirror: folder of bare repositories named `owner+name`; without it, repositories are cloned into `cache`.

    Raises:
        DataError: there is no such suite, or a source of it can't be had.
    """
    if name not in SUITES:
        raise DataError(f"no suite is called {name!r}; there are {', '.join(SUITES)}")
    return SUITES[name](cache, mirror)
