"""mini-swe-agent: its agents, with what commands print of a file pruned for what the model said before them.

Name one of the two classes as the agent of a run, in its configuration:
`agent_class: lamr_agents.mini_swe_agent.PruningAgent`. LAMR_SERVER or the user's `lamr.toml` names a server; without
one, the model runs in this process. This module knows that host's agents and environments, from version 2.4 on.

The host writes each observation by a template of its configuration. Most templates leave the middle out of a long
output, so the template itself is asked what it shows."""

import bisect
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from jinja2 import StrictUndefined, Template, TemplateError
from lamr_base.expressions import expression
from minisweagent.agents.default import DefaultAgent
from minisweagent.agents.interactive import InteractiveAgent

from lamr_agents.embedded import Own, Reading, Reads
from lamr_agents.intent import Known
from lamr_agents.policy import NO_LIMITS, Policy, ShownLimits
from lamr_agents.sessions import Heard
from lamr_agents.sessions.events import SHELL, Event
from lamr_agents.sessions.tools import command_of, shown_by
from lamr_agents.skim import Prunes

_MOST = 1 << 20  # characters of the longest output that a template is tried with
_FENCED = expression(r"```.*?```", re.DOTALL)


def limits_of(template: str) -> ShownLimits:
    """How much of an output a template of observations shows whole, by what it makes of outputs of many lengths.

    A template that can't be used here, since it asks for more than an output, limits nothing."""

    def shown(output: str) -> str:
        given = {"output": output, "returncode": 0, "exception_info": ""}
        return str(Template(template, undefined=StrictUndefined).render(output=given))

    def whole(length: int) -> bool:
        return "x" * length in shown("x" * length)

    try:
        if whole(_MOST):
            return ShownLimits(shown=shown)
        most = bisect.bisect_left(range(_MOST), True, key=lambda length: not whole(length)) - 1
    except TemplateError:
        return NO_LIMITS
    return ShownLimits(characters=max(most, 1), uncut=most, shown=shown)


class PruningEnvironment:
    """An environment whose commands show files pruned; everything else is the other environment's."""

    def __init__(  # noqa: PLR0913, PLR0917  # what both agents know, each with a default
        self,
        environment: Any,
        make_pruner: Callable[[], Prunes],
        policy: Policy | None = None,
        texts: Path | None = None,
        reading: Reading | None = None,
        limits: ShownLimits = NO_LIMITS,
    ) -> None:
        self._environment = environment
        self._reads = Reads(make_pruner, policy, texts, reading=reading)
        self._limits = limits
        self._heard, self._task = Heard(), ""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._environment, name)

    def hear(self, task: str, words: str) -> None:
        """Take in what the model said before its next commands."""
        self._task = task
        self._heard.hear(Event("assistant", _FENCED.sub("", words)))

    def execute(self, action: Mapping[str, Any], *arguments: Any, **more: Any) -> dict[str, Any]:
        """Run a command; what it prints of files may come pruned, or with the reason why it couldn't be.

        `lamr show` is answered here: the other environment may be a container without lamr."""
        answer = self._reads.answer_show(command_of(SHELL, action) or "")
        if answer is not None:
            return {"output": answer[0], "returncode": answer[1], "exception_info": ""}
        output: dict[str, Any] = self._environment.execute(action, *arguments, **more)
        seen = shown_by(SHELL, action)
        text = output.get("output")
        if not isinstance(text, str) or not text:
            return output
        pointed = () if seen is None else self._heard.pointers.at(seen[0].path)
        again = seen is not None and self._heard.seen.has(seen[1] or seen[0].path)
        for each in (Event("call", tool=SHELL, arguments=action), Event("result", text)):
            self._heard.pointers.hear(each)
            self._heard.seen.hear(each)
        if seen is None:
            return output
        read, name = seen
        known = Known(said=self._heard.said, task=self._task, pointed=pointed, history=self._heard.history)
        failed = output.get("returncode") != 0
        more = {"again": again, "failed": failed, "limits": self._limits}
        shown = self._reads.skimmed(text, read, known, name=name, **more)
        return {**output, "output": shown.text_with_notice}


class _Pruning:
    """Adds to an agent an environment that prunes, and passes it each answer of the model."""

    env: Any
    model: Any
    extra_template_vars: dict[str, Any]

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        own = Own.read()
        limits = limits_of(getattr(getattr(self.model, "config", None), "observation_template", ""))
        self.env = PruningEnvironment(
            self.env, own.make_pruner, own.policy, reading=own.reading, limits=limits
        )

    def query(self) -> dict[str, Any]:
        message: dict[str, Any] = super().query()  # type: ignore[misc]  # the agent's, beside which this class stands
        words = message.get("content")
        self.env.hear(str(self.extra_template_vars.get("task", "")), words if isinstance(words, str) else "")
        return message


class PruningAgent(_Pruning, DefaultAgent):
    """mini-swe-agent's default agent, with pruned reads."""


class PruningInteractiveAgent(_Pruning, InteractiveAgent):
    """mini-swe-agent's interactive agent, with pruned reads."""
