"""A model endpoint on loopback in the shape of Gemini's API that plays a session and keeps its requests."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.agents.hosts.scripted import EVENTS, JSON, Endpoint, Script, Step, listening


def tool_results(body: dict[str, Any]) -> list[str]:
    """The texts of the results of tools that a request carries; of a failure, what the tool says."""
    found = []
    for message in body["contents"]:
        for part in message["parts"]:
            if "functionResponse" in part:
                response = part["functionResponse"]["response"]
                found.append(response.get("output") or response.get("error") or "")
    return found


@contextmanager
def endpoint(script: Script) -> Iterator[Endpoint]:
    """Serve a script until the end of the block."""
    played = Endpoint("", script, tool_results)

    def answer(path: str, body: dict[str, Any]) -> tuple[str, str]:
        if "countTokens" in path:
            return JSON, json.dumps({"totalTokens": 1})
        said = json.dumps(_message(played.answer(body)))
        return (EVENTS, f"data: {said}\n\n") if "stream" in path else (JSON, said)

    with listening(answer) as played.url:
        yield played


def _message(step: Step) -> dict[str, Any]:
    parts: list[dict[str, Any]] = [{"text": step.words}]
    if step.tool:
        parts.append({"functionCall": {"name": step.tool, "args": step.arguments}})
    return {
        "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 10, "totalTokenCount": 20},
        "modelVersion": "scripted",
    }
