"""Statistics of the hooks on this machine: tokens that they cut, and tokens that agents read again."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from lamr_base.records import dataclass
from lamr_base.tables import align

from lamr_agents.local.store import Decision
from lamr_agents.policy import CUTTING

GROUPS: Mapping[str, Callable[[Decision], str]] = {
    "day": lambda decision: datetime.fromtimestamp(decision.at).astimezone().date().isoformat(),
    "host": lambda decision: decision.host,
}
"""Group keys of decisions; days are in this machine's time zone."""
_HEADINGS = (
    *("sessions", "results", "cut", "tokens cut"),
    *("by range", "by whole", "read again", "net", "waiting"),
)
_REMARK = (
    "Tokens are estimates and count once, though each later request of a session reads them too. A cut counts under "
    "`by range` or `by whole` if the agent later read hidden lines of it by range, or the whole file."
)


@dataclass(frozen=True)
class Sums:
    """Sums over decisions."""

    sessions: int  # a sub-agent counts with its session
    results: int  # tool results that lamr saw
    cuts: int  # results that were cut
    tokens_cut: int  # tokens removed by these cuts
    by_range: int  # cuts that agents came back for by reading a range, or else the whole file
    by_whole: int
    tokens_again: int  # tokens of what was read again
    seconds: float  # time that agents waited

    @property
    def net(self) -> int:
        return self.tokens_cut - self.tokens_again


def sums_of(decisions: Sequence[Decision]) -> Sums:
    cuts = [decision for decision in decisions if decision.reason in CUTTING]
    return Sums(
        sessions=len({(each.host, each.session.split("/", 1)[0]) for each in decisions}),
        results=len(decisions),
        cuts=len(cuts),
        tokens_cut=sum(cut.tokens_in - cut.tokens_out for cut in cuts),
        by_range=sum(cut.ranges > 0 for cut in cuts),
        by_whole=sum(cut.wholes > 0 and not cut.ranges for cut in cuts),
        tokens_again=sum(cut.tokens_again for cut in cuts),
        seconds=sum(decision.seconds for decision in decisions),
    )


def table(decisions: Sequence[Decision]) -> str:
    """Tables for a terminal: by day, by host, and by the reason why results were cut or passed."""
    tables = []
    for name, key in GROUPS.items():
        groups = _grouped(decisions, key)
        rows = [(name, *_HEADINGS), *(_row(each, sums_of(groups[each])) for each in groups)]
        tables.append(align([*rows, _row("all", sums_of(decisions))] if len(groups) > 1 else rows))
    reasons = [(reason, f"{count:,}") for reason, count in _reasons(decisions).items()]
    return "\n\n".join([*tables, align([("reason", "results"), *reasons]), _REMARK])


def to_json(decisions: Sequence[Decision]) -> str:
    """The same, as one JSON object."""
    value = {"total": _as_dict(decisions)}
    for name, key in GROUPS.items():
        value[f"by_{name}"] = {each: _as_dict(group) for each, group in _grouped(decisions, key).items()}
    return json.dumps({**value, "reasons": _reasons(decisions)}, ensure_ascii=False, indent=1)


def _grouped(decisions: Iterable[Decision], key: Callable[[Decision], str]) -> dict[str, list[Decision]]:
    groups: dict[str, list[Decision]] = {}
    for decision in decisions:
        groups.setdefault(key(decision), []).append(decision)
    return groups


def _reasons(decisions: Iterable[Decision]) -> dict[str, int]:
    return dict(Counter(decision.reason for decision in decisions).most_common())


def _as_dict(decisions: Sequence[Decision]) -> dict[str, Any]:
    sums = sums_of(decisions)
    return {**asdict(sums), "net": sums.net}


def _row(name: str, sums: Sums) -> tuple[str, ...]:
    counts = (sums.sessions, sums.results, sums.cuts, sums.tokens_cut, sums.by_range, sums.by_whole)
    return (name, *(f"{each:,}" for each in (*counts, sums.tokens_again, sums.net)), f"{sums.seconds:,.0f} s")
