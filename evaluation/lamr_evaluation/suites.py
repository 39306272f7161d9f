"""The suites that a pruner is measured on, built by name from pinned sources.

`questions` is the benchmark in Python. `polyglot` holds written questions about files in ten other languages; `edits`
messages of commits, for which the lines that the commit changed in its parent's file are gold; `sessions` big reads of
recorded agents, for which the lines that the session later needed are. For each item of these, a manifest under `data/`
names repository, commit, path and hash of the file and the gold lines; nobody's code stands in it. No project of theirs
is used for training. This module joins manifests with files; it measures nothing.
"""

from __future__ import annotations

import importlib.resources
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path

from lamr_sessions import FORMATS, BigRead, big_reads, read_events, recognize

from lamr_evaluation.benchmark import build_items
from lamr_evaluation.errors import DataError
from lamr_evaluation.mirrors import Mirrors
from lamr_evaluation.records import Record, iter_rows, parse_row
from lamr_evaluation.wheels import WHEELS

MOST_CHARACTERS = 600
"""Of a read's query: the assistant's words, and of the task what there is room for; a window of 320 tokens takes it."""


@dataclass(frozen=True)
class PinnedItem:
    """One row of a manifest: a query about one version of a file in a public repository.

    Attributes:
        repository, commit, licence: where the file comes from; `owner/name`, a full hash, an SPDX expression.
        language: as the suite's tables name it.
        path, blob: the file in the commit, or before it where the commit's message asks, and git's hash of it.
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


@dataclass(frozen=True)
class PinnedRead:
    """One row of a manifest: a big read in a recorded session.

    Attributes:
        repository, commit, licence: where the session's log lies, and what covers it; see `PinnedItem`.
        language: of the file that was read.
        path, blob: the log in the commit, and git's hash of it.
        call: the tool's call that read the file.
        kind: the host that wrote the log.
        kept_frags: 1-based gold lines of what the call showed.
    """

    repository: str
    commit: str
    licence: str
    language: str
    path: str
    blob: str
    call: str
    kind: str
    kept_frags: tuple[int, ...]


Pinned = PinnedItem | PinnedRead
_FORMS = {frozenset(field.name for field in fields(form)): form for form in (PinnedItem, PinnedRead)}


def read_manifest(path: Path) -> list[Pinned]:
    """The rows of a suite's manifest, each of the form whose fields it has.

    Raises:
        DataError: the file can't be read, or a row is of no form.
    """
    items: list[Pinned] = []
    for number, line in iter_rows(path):
        try:
            row = parse_row(line)
        except ValueError as error:
            raise DataError(f"{path}:{number}: {error}") from error
        form = _FORMS.get(frozenset(row)) if isinstance(row, dict) else None
        if form is None or not isinstance(row["kept_frags"], list):
            forms = " or ".join(", ".join(sorted(names)) for names in _FORMS)
            raise DataError(f"{path}:{number}: expected exactly the fields {forms}")
        items.append(form(**{**row, "kept_frags": tuple(row["kept_frags"])}))
    return items


def manifest(suite: str) -> Path:
    """The bundled manifest of a suite whose files lie in repositories."""
    return Path(str(importlib.resources.files("lamr_evaluation") / "data" / f"{suite}.jsonl"))


def join(items: Sequence[Pinned], mirrors: Mirrors) -> list[Record]:
    """The records of a manifest.

    Raises:
        DataError: a file can't be had or isn't what the item says, or an item doesn't fit its file.
    """
    logs: dict[str, dict[str, BigRead]] = {}
    records = []
    for item in items:
        if isinstance(item, PinnedItem):
            query, code, path = item.query, mirrors.read(item.repository, item.blob), item.path
        else:
            read = _find_read(item, mirrors, logs)
            query, code, path = words_before(read), "\n".join(read.shown.lines) + "\n", read.read.path
        try:
            record = Record(
                query=query,
                code=code,
                kept_frags=item.kept_frags,
                path=path,
                project=item.repository,
                kind=item.kind,
                language=item.language,
            )
        except ValueError as error:
            raise DataError(f"{query!r} on {item.repository}/{path}: {error}") from error
        records.append(record)
    return records


def words_before(read: BigRead, most: int = MOST_CHARACTERS) -> str:
    """What an agent knows when it reads, without a word for the pruner: its own words, and the beginning of the task.

    Args:
        read: with the words before it.
        most: characters. The assistant's words give way to the task down to half of them; their end is kept, since the
            latest sentence speaks of the read.
    """
    own = read.own_words
    room = max(most // 2, most - len(read.task) - 2)
    own = own[-room:].strip()
    task = read.task[: max(0, most - len(own) - 2)].strip()
    return "\n\n".join(filter(None, (own, task))) or read.read.path


def _find_read(item: PinnedRead, mirrors: Mirrors, logs: dict[str, dict[str, BigRead]]) -> BigRead:
    """The read that an item names; `logs` keeps the reads of each log by call."""
    name = f"{item.repository}/{item.path}"
    if item.blob not in logs:
        log = mirrors.read(item.repository, item.blob)
        form = recognize(log, FORMATS)
        if form is None:
            raise DataError(f"{name}: no known host writes such a log")
        logs[item.blob] = {read.call.call: read for read in big_reads(read_events(log, form))}
    if item.call not in logs[item.blob]:
        raise DataError(f"{name}: has no big read by the call {item.call}")
    return logs[item.blob][item.call]


def _from_wheels(cache: Path, mirror: Path | None) -> list[Record]:  # noqa: ARG001 - a builder like the others
    return build_items(cache / WHEELS)


def _from_repositories(suite: str, cache: Path, mirror: Path | None) -> list[Record]:
    mirrors = Mirrors(mirror) if mirror else Mirrors(cache / "repositories", cloning=True)
    return join(read_manifest(manifest(suite)), mirrors)


SUITES: dict[str, Callable[[Path, Path | None], list[Record]]] = {
    "questions": _from_wheels,
    "polyglot": partial(_from_repositories, "polyglot"),
    "edits": partial(_from_repositories, "edits"),
    "sessions": partial(_from_repositories, "sessions"),
}
"""How each suite is built, by name: from a folder for downloads and, perhaps, a folder of bare repositories."""


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
