"""Ways to cut the results of a session, all counted alike: by a policy, by rules of its size, never, by an oracle.

A `Way` begins anew with each session and is then shown the results in their order, so that it may remember what it
showed before. Of what comes later only the oracle makes use.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from lamr_contract.choices import EffortName
from lamr_evaluation.baselines import grep
from lamr_postprocess import approximate_tokens, prune_lines
from lamr_sessions.notices import gaps
from lamr_sessions.shown import shown_lines

from lamr_agents.hosts import HOSTS
from lamr_agents.judge import Prunes
from lamr_agents.local.texts import SHOW, key_of
from lamr_agents.policy import DEFAULT, HIDING, PROFILES, PRUNED, Policy
from lamr_agents.replay.recorded import Recorded, Result
from lamr_agents.skim import skim, untouched
from lamr_agents.skimmed import Skim
from lamr_agents.thin import SMALL
from lamr_agents.words import BY_COMMAND, BY_RANGE, note

OURS, NEVER, ORACLE = "lamr", "never", "oracle"
NO_BIG_READ = "no big read of a source file"
OTHER_TOOL = "no read of a file"

Judge = Callable[[Result], Skim]
"""Says what is shown of a session's next result."""
OwnPolicy = Callable[[Result, Recorded], Policy]
"""From a read and its session to the limits for it."""
Rank = Callable[[str, Sequence[str]], Sequence[int]]
"""From a query and lines to the 0-based places of the lines, the best first."""


@dataclass(frozen=True)
class Way:
    """A way to cut.

    Attributes:
        name: in tables and JSON.
        begin: is called once for each session, the oldest session first.
    """

    name: str
    begin: Callable[[Recorded], Judge]


def ways(pruner: Prunes, policy: Policy | None = None, effort: EffortName = "instant") -> list[Way]:
    """The ways that are compared; the first is the one that all tables are about, the policy's.

    Args:
        pruner: judges the lines.
        policy: when a read is pruned; None for the default profile's.
        effort: how much the encoder reads.
    """
    policy = policy or PROFILES[DEFAULT]
    ours = remembered(pruned(OURS, pruner, policy, effort))
    return [
        ours,
        *(pruned(name, pruner, other, effort) for name, other in PROFILES.items() if other != policy),
        same_size("head of the file", _head, ours),
        same_size("grep ± 5 lines", _grep, ours),
        Way(NEVER, lambda _: lambda result: untouched(result.asked, NEVER)),
        Way(ORACLE, lambda _: _needed_alone),
    ]


class _Nowhere:
    """An archive that keeps nothing, for what nobody will ask for."""

    @staticmethod
    def keep(text: str) -> str:
        """The key that it would have."""
        return key_of(text)

    @staticmethod
    def how_to_show(text: str, first: int, last: int) -> str:
        """As the user's own archive says it."""
        return BY_COMMAND.format(command=SHOW, between=" ", key=key_of(text), first=first, last=last)


def pruned(
    name: str, pruner: Prunes, policy: Policy, effort: EffortName = "instant", own: OwnPolicy | None = None
) -> Way:
    """Reads cut by a policy, as hosts have them cut.

    Args:
        name: of the way.
        pruner: judges the lines.
        policy: when a read is pruned.
        effort: how much the encoder reads.
        own: gives each read a policy of its own.
    """
    of_others = replace(policy, prunes=False)

    def begin(session: Recorded) -> Judge:
        tells = any(
            host.form and host.form.name == session.host and host.tells_context for host in HOSTS.values()
        )
        held: dict[str, dict[int, str]] = {}
        context: list[int] = [0]

        def judge(result: Result) -> Skim:
            asked = result.asked
            readers = session.bill.readers(result.record)
            if readers and readers.stop != context[0]:  # compacted since, or the first
                held.clear()
                context[0] = readers.stop
            if not asked.path:
                return untouched(asked, OTHER_TOOL)
            known = held.setdefault(asked.path, {}) if tells else {}
            for_it = of_others if result.big is None else own(result, session) if own else policy
            if len(asked.text) < SMALL:
                shown = untouched(asked, "small")
            else:
                shown = skim(
                    *(pruner, asked, result.intent, for_it),
                    archive=_Nowhere(),
                    known=known,
                    effort=effort,
                )
            if shown.cut or gaps(asked.text):
                known.clear()
            else:
                known.update(enumerate(shown_lines(asked.text).lines, asked.from_line))
            return shown

        return judge

    return Way(name, begin)


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
