"""Ways to cut the results of a session, all counted alike: the profiles.

A `Way` begins anew with each session and is then shown the results in their order, so that it may remember what it
showed before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from lamr_contract.choices import EffortName
from lamr_sessions.notices import gaps
from lamr_sessions.shown import shown_lines

from lamr_agents.hosts import HOSTS
from lamr_agents.judge import Prunes
from lamr_agents.local.texts import SHOW, key_of
from lamr_agents.policy import DEFAULT, PROFILES, Policy
from lamr_agents.replay.recorded import Recorded, Result
from lamr_agents.skim import skim, untouched
from lamr_agents.skimmed import Skim
from lamr_agents.thin import SMALL
from lamr_agents.words import BY_COMMAND

OURS = "lamr"
OTHER_TOOL = "no read of a file"

Judge = Callable[[Result], Skim]
"""Says what is shown of a session's next result."""


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
    return [
        pruned(OURS, pruner, policy, effort),
        *(pruned(name, pruner, other, effort) for name, other in PROFILES.items() if other != policy),
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


def pruned(name: str, pruner: Prunes, policy: Policy, effort: EffortName = "instant") -> Way:
    """Reads cut by a policy, as hosts have them cut.

    Args:
        name: of the way.
        pruner: judges the lines.
        policy: when a read is pruned.
        effort: how much the encoder reads.
    """
    of_others = replace(policy, prunes=False)

    def begin(session: Recorded) -> Judge:
        hooks = (host.hook for host in HOSTS.values() if host.hook)
        tells = any(hook.tells_context for hook in hooks if hook.name == session.host)
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
            for_it = of_others if result.big is None else policy
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
