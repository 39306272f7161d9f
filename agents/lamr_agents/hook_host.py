"""What a host that hands over results of tools is to the local server: how its calls are read and answered."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from lamr_agents.context import Context
from lamr_agents.intent import Intent
from lamr_agents.policy import Asked
from lamr_agents.skimmed import Skim
from lamr_agents.thin import BESIDE


@dataclass(frozen=True)
class Call:
    """A call whose result may be pruned.

    Attributes:
        session: the name of the agent's context; see `Context`.
        tool: its name.
        asked: what was asked for and came back.
        intent: what the agent is after.
        response: the tool's output as the host gave it.
        since: of the context.
        seen: whether the transcript tells that the agent saw the file before, as in a session that was forked.
    """

    session: str
    tool: str
    asked: Asked
    intent: Intent
    response: Mapping[str, Any]
    since: float = 0.0
    seen: bool = False

    @property
    def context(self) -> Context:
        """What the agent has seen."""
        return Context(self.session, self.since)


@dataclass(frozen=True)
class HookHost:
    """How a host's calls are read and answered.

    Attributes:
        name: the host's, as in `hosts.HOSTS`; calls name it.
        read_call: a call, from the host's payload and the transcript that it names; None where the call is none of a
            tool that reads a file.
        answer: what is printed for a call and what is shown of it; None where the result stays as it is without a
            word.
        beside: the JSON that tells the agent something beside a result that stays; `%s` stands for the words.
        variable: the environment variable that names the host's folder to the hook; empty where calls name files.
        passed: what stands in a call that passes at once; empty for nothing.
    """

    name: str
    read_call: Callable[[Mapping[str, Any]], Call | None]
    answer: Callable[[Call, Skim], Mapping[str, Any] | None]
    beside: str = BESIDE
    variable: str = ""
    passed: str = ""
