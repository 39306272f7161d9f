"""What profiles are compared with: rules of the same size, never cutting, and an oracle that knows the future."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from lamr_agents.judge import Prunes
from lamr_agents.policy import HIDING, PRUNED, Policy
from lamr_agents.replay import Judge, Recorded, Replayed, Result, Way, ways
from lamr_agents.replay.outcome import added
from lamr_agents.replay.report import share
from lamr_agents.skim import untouched
from lamr_agents.skimmed import Skim
from lamr_agents.words import BY_RANGE, note
from lamr_contract.choices import EffortName
from lamr_evaluation.baselines import grep
from lamr_evaluation.tables import align
from lamr_postprocess import approximate_tokens, prune_lines

HEAD, GREP, NEVER, ORACLE = "head of the file", "grep ± 5 lines", "never", "oracle"
NO_BIG_READ = "no big read of a source file"
Rank = Callable[[str, Sequence[str]], Sequence[int]]
"""From a query and lines to the 0-based places of the lines, the best first."""


def with_rules(pruner: Prunes, policy: Policy | None = None, effort: EffortName = "instant") -> list[Way]:
    """The ways of `lamr replay`, and what they are compared with."""
    ours, *others = ways(pruner, policy, effort)
    ours = remembered(ours)
    return [
        ours,
        *others,
        same_size(HEAD, _head, ours),
        same_size(GREP, _grep, ours),
        Way(NEVER, lambda _: lambda result: untouched(result.asked, NEVER)),
        Way(ORACLE, lambda _: _needed_alone),
    ]


def remembered(way: Way) -> Way:
    """A way that is asked once about each result of a session, whoever begins the session again."""
    last: list[tuple[Recorded, Judge]] = []

    def begin(session: Recorded) -> Judge:
        if not last or last[0][0] is not session:
            judge, shown = way.begin(session), dict[int, Skim]()

            def once(result: Result) -> Skim:
                if result.place not in shown:
                    shown[result.place] = judge(result)
                return shown[result.place]

            last[:] = [(session, once)]
        return last[0][1]

    return replace(way, begin=begin)


def same_size(name: str, rank: Rank, other: Way) -> Way:
    """The results that another way cuts, cut to the same size by a rule.

    Args:
        name: of the way.
        rank: the rule.
        other: says which results are cut, and to how many tokens.
    """

    def begin(session: Recorded) -> Judge:
        others = other.begin(session)

        def judge(result: Result) -> Skim:
            shown = others(result)
            if result.big is None or shown.reason not in HIDING:
                return untouched(result.asked, "not pruned")
            query = f"{result.intent.query}\n{result.intent.task}"
            lines = result.big.shown.lines
            kept = filled(rank(query, lines), lines, shown.tokens_out)
            return replace(shown, text="", kept_lines=kept, result=None)

        return judge

    return Way(name, begin)


def filled(order: Sequence[int], lines: Sequence[str], tokens: int) -> tuple[int, ...]:
    """1-based numbers of the first lines of an order that fit into a number of tokens, ascending."""
    costs = np.cumsum([approximate_tokens(lines[at] + "\n") for at in order])
    taken = int(np.searchsorted(costs, tokens, side="right"))
    return tuple(sorted(at + 1 for at in order[:taken]))


def _head(_query: str, lines: Sequence[str]) -> Sequence[int]:
    return range(len(lines))


def _grep(query: str, lines: Sequence[str]) -> Sequence[int]:
    scores = grep(query, "\n".join(lines) + "\n")
    order: list[int] = np.argsort(-scores, kind="stable").tolist()
    return order


def _needed_alone(result: Result) -> Skim:
    """What is needed later and nothing else, with markers and a note where that is shorter."""
    asked = result.asked
    if result.big is None:
        return untouched(asked, NO_BIG_READ)
    needed = result.later.lines
    scores = np.zeros(asked.lines)
    scores[[number - 1 for number in needed]] = 1.0
    cut = prune_lines(asked.text, scores, path=asked.path, threshold=1.0, repair=False, min_cut=0)
    text = cut.text + note(len(cut.kept_lines), asked.lines, BY_RANGE, numbers=[(1, asked.lines)])
    tokens = approximate_tokens(text)
    if tokens >= asked.tokens:
        return untouched(asked, "little to cut")
    return Skim(text, PRUNED, cut.kept_lines, asked.lines, asked.tokens, tokens)


@dataclass(frozen=True)
class Loss:
    """Where the first way saves less than the oracle.

    Attributes:
        where: why a read passed, or what became of those that were cut.
        reads: how many.
        tokens: of them.
        dollars: that the oracle saves more.
    """

    where: str
    reads: int
    tokens: int
    dollars: float


LEFT_IN, FETCHED, WAITED = "cut: lines left in that nobody needs", "cut: read again", "lamr's own time"


def losses(sessions: Sequence[Replayed]) -> list[Loss]:
    """What makes the difference between the oracle's net and the first way's, the largest part first."""
    reads: Counter[str] = Counter()
    tokens: Counter[str] = Counter()
    dollars: defaultdict[str, float] = defaultdict(float)
    for where, size, lost in _lost(sessions):
        reads[where] += 1
        tokens[where] += size
        dollars[where] += lost
    pruning = sum(session.ours.pruning + session.ours.control for session in sessions)
    rows = [Loss(where, reads[where], tokens[where], dollars[where]) for where in dollars]
    rows.append(Loss(WAITED, sum(session.ours.reads for session in sessions), 0, pruning))
    return sorted(rows, key=lambda row: -row.dollars)


def _lost(sessions: Iterable[Replayed]) -> Iterator[tuple[str, int, float]]:
    for session in sessions:
        for read in session.reads:
            ours, best = read.ours, read.ways.get(ORACLE)
            if best is None:
                continue
            if not ours.cut:
                yield f"passes: {ours.reason}", ours.tokens_in, best.saved
                continue
            yield LEFT_IN, ours.tokens_in, best.saved - ours.saved
            if ours.again:
                yield FETCHED, ours.tokens_in, ours.fetching


def loss_table(sessions: Sequence[Replayed]) -> str:
    """Where the first way saves less than the oracle; empty where no oracle was asked, or nothing is read."""
    if not sessions or ORACLE not in sessions[0].ledgers or not sum(each.ours.reads for each in sessions):
        return ""
    ours, best = (
        added(each.ledgers[name] for each in sessions) for name in (next(iter(sessions[0].ledgers)), ORACLE)
    )
    rows: list[Sequence[str]] = [("where an oracle saves more", "reads", "tokens", "dollars", "of the bill")]
    rows += [
        (
            loss.where,
            f"{loss.reads:,}",
            f"{loss.tokens:,}",
            f"${loss.dollars:,.2f}",
            share(loss.dollars, ours.bill),
        )
        for loss in losses(sessions)
    ]
    more = best.net - ours.net
    rows.append(("all", f"{ours.reads:,}", f"{ours.read_tokens:,}", f"${more:,.2f}", share(more, ours.bill)))
    return align(rows)
