"""A session that is fixed beforehand: what the model answers, step by step. No step knows a host or an API."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Step:
    """One answer: words, and the name and input of the tool that is called after them, if one is."""

    words: str
    tool: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)


Script = Sequence[Step | Callable[[list[str]], Step]]
"""Steps; one that depends on what the tools have shown is made from the texts of all results so far."""


@dataclass
class Endpoint:
    """What was asked so far.

    Attributes:
        url: where it listens.
        script: what is answered.
        results_of: the texts of the results of tools that a request carries.
        requests: the bodies of the requests that carry tools, which are those of the session itself.
    """

    url: str
    script: Script
    results_of: Callable[[dict[str, Any]], list[str]]
    requests: list[dict[str, Any]] = field(default_factory=list)

    def answer(self, body: dict[str, Any]) -> Step:
        """The step for a request: as many results of tools as it carries are done."""
        if not body.get("tools"):
            return Step("A title")
        self.requests.append(body)
        results = self.results_of(body)
        step = self.script[min(len(results), len(self.script) - 1)]
        return step if isinstance(step, Step) else step(results)
