"""A session that is fixed beforehand: what the model answers, step by step. No step knows a host or an API."""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

from tests.http_server import Reply, Request, answering

JSON, EVENTS = "application/json", "text/event-stream"
Answer = Callable[[str, dict[str, Any]], tuple[str, str]]
"""From a path and a body, the kind of the answer and its text."""


def listening(answer: Answer) -> AbstractContextManager[str]:
    """Serve until the end of the block; gives the address."""

    def reply(request: Request) -> Reply:
        kind, text = JSON, "{}"
        if request.method == "POST":
            kind, text = answer(request.path, json.loads(request.body or b"{}"))
        return 200, text.encode(), {"Content-Type": kind}

    return answering(reply)


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
        others: what is answered in sessions whose first message has these words, such as a sub-agent's.
        others_requests: the bodies of their requests."""

    url: str
    script: Script
    results_of: Callable[[dict[str, Any]], list[str]]
    requests: list[dict[str, Any]] = field(default_factory=list)
    others: Mapping[str, Script] = field(default_factory=dict)
    others_requests: list[dict[str, Any]] = field(default_factory=list)

    def answer(self, body: dict[str, Any]) -> Step:
        """The step for a request: as many results of tools as it carries are done."""
        if not body.get("tools"):
            return Step("A title")
        first = json.dumps(body.get("messages", [])[:1])
        script = next((script for words, script in self.others.items() if words in first), None)
        (self.requests if script is None else self.others_requests).append(body)
        script, results = script or self.script, self.results_of(body)
        step = script[min(len(results), len(script) - 1)]
        return step if isinstance(step, Step) else step(results)
