"""Writes the records of a manifest's repositories: parts of each repository, then shuffled files of each split.

A repository whose part is there is skipped, so a run goes on where an earlier one ended.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
from lamr_evaluation import histories as git
from lamr_evaluation.mirrors import folder_name
from lamr_evaluation.records import Record, read_records, write_records
from lamr_evaluation.reserved import reserved_path
from lamr_repositories.progress import OnProgress
from numpy.typing import NDArray

from lamr_training.errors import CorpusError
from lamr_training.records.manifest import SPLITS, Repository, check_histories, write_histories

LENGTH = 8
_TOKEN = re.compile(rb"\w+|[^\w\s]")
_FACTORS = np.array([pow(1_000_003, n, 1 << 64) for n in range(LENGTH)], dtype=np.uint64)


def shingles(text: str) -> NDArray[np.uint64]:
    """A number for each run of eight tokens, each once, ascending."""
    codes = np.array(
        [zlib.crc32(token) for token in _TOKEN.findall(text.encode("utf-8", "replace"))], np.uint64
    )
    if codes.size < LENGTH:
        return np.zeros(0, np.uint64)
    mixed = (codes + np.uint64(0x9E3779B9)) * np.uint64(0xFF51AFD7ED558CCD)
    return np.unique(np.lib.stride_tricks.sliding_window_view(mixed, LENGTH) @ _FACTORS)


class Likeness:
    """How much of a text stands in a set of others."""

    def __init__(self, texts: Iterable[str]) -> None:
        parts = [shingles(text) for text in texts]
        self._known = np.unique(np.concatenate(parts)) if parts else np.zeros(0, np.uint64)

    @property
    def digest(self) -> str:
        """Hexadecimal digits that differ where sets do."""
        return hashlib.sha256(self._known.tobytes()).hexdigest()

    def share(self, text: str) -> float:
        """Share of the text's shingles that the set has too, in [0, 1]."""
        own = shingles(text) if self._known.size else self._known
        if not own.size:
            return 0.0
        places = np.minimum(np.searchsorted(self._known, own), self._known.size - 1)
        return float(np.mean(self._known[places] == own))


MOST_LIKE = 0.5
"""Share of a file's runs of eight tokens that evaluation files may have too."""

Foreign = Callable[[str, str], bool]
"""Whether the file at a path, with this code, is an evaluation's."""


@dataclass(frozen=True, eq=False)
class Repositories:
    """What records are made of.

    Attributes:
        rows: the manifest's.
        place: gives the git directory of `owner/name`, as `mirrors.locate` and `mirrors.clone` do.
        apart: a file of evaluation items; files much like one of theirs are left out.
    """

    rows: Sequence[Repository]
    place: Callable[[str], Path]
    apart: Path | None = None

    @cached_property
    def likeness(self) -> Likeness:
        """What tells near-copies of the items in `apart`.

        Raises:
            DataError: `apart` isn't a file of records.
        """
        return Likeness(item.code for item in (read_records(self.apart) if self.apart else ()))

    def foreign(self, path: str, code: str) -> bool:
        """Whether a file is an evaluation's: by its path, or because much of it stands in items of `apart`."""
        return bool(reserved_path(path)) or self.likeness.share(code) > MOST_LIKE


@dataclass(frozen=True)
class Source:
    """What a kind of corpus makes of repositories.

    Attributes:
        make: gives a repository's records, from its git directory and without files of evaluations.
        facts: what JSON can say of how they are made: other facts or another commit make another part.
        seed: of the records' order.
        files: the file of each split; nothing is made of other splits.
        folder: of its parts, below the others'.
    """

    make: Callable[[Repository, Path, Foreign], Iterable[Record]]
    facts: object
    seed: int
    files: Mapping[str, str] = field(default_factory=lambda: {split: f"{split}.jsonl" for split in SPLITS})
    folder: str = ""


def build_parts(
    repositories: Repositories, manifest: Path, sources: Sequence[Source], progress: OnProgress | None = None
) -> dict[str, int]:
    """Write the records of each source, the manifest, and `counts.json`.

    Args:
        repositories: what is read.
        manifest: the file that the rows are written to; the others go beside it.
        sources: what is made of them.
        progress: called with repositories done.

    Returns:
        Number of records in each file, by the file's name without its ending.

    Raises:
        CorpusError: a repository may not be used, or lacks its commit.
        DataError: git can't have or read a repository, or `repositories.apart` isn't a file of records.
    """
    check_histories(repositories.rows)
    output = manifest.parent
    parts: dict[str, list[Path]] = {name: [] for source in sources for name in source.files.values()}
    ordered = sorted(repositories.rows, key=lambda row: row.repository.lower())
    for number, row in enumerate(ordered, 1):
        for source in sources:
            if row.split in source.files:
                parts[source.files[row.split]].append(_part(row, output / "parts", repositories, source))
        if progress:
            progress("repositories", number, len(ordered))
    write_histories(ordered, manifest)
    tables = {
        name.removesuffix(".jsonl"): _join(parts[name], output / name, source.seed)
        for source in sources
        for name in source.files.values()
    }
    (output / "counts.json").write_text(json.dumps(tables, indent=1) + "\n", encoding="utf-8")
    return {name: sum(table["kinds"].values()) for name, table in tables.items()}


def _part(row: Repository, parts: Path, repositories: Repositories, source: Source) -> Path:
    """The file of a repository's records, made if it isn't there."""
    facts = json.dumps([source.facts, repositories.likeness.digest, row.commit], sort_keys=True)
    digest = hashlib.sha256(facts.encode()).hexdigest()[:8]
    part = parts / source.folder / f"{folder_name(row.repository)}.{digest}.jsonl"
    if not part.exists():
        where = repositories.place(row.repository)
        if not git.has_commit(where, row.commit):
            raise CorpusError(f"{where}: lacks commit {row.commit} of {row.repository}; fetch it there")
        part.parent.mkdir(parents=True, exist_ok=True)
        unfinished = part.with_suffix(".partial")
        write_records(source.make(row, where, repositories.foreign), unfinished)
        unfinished.rename(part)
    return part


def _join(parts: Sequence[Path], target: Path, seed: int) -> dict[str, dict[str, int]]:
    """Write the parts' lines in a shuffled order, reading each from its place, and count them."""
    lines: list[tuple[int, int]] = []
    for number, part in enumerate(parts):
        at = 0
        with part.open("rb") as stream:
            for line in stream:
                lines.append((number, at))
                at += len(line)
    random.Random(seed).shuffle(lines)
    counts: dict[str, Counter[str]] = {"kinds": Counter(), "languages": Counter()}
    streams = [part.open("rb") for part in parts]
    with target.open("wb") as written:
        for number, at in lines:
            streams[number].seek(at)
            line = streams[number].readline()
            written.write(line)
            row = _ending(line)
            counts["kinds"][row["kind"]] += 1
            counts["languages"][row["language"]] += 1
    for stream in streams:
        stream.close()
    return {name: dict(sorted(table.items())) for name, table in counts.items()}


def _ending(line: bytes) -> dict[str, str]:
    """What a record's row says after its code, which is most of it; inside texts quotes don't stand bare."""
    return dict(json.loads(b"{" + line[line.rindex(b'"score": ') :]))
