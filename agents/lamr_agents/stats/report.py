"""Writes what happened as tables for a terminal and as JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from lamr_evaluation.resampling import Interval
from lamr_evaluation.tables import align

from lamr_agents.replay.figures import without_nan
from lamr_agents.stats.compare import Comparison, compared
from lamr_agents.stats.happened import Happened

UNKNOWN = "unknown"


def day_of(session: Happened) -> str:
    """The day on which a session had its first call, in this machine's time."""
    return datetime.fromtimestamp(session.session.first).astimezone().date().isoformat()


GROUPS: Mapping[str, Callable[[Happened], str]] = {
    "day": day_of,
    "host": lambda session: session.session.host,
    "project": lambda session: session.project or UNKNOWN,
}
"""What sessions are grouped by."""


@dataclass(frozen=True)
class Sums:
    """What sessions come to.

    Attributes:
        sessions: how many; `known` are those whose transcripts say what they cost, `estimated` the ones among these
            that keep no accounts.
        results: of tools that lamr was asked about.
        cuts: of which something was cut; `looked` are those of files, whose lines agents can come back for.
        tokens_cut: that went.
        by_range, by_whole: cuts that agents came back for by reading a range, as the note says, or the file.
        tokens_again: that this brought.
        seconds: that agents waited.
        bill, saved, fetching, pruning: dollars, of the known sessions.
    """

    sessions: int
    known: int
    estimated: int
    results: int
    cuts: int
    looked: int
    tokens_cut: int
    by_range: int
    by_whole: int
    tokens_again: int
    seconds: float
    bill: float
    saved: float
    fetching: float
    pruning: float

    @property
    def net(self) -> float:
        """Dollars that remain of what was saved."""
        return self.saved - self.fetching - self.pruning


def sums_of(sessions: Sequence[Happened]) -> Sums:
    """Add sessions up."""
    cuts = [cut for session in sessions for cut in session.cuts]
    known = [(session, session.money) for session in sessions if session.money]
    return Sums(
        sessions=len(sessions),
        known=len(known),
        estimated=sum(not money.accounted for _, money in known),
        results=sum(len(session.decisions) for session in sessions),
        cuts=len(cuts),
        looked=sum(cut.looked for cut in cuts),
        tokens_cut=sum(cut.tokens_in - cut.tokens_out for cut in cuts),
        by_range=sum(cut.ranges > 0 for cut in cuts),
        by_whole=sum(cut.wholes > 0 and not cut.ranges for cut in cuts),
        tokens_again=sum(cut.tokens_again for cut in cuts),
        seconds=sum(session.seconds for session in sessions),
        bill=sum(money.bill for _, money in known),
        saved=sum(money.saved for _, money in known),
        fetching=sum(money.fetching for _, money in known),
        pruning=sum(session.pruning for session, _ in known),
    )


