"""mini-swe-agent: its agents, with what commands print of a file pruned for what the model said before them.

Name one of the two classes as the agent of a run, in its configuration:
`agent_class: lamr_agents.mini_swe_agent.PruningAgent`. LAMR_SERVER names a server; without it, the model runs in this
process. This module knows that host's agents and environments, from version 2.4 on.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from lamr_client import LamrError, Pruner
from lamr_evaluation.sessions.events import SHELL
from lamr_evaluation.sessions.tools import command_of, shown_by
from minisweagent.agents.default import DefaultAgent
from minisweagent.agents.interactive import InteractiveAgent

from lamr_agents.intent import Known, intent_of
from lamr_agents.local.texts import SHOW, Archive, Place, Texts, default_texts
from lamr_agents.policy import Policy
from lamr_agents.skim import Prunes, asked_for, skim

_FENCED = re.compile(r"```.*?```", re.DOTALL)
_SHOW = re.compile(rf"\s*{SHOW}\s+(\S+)\s*")
TIMEOUT_SECONDS = 30.0


class PruningEnvironment:
    """An environment whose commands show files pruned; everything else is the other environment's.

    Args:
        environment: runs the commands.
        make_pruner: gives the pruner, when a command first shows enough of a file.
        policy: when a result is pruned.
        texts: the file that keeps what lies in no file; None for the user's own.
    """

    def __init__(
        self,
        environment: Any,
        make_pruner: Callable[[], Prunes],
        policy: Policy | None = None,
        texts: Path | None = None,
    ) -> None:
        self._environment = environment
        self._pruner = _Lazily(make_pruner)
        self._policy = policy or Policy()
        self._archive = Archive(Texts(texts or default_texts()))
        self._known = Known()
        self._seen: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._environment, name)

    def hear(self, task: str, words: str) -> None:
        """Take in what the model said before its next commands.

        Args:
            task: what the user wants.
            words: the message, commands in fences included.
        """
        self._known = Known(said=_FENCED.sub("", words).strip(), task=task)

    def execute(self, action: Mapping[str, Any], *arguments: Any, **more: Any) -> dict[str, Any]:
        """Run a command; what it prints of files may come pruned, or with the reason why it couldn't be.

        `lamr show` is answered here: the other environment may be a container without lamr.
        """
        place = _SHOW.fullmatch(command_of(SHELL, action) or "")
        if place:
            return self._show(place[1])
        output: dict[str, Any] = self._environment.execute(action, *arguments, **more)
        seen = shown_by(SHELL, action)
        text = output.get("output")
        if seen is None or not isinstance(text, str) or not text:
            return output
        read, name = seen
        label = name or read.path
        intent = intent_of(self._known)
        asked = asked_for(
            text,
            read.path,
            intent=intent,
            first=read.first,
            last=read.last,
            again=label in self._seen,
            failed=output.get("returncode") != 0,
            name=name,
        )
        self._seen.add(label)
        shown = skim(self._pruner, asked, intent, self._policy, archive=self._archive)
        told = f"\n[lamr: {shown.reason}]\n" if shown.reason.startswith("not pruned") else ""
        return {**output, "output": shown.text + told}

    def _show(self, place: str) -> dict[str, Any]:
        try:
            text, code = self._archive.texts.lines(Place.parse(place)), 0
        except LamrError as error:
            text, code = f"lamr: {error}\n", error.exit_code
        return {"output": text, "returncode": code, "exception_info": ""}


class _Lazily:
    """A pruner that is made when it is first asked."""

    def __init__(self, make: Callable[[], Prunes]) -> None:
        self._make = make
        self._made: Prunes | None = None

    def prune(self, *arguments: Any, **options: Any) -> Any:
        self._made = self._made or self._make()
        return self._made.prune(*arguments, **options)


def _make_pruner() -> Pruner:
    return Pruner(os.environ.get("LAMR_SERVER"), timeout=TIMEOUT_SECONDS)


class _Pruning:
    """What both agents get: an environment that prunes, and hears each answer of the model."""

    env: Any
    extra_template_vars: dict[str, Any]

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.env = PruningEnvironment(self.env, _make_pruner)

    def query(self) -> dict[str, Any]:
        message: dict[str, Any] = super().query()  # type: ignore[misc]  # the agent's, beside which this class stands
        words = message.get("content")
        self.env.hear(str(self.extra_template_vars.get("task", "")), words if isinstance(words, str) else "")
        return message


class PruningAgent(_Pruning, DefaultAgent):
    """mini-swe-agent's default agent, with pruned reads."""


class PruningInteractiveAgent(_Pruning, InteractiveAgent):
    """mini-swe-agent's interactive agent, with pruned reads."""
