"""The result of packing a repository, as plain data."""

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from lamr_base.records import dataclass
from lamr_postprocess import Cut


@dataclass(frozen=True)
class PackedFile:
    """One file of a pack; line numbers are the original's, from 1.

    Attributes:
        path, language: from the root; the language's name.
        lines: how many lines the file has.
        text: what is kept, with a marker for every cut.
        kept_lines: the numbers of the lines in `text`.
        reasons: why each was kept: `semantic` or `repair:<kind>`.
        cuts: the removed runs of lines.
        score: the best score of the file's lines.
        tokens: what the file's part costs in the pack."""

    path: str
    language: str
    lines: int
    text: str
    kept_lines: tuple[int, ...]
    reasons: Mapping[int, str]
    cuts: tuple[Cut, ...]
    score: float
    tokens: int


@dataclass(frozen=True)
class StageSeconds:
    """The seconds that the stages took: fetching a URL; listing, reading and indexing; ranking by words; the line
    model; sharing the budget and writing."""

    fetch: float = 0.0
    index: float = 0.0
    rank: float = 0.0
    model: float = 0.0
    allocate: float = 0.0

    @property
    def total(self) -> float:
        """All stages together."""
        return self.fetch + self.index + self.rank + self.model + self.allocate


@dataclass(frozen=True)
class PackCounts:
    """What was seen on the way.

    Attributes:
        files: files of the repository.
        left_out: how many of them don't compete, by reason.
        ranked: files that compete.
        pieces: the pieces that they were cut into.
        lines: their lines.
        cached_files: how many indexes came from the cache."""

    files: int = 0
    left_out: Mapping[str, int] = field(default_factory=dict)
    ranked: int = 0
    pieces: int = 0
    lines: int = 0
    cached_files: int = 0


@dataclass(frozen=True)
class PackResult:
    """A packed repository.

    Attributes:
        text: the whole pack, in the format that was asked for.
        query: the question.
        files: the files that are in it with at least a line, best first, or in the order of their paths.
        outlined: the paths of the files that it names with their definitions only.
        tokens: how many tokens `text` has.
        max_tokens: the budget.
        tokens_in: about how many tokens the files that compete have, by their bytes.
        counts, seconds: what was seen, and how long it took.
        unseen: how many lines in it have invisible characters; they are as they were.
        notes: what was not done as usual, in sentences."""

    text: str
    query: str
    files: tuple[PackedFile, ...]
    outlined: tuple[str, ...]
    tokens: int
    max_tokens: int
    tokens_in: int
    counts: PackCounts
    seconds: StageSeconds
    unseen: int = 0
    notes: tuple[str, ...] = ()

    def summary(self) -> str:
        """Return a few lines for people: what was packed, what was left out, and where the time went."""
        counts, seconds = self.counts, self.seconds
        kept = sum(len(each.kept_lines) for each in self.files)
        left_out = ", ".join(f"{count:,} {reason}" for reason, count in counts.left_out.items())
        fetched = f"fetch {seconds.fetch:.1f}, " if seconds.fetch else ""
        rows = [
            f"packed: {kept:,} of {counts.lines:,} lines in {len(self.files):,} of {counts.ranked:,} files · "
            f"about {self.tokens_in:,} → {self.tokens:,} tokens of {self.max_tokens:,} · "
            f"{len(self.outlined):,} files outlined",
            f"{counts.files:,} files: {counts.ranked:,} ranked in {counts.pieces:,} pieces"
            + (f"; left out {left_out}" if left_out else ""),
            f"{seconds.total:.1f} s: {fetched}index {seconds.index:.1f}, rank {seconds.rank:.1f}, "
            f"model {seconds.model:.1f}, write {seconds.allocate:.1f}"
            + (f" · from the cache: {counts.cached_files:,} indexes" if counts.cached_files else ""),
            *self.notes,
        ]
        return "\n".join(rows)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name, in JSON's types: `reasons` by line as a string, cuts as `{start, end}`."""
        data = dataclasses.asdict(self)
        for row in data["files"]:
            row["kept_lines"] = list(row["kept_lines"])
            row["reasons"] = {str(line): reason for line, reason in row["reasons"].items()}
            row["score"] = round(row["score"], 4)
        data["seconds"] = {name: round(value, 4) for name, value in data["seconds"].items()}
        return data

    def to_json(self) -> str:
        """Return `to_dict` as one line of JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False)
