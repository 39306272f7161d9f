"""The suites that a pruner is measured on, built by name from pinned sources.

`questions` asks about files of Python packages; `polyglot` about files in ten other languages; `edits` holds messages
of commits, with the lines that the commit changed; `sessions` big reads of recorded agents, with the lines that the
session later needed; `contexts` issues, with the lines that ContextBench's annotators marked. A manifest under `data/`
names each item's file with its hash. ContextBench (Apache-2.0) is read where its own file lies, pinned by git's
hash."""

from __future__ import annotations

import importlib.resources
import io
import json
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any

from lamr_agents.sessions import FORMATS, BigRead, big_reads, read_events, recognize
from lamr_postprocess.lines import split_lines
from lamr_repositories.batch.formats import FORMATS as TABLES

from lamr_evaluation.errors import DataError
from lamr_evaluation.mirrors import Mirrors
from lamr_evaluation.records import Record, read_rows
from lamr_evaluation.wheels import WHEELS, WheelCache

CONTEXTBENCH = "Nobbettt/ContextBench"
CONTEXTBENCH_BLOB = "7f4ed829cfe0ded594f2d9a07f921f4c2bf57c37"
"""`data/contextbench_verified_test.parquet`; its sibling `test.parquet` has the same 50 instances."""

_CONTAINER = re.compile(r"/(?:workspace/[^/]+|testbed)/")
"""Before the path of a file: the folder of the container that some annotators worked in."""


@dataclass(frozen=True)
class Instance:
    """One issue and its gold."""

    issue: str  # its whole text
    gold: dict[str, tuple[int, ...]]  # 1-based gold lines by file, ascending


def read_instances(data: bytes) -> dict[str, Instance]:
    """The instances of the benchmark's Parquet file by name."""
    try:
        return {row["instance_id"]: _instance(row) for row in TABLES["parquet"].rows(io.BytesIO(data))}
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"ContextBench's file isn't of the form that is expected here: {error!r}") from error


def _instance(row: dict[str, Any]) -> Instance:
    lines: defaultdict[str, set[int]] = defaultdict(set)
    for context in json.loads(row["gold_context"]):
        path = _CONTAINER.sub("", context["file"], count=1)
        lines[path].update(range(context["start_line"], context["end_line"] + 1))
    return Instance(row["problem_statement"], {path: tuple(sorted(gold)) for path, gold in lines.items()})


SUITES = ("questions", "polyglot", "edits", "sessions", "contexts")
"""The names of the suites of files, which are those of their manifests."""
MOST_CHARACTERS = 600
"""Of a read's query: the assistant's words, and of the task what there is room for; a window of 320 tokens takes it."""


@dataclass(frozen=True)
class PinnedQuestion:
    """One row of a manifest: a question about a file of a published wheel."""

    project: str  # the package's name and version on the package index
    version: str
    path: str  # the file in its wheel, and the SHA-256 of its bytes in hex
    sha256: str
    query: str  # the question, and what sort of question it is
    kind: str
    cut: tuple[int, ...]  # 1-based lines that are taken out of the file, because they give the answer away
    kept_frags: tuple[int, ...]  # 1-based gold lines of what is left

    def record(self, sources: Sources) -> Record:
        text = sources.wheels.read(self.project, self.version, self.path, self.sha256)
        lines = [line for number, line in enumerate(split_lines(text), 1) if number not in self.cut]
        return Record(
            self.query, "".join(lines), self.kept_frags, path=self.path, project=self.project, kind=self.kind
        )


@dataclass(frozen=True)
class _InRepository:
    """What rows about files in public repositories have in common."""

    repository: str  # where the file comes from; `owner/name`, a full hash, an SPDX expression
    commit: str
    licence: str
    language: str  # as the suite's tables name it
    path: str  # the file in the commit, or before it where the commit's message asks, and git's hash of it
    blob: str
    kind: str  # what sort of text the query is


@dataclass(frozen=True)
class PinnedItem(_InRepository):
    """One row of a manifest: a query about one version of a file in a public repository."""

    query: str
    kept_frags: tuple[int, ...]  # 1-based gold lines

    def record(self, sources: Sources) -> Record:
        """The question with its file."""
        return sources.file(self, self.query, self.kept_frags)


@dataclass(frozen=True)
class PinnedRead(_InRepository):
    """One row of a manifest: a big read in a recorded session."""

    call: str
    kept_frags: tuple[int, ...]

    def record(self, sources: Sources) -> Record:
        """What the call showed, asked for in the agent's words."""
        read = sources.read(self)
        about: dict[str, Any] = {"path": read.read.path, "project": self.repository, "kind": self.kind}
        about |= {"language": self.language, "history": read.history}
        return Record(words_before(read), "\n".join(read.shown.lines) + "\n", self.kept_frags, **about)


