"""Adds replayed sessions up, and writes them as tables and as JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lamr_evaluation.tables import align

from lamr_agents.replay.session import Kept, Replayed, ReplayedRead
from lamr_agents.replay.yardsticks import YARDSTICKS

OURS = "lamr"


@dataclass(frozen=True)
class Total:
    """What pruning comes to in one session or in several.

    Attributes:
        sessions, reads: how many; the reads are the big ones.
        pruned: reads of which something was cut.
        tokens: of all big reads, and of those that were pruned.
        cut: tokens that were cut, markers and notes counted.
        needed, kept: lines of the pruned reads that were needed later, and how many of them were kept.
        fetched_again: pruned reads of which something would have had to be fetched again.
        bill: dollars for the sessions as they were.
        saved, fetching, pruning: dollars that cuts save, and that fetching again and pruning cost.
    """

    sessions: int
    reads: int
    pruned: int
    tokens: int
    tokens_pruned: int
    cut: int
    needed: int
    kept: int
    fetched_again: int
    bill: float
    saved: float
    fetching: float
    pruning: float

    @property
    def net(self) -> float:
        """Dollars that pruning saves after all that it costs."""
        return self.saved - self.fetching - self.pruning


def total(sessions: Sequence[Replayed]) -> Total:
    """Add sessions up."""
    reads = [read for session in sessions for read in session.reads]
    cut = [read for read in reads if read.skim.cut]
    return Total(
        sessions=len(sessions),
        reads=len(reads),
        pruned=len(cut),
        tokens=sum(read.skim.tokens_in for read in reads),
        tokens_pruned=sum(read.skim.tokens_in for read in cut),
        cut=sum(read.skim.tokens_in - read.skim.tokens_out for read in cut),
        needed=sum(len(read.later.lines) for read in cut),
        kept=sum(read.kept.needed for read in cut),
        fetched_again=sum(read.kept.fetched_again for read in cut),
        bill=sum(session.bill for session in sessions),
        saved=sum(read.saved for read in reads),
        fetching=sum(read.fetching for read in reads),
        pruning=sum(session.pruning for session in sessions),
    )


@dataclass(frozen=True)
class Report:
    """Replayed sessions, and the files that were none.

    Attributes:
        sessions: in the order of their files.
        passed_over: files that no known host wrote, or that hold no request.
    """

    sessions: tuple[Replayed, ...]
    passed_over: tuple[Path, ...] = ()

    def table(self) -> str:
        """Tables for a terminal: the sessions, the ways to cut, and why reads passed."""
        parts = [_session_table(self.sessions), _yardstick_table(self._cut()), _reason_table(self._reads())]
        estimated = sum(not session.accounted for session in self.sessions)
        if estimated:
            parts.append(
                f"{estimated} of {len(self.sessions)} bills are estimated: their logs keep no accounts."
            )
        if self.passed_over:
            parts.append(f"{len(self.passed_over)} files are no log of a known host.")
        return "\n\n".join(filter(None, parts))

    def to_json(self) -> str:
        """Everything but the texts, as one JSON object."""
        value = {
            "total": _with_net(total(self.sessions)),
            "ways": {name: _way(name, self._cut()) for name in (OURS, *YARDSTICKS)},
            "reasons": dict(Counter(read.skim.reason for read in self._reads()).most_common()),
            "sessions": [_as_dict(session) for session in self.sessions],
            "passed_over": [str(path) for path in self.passed_over],
        }
        return json.dumps(value, ensure_ascii=False, indent=1)

    def _reads(self) -> list[ReplayedRead]:
        return [read for session in self.sessions for read in session.reads]

    def _cut(self) -> list[ReplayedRead]:
        return [read for read in self._reads() if read.skim.cut]


def share(part: float, whole: float) -> str:
    """A percentage; a dash where there is nothing to have a share of."""
    return f"{100 * part / whole:.1f} %" if whole else "-"


_HEADINGS = (
    "session",
    "model",
    "reads",
    "pruned",
    "tokens",
    "cut",
    "needed kept",
    "again",
    "bill",
    "saved",
    "net",
)


def _session_table(sessions: Iterable[Replayed]) -> str:
    sessions = list(sessions)
    rows: list[Sequence[str]] = [_HEADINGS]
    rows += [_row(session.log.stem[-28:], session.model, total([session])) for session in sessions]
    rows.append(_row(f"all {len(sessions)}", "", total(sessions)))
    return align(rows)


def _row(name: str, model: str, sums: Total) -> tuple[str, ...]:
    return (
        name,
        model[-20:],
        str(sums.reads),
        str(sums.pruned),
        f"{sums.tokens:,}",
        share(sums.cut, sums.tokens),
        share(sums.kept, sums.needed),
        str(sums.fetched_again),
        f"${sums.bill:,.2f}",
        share(sums.saved, sums.bill),
        share(sums.net, sums.bill),
    )


def _kept_by(name: str, read: ReplayedRead) -> Kept:
    return read.kept if name == OURS else read.yardsticks[name]


def _way(name: str, reads: Sequence[ReplayedRead]) -> dict[str, int]:
    """What a way to cut kept of the pruned reads, all of them cut to the same size."""
    kept = [_kept_by(name, read) for read in reads]
    return {
        "needed": sum(len(read.later.lines) for read in reads),
        "kept": sum(each.needed for each in kept),
        "fetched_again": sum(each.fetched_again for each in kept),
    }


def _yardstick_table(reads: Sequence[ReplayedRead]) -> str:
    if not reads:
        return ""
    rows: list[Sequence[str]] = [("pruned reads cut to the same size", "needed kept", "fetched again")]
    for name in (OURS, *YARDSTICKS):
        way = _way(name, reads)
        again = f"{way['fetched_again']} of {len(reads)}"
        rows.append((name, share(way["kept"], way["needed"]), again))
    return align(rows)


def _reason_table(reads: Sequence[ReplayedRead]) -> str:
    tokens: Counter[str] = Counter()
    for read in reads:
        tokens[read.skim.reason] += read.skim.tokens_in
    counts = Counter(read.skim.reason for read in reads)
    rows: list[Sequence[str]] = [("big reads", "reads", "tokens")]
    rows += [(reason, str(counts[reason]), f"{tokens[reason]:,}") for reason, _ in counts.most_common()]
    return align(rows)


def _with_net(sums: Total) -> dict[str, Any]:
    return {**asdict(sums), "net": sums.net}


def _as_dict(session: Replayed) -> dict[str, Any]:
    return {
        "log": str(session.log),
        "host": session.host,
        "model": session.model,
        "requests": session.requests,
        "accounted": session.accounted,
        "total": _with_net(total([session])),
        "reads": [
            {
                "path": read.path,
                "first": read.first,
                "lines": len(read.lines),
                "query": read.query,
                "reason": read.skim.reason,
                "tokens_in": read.skim.tokens_in,
                "tokens_out": read.skim.tokens_out,
                "cuts": read.skim.cuts(),
                "edited": read.later.edited,
                "quoted": read.later.quoted,
                "reread": read.later.reread,
                "regretted": read.regretted,
                "fetched_again": read.kept.fetched_again,
                "saved": read.saved,
                "fetching": read.fetching,
                "seconds": round(read.seconds, 3),
            }
            for read in session.reads
        ],
    }
