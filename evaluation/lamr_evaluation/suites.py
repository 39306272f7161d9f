"""The suites that a pruner is measured on, built by name from pinned sources.

`questions` is the benchmark in Python. `polyglot` holds written questions about files in ten other languages; `edits`
messages of commits, for which the lines that the commit changed in its parent's file are gold; `sessions` big reads of
recorded agents, for which the lines that the session later needed are; `contexts` whole issues, for which the lines
that ContextBench's annotators marked are. For each item of these, a manifest under `data/` names repository, commit,
path and hash of the file, and the gold lines unless the source of the query has them; nobody's code stands in it. No
project of theirs is used for training. This module joins manifests with files; it measures nothing.
"""

from __future__ import annotations

import importlib.resources
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, partial
from pathlib import Path

from lamr_sessions import FORMATS, BigRead, big_reads, read_events, recognize

from lamr_evaluation import contextbench
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


@dataclass(frozen=True)
class PinnedIssue:
    """One row of a manifest: a file that an instance of ContextBench has gold lines in.

    Attributes:
        repository, commit, licence, language, path, blob: of the file; see `PinnedItem`.
        instance: ContextBench's name of it. The query is its issue, and the gold lines are its annotators'.
        kind: what sort of text the query is.
    """

    repository: str
    commit: str
    licence: str
    language: str
    path: str
    blob: str
    instance: str
    kind: str


Pinned = PinnedItem | PinnedRead | PinnedIssue
_FORMS = {
    frozenset(field.name for field in fields(form)): form for form in (PinnedItem, PinnedRead, PinnedIssue)
}


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
        gold = row.get("kept_frags", []) if form else None
        if form is None or not isinstance(gold, list):
            forms = " or ".join(", ".join(sorted(names)) for names in _FORMS)
            raise DataError(f"{path}:{number}: expected exactly the fields {forms}")
        items.append(form(**row | ({"kept_frags": tuple(gold)} if "kept_frags" in row else {})))
    return items


def manifest(suite: str) -> Path:
    """The bundled manifest of a suite whose files lie in repositories."""
    return Path(str(importlib.resources.files("lamr_evaluation") / "data" / f"{suite}.jsonl"))


def join(items: Sequence[Pinned], mirrors: Mirrors) -> list[Record]:
    """The records of a manifest.

    Raises:
        DataError: a file can't be had or isn't what the item says, or an item doesn't fit its file.
    """
    sources = _Sources(mirrors)
    records = []
    for item in items:
        text = sources.find(item)
        try:
            record = Record(
                query=text.query,
                code=text.code,
                kept_frags=text.gold,
                path=text.path,
                project=item.repository,
                kind=item.kind,
                language=item.language,
            )
        except ValueError as error:
            raise DataError(f"{text.query!r} on {item.repository}/{text.path}: {error}") from error
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


@dataclass(frozen=True)
class _Found:
    """What a row of a manifest names: a query, a file's path and code, and 1-based gold lines."""

    query: str
    path: str
    code: str
    gold: tuple[int, ...]


class _Sources:
    """Finds what rows of a manifest name; each log, and ContextBench's file, is read once."""

    def __init__(self, mirrors: Mirrors) -> None:
        self._mirrors = mirrors
        self._logs: dict[str, dict[str, BigRead]] = {}

    def find(self, item: Pinned) -> _Found:
        """Find a row's query, file and gold.

        Raises:
            DataError: they can't be had.
        """
        if isinstance(item, PinnedRead):
            read = self._read(item)
            code = "\n".join(read.shown.lines) + "\n"
            return _Found(words_before(read), read.read.path, code, item.kept_frags)
        if isinstance(item, PinnedItem):
            query, gold = item.query, item.kept_frags
        else:
            query, gold = self._annotated(item)
        return _Found(query, item.path, self._mirrors.read(item.repository, item.blob), gold)

    def _annotated(self, item: PinnedIssue) -> tuple[str, tuple[int, ...]]:
        instance = self._instances.get(item.instance)
        if instance is None or item.path not in instance.gold:
            raise DataError(
                f"{item.repository}/{item.path}: ContextBench has no gold there by {item.instance}"
            )
        return instance.issue, instance.gold[item.path]

    @cached_property
    def _instances(self) -> dict[str, contextbench.Instance]:
        data = self._mirrors.read_bytes(contextbench.REPOSITORY, contextbench.BLOB)
        return contextbench.read_instances(data)

    def _read(self, item: PinnedRead) -> BigRead:
        name = f"{item.repository}/{item.path}"
        if item.blob not in self._logs:
            log = self._mirrors.read(item.repository, item.blob)
            form = recognize(log, FORMATS)
            if form is None:
                raise DataError(f"{name}: no known host writes such a log")
            self._logs[item.blob] = {read.call.call: read for read in big_reads(read_events(log, form))}
        if item.call not in self._logs[item.blob]:
            raise DataError(f"{name}: has no big read by the call {item.call}")
        return self._logs[item.blob][item.call]


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
    "contexts": partial(_from_repositories, "contexts"),
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