@dataclass(frozen=True)
class PinnedIssue(_InRepository):
    """One row of a manifest: a file that an instance of ContextBench has gold lines in."""

    instance: str  # ContextBench's name of it. The query is its issue, and the gold lines are its annotators'

    def record(self, sources: Sources) -> Record:
        instance = sources.instances.get(self.instance)
        if instance is None or self.path not in instance.gold:
            raise DataError(
                f"{self.repository}/{self.path}: ContextBench has no gold there by {self.instance}"
            )
        return sources.file(self, instance.issue, instance.gold[self.path])


Pinned = PinnedQuestion | PinnedItem | PinnedRead | PinnedIssue
_TYPES = (PinnedQuestion, PinnedItem, PinnedRead, PinnedIssue)
_FORMS = {frozenset(each.name for each in fields(form)): form for form in _TYPES}


@dataclass(frozen=True)
class Sources:
    """Where the files of manifests come from."""

    mirrors: Mirrors  # the files of repositories and of packages
    wheels: WheelCache
    _logs: dict[str, dict[str, BigRead]] = field(default_factory=dict)

    @cached_property
    def instances(self) -> dict[str, Instance]:
        """ContextBench's instances, by name."""
        return read_instances(self.mirrors.read_bytes(CONTEXTBENCH, CONTEXTBENCH_BLOB))

    def file(self, item: PinnedItem | PinnedIssue, query: str, kept_frags: tuple[int, ...]) -> Record:
        """What is asked about the file that an item names, and the lines that answer."""
        text = self.mirrors.read(item.repository, item.blob)
        about = {name: getattr(item, name) for name in ("path", "kind", "language")}
        return Record(query, text, kept_frags, project=item.repository, **about)

    def read(self, item: PinnedRead) -> BigRead:
        """The read that an item names; the reads of a log are found once."""
        name = f"{item.repository}/{item.path}"
        if item.blob not in self._logs:
            log = self.mirrors.read(item.repository, item.blob)
            form = recognize(log, FORMATS)
            if form is None:
                raise DataError(f"{name}: no known host writes such a log")
            self._logs[item.blob] = {read.call.call: read for read in big_reads(read_events(log, form))}
        if item.call not in self._logs[item.blob]:
            raise DataError(f"{name}: has no big read by the call {item.call}")
        return self._logs[item.blob][item.call]


def read_manifest(path: Path) -> list[Pinned]:
    """The rows of a suite's manifest, each of the form whose fields it has."""
    return list(read_rows(path, _pinned))


def _pinned(row: Any, _number: int) -> Pinned:
    form = _FORMS.get(frozenset(row)) if isinstance(row, dict) else None
    if form is None or not isinstance(row.get("kept_frags", []), list):
        forms = " or ".join(", ".join(sorted(names)) for names in _FORMS)
        raise ValueError(f"expected exactly the fields {forms}")
    fitting: Any = {name: tuple(value) if isinstance(value, list) else value for name, value in row.items()}
    return form(**fitting)


def manifest(suite: str) -> Path:
    """The bundled manifest of a suite."""
    return Path(str(importlib.resources.files("lamr_evaluation") / "data" / f"{suite}.jsonl"))


def join(items: Sequence[Pinned], sources: Sources) -> list[Record]:
    """The records of a manifest."""
    records = []
    for item in items:
        try:
            records.append(item.record(sources))
        except DataError:
            raise
        except ValueError as error:
            raise DataError(f"the {item.kind} item about {item.path}: {error}") from error
    return records


def words_before(read: BigRead, most: int = MOST_CHARACTERS) -> str:
    """What an agent knows when it reads, without a word for the pruner: its own words and the beginning of the task."""
    own = read.own_words
    room = max(most // 2, most - len(read.task) - 2)
    own = own[-room:].strip()
    task = read.task[: max(0, most - len(own) - 2)].strip()
    return "\n\n".join(filter(None, (own, task))) or read.read.path


def build_suite(name: str, cache: Path, mirror: Path | None = None) -> list[Record]:
    """The records of a suite.

    Args:
        name: one of `SUITES`.
        cache: folder for downloads, kept for the next time.
        mirror: folder of bare repositories named `owner+name`; without it, repositories are cloned into `cache`.

    Raises:
        DataError: there is no such suite, or a source of it can't be had."""
    if name not in SUITES:
        raise DataError(f"no suite is called {name!r}; there are {', '.join(SUITES)}")
    mirrors = Mirrors(mirror) if mirror else Mirrors(cache / "repositories", cloning=True)
    return join(read_manifest(manifest(name)), Sources(mirrors, WheelCache(cache / WHEELS)))