@dataclass(frozen=True)
class Stats:
    """What happened in the sessions of a machine.

    Attributes:
        sessions: the oldest first.
    """

    sessions: tuple[Happened, ...]

    @cached_property
    def comparison(self) -> Comparison | None:
        """Sessions with cuts beside those left alone."""
        return compared(self.sessions)

    def groups(self, name: str) -> dict[str, Sums]:
        """The sums of each group, in the order of their first sessions; see `GROUPS`."""
        grouped: dict[str, list[Happened]] = {}
        for session in self.sessions:
            grouped.setdefault(GROUPS[name](session), []).append(session)
        return {key: sums_of(members) for key, members in grouped.items()}

    def table(self) -> str:
        """Tables for a terminal."""
        parts = [self.group_tables(), self.compared_table(), "\n".join(self.remarks())]
        return "\n\n".join(filter(None, parts))

    def to_json(self) -> str:
        """The same, as one JSON object."""
        value = {
            "total": _as_dict(sums_of(self.sessions)),
            **{
                f"by_{name}": {key: _as_dict(sums) for key, sums in self.groups(name).items()}
                for name in GROUPS
            },
            "reasons": dict(_reasons(self.sessions).most_common()),
            "comparison": self.comparison and self.comparison.as_dict(),
        }
        return json.dumps(without_nan(value), ensure_ascii=False, indent=1)

    def group_tables(self) -> str:
        """What sessions come to by day, host and project, and why results passed."""
        tables = []
        for name in GROUPS:
            groups = self.groups(name)
            rows: list[Sequence[str]] = [(name, *_HEADINGS)]
            rows += [_row(key, sums) for key, sums in groups.items()]
            if name == "day":
                rows.append(_row("all", sums_of(self.sessions)))
            tables.append(align(rows))
        return "\n\n".join([*tables, self._reasons()])

    def _reasons(self) -> str:
        tokens: Counter[str] = Counter()
        for session in self.sessions:
            for decision in session.decisions:
                tokens[decision.reason] += decision.tokens_in
        rows: list[Sequence[str]] = [("results", "number", "tokens")]
        rows += [
            (reason, f"{count:,}", f"{tokens[reason]:,}")
            for reason, count in _reasons(self.sessions).most_common()
        ]
        return align(rows)

    def compared_table(self) -> str:
        """Sessions with cuts beside those left alone; empty where none was."""
        both = self.comparison
        if both is None:
            return ""
        heading = ("a session", f"left alone ({both.left_alone})", f"with cuts ({both.with_cuts})")
        rows: list[Sequence[str]] = [(*heading, "difference", "95 %")]
        for figure in both.figures:
            places = 2 if figure.name == "dollars" else 0
            sign = "$" if figure.name == "dollars" else ""
            means = (f"{sign}{mean:,.{places}f}" for mean in (figure.left_alone, figure.with_cuts))
            rows.append((figure.name, *means, *_difference(figure.difference)))
        found = [f"{100 * difference:.0f} % {count:,}" for difference, count in both.needed.items() if count]
        said = "sessions that it takes to find a difference of dollars (4 times of 5): "
        return align(rows) + (f"\n{said}{', '.join(found)}" if found else "")

    def remarks(self) -> list[str]:
        """What is counted how, and what isn't, a sentence or two each."""
        sums = sums_of(self.sessions)
        said = []
        if sums.looked:
            said.append(
                f"Agents came back for {sums.by_range + sums.by_whole} of {sums.looked} cuts of files: for "
                f"{sums.by_range} by reading a range, as the note says, for {sums.by_whole} by reading the whole file."
            )
        said.append(
            "Dollars are list prices. Tokens that were cut are estimates, and each counts in all later requests of the "
            "transcript until the context is compacted."
        )
        if sums.known < sums.sessions:
            said.append(
                f"The transcripts of {sums.sessions - sums.known} of {sums.sessions} sessions are gone or not known: "
                "their dollars are in no sum."
            )
        if sums.estimated:
            said.append(
                f"{sums.estimated} transcripts keep no accounts, so that their requests are estimates, too."
            )
        if self.comparison is None:
            said.append(
                "No sessions were left alone to compare with; `lamr install HOST --holdout 0.2` leaves a fifth alone."
            )
        return said


_HEADINGS = (
    *("sessions", "results", "cut", "tokens cut", "by range", "by whole"),
    *("bill", "saved", "read again", "net", "waiting"),
)


def _row(name: str, sums: Sums) -> tuple[str, ...]:
    return (
        name,
        f"{sums.sessions:,}",
        f"{sums.results:,}",
        f"{sums.cuts:,}",
        f"{sums.tokens_cut:,}",
        f"{sums.by_range:,}",
        f"{sums.by_whole:,}",
        *(_dollars(value, sums) for value in (sums.bill, sums.saved, sums.fetching, sums.net)),
        f"{sums.seconds:,.0f} s",
    )


def _dollars(value: float, sums: Sums) -> str:
    return f"${value:,.2f}" if sums.known else "-"


def _difference(interval: Interval) -> tuple[str, str]:
    if interval.low != interval.low:  # NaN
        return "-", "too few"
    return f"{100 * interval.value:+.1f} %", f"{100 * interval.low:+.1f} to {100 * interval.high:+.1f}"


def _reasons(sessions: Sequence[Happened]) -> Counter[str]:
    reasons: Counter[str] = Counter()
    for session in sessions:
        reasons.update(decision.reason for decision in session.decisions)
    return reasons


def _as_dict(sums: Sums) -> dict[str, Any]:
    return {**asdict(sums), "net": sums.net}
