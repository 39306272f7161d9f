"""A model endpoint on loopback in the shape of OpenAI's Responses API that plays a session and keeps its requests."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.agents.hosts.scripted import EVENTS, JSON, Endpoint, Script, Step, listening

_RESULTS = ("function_call_output", "custom_tool_call_output")
SCRIPT = "exec"
"""The tool of models that work in code mode; its input is one text, a script."""


def tool_results(body: dict[str, Any]) -> list[str]:
    """The texts of the results of tools that a request carries."""
    outputs = [item["output"] for item in body["input"] if item.get("type") in _RESULTS]
    return [out if isinstance(out, str) else "".join(part["text"] for part in out) for out in outputs]


@contextmanager
def endpoint(script: Script) -> Iterator[Endpoint]:
    """Serve a script until the end of the block."""
    played = Endpoint("", script, tool_results)

    def answer(path: str, body: dict[str, Any]) -> tuple[str, str]:
        if not path.endswith("/responses"):
            return JSON, "{}"
        tools = body.get("tools") or [
            item for item in body["input"] if item.get("type") == "additional_tools"
        ]
        step, number = played.answer({**body, "tools": tools}), len(tool_results(body))
        events = _events(step, f"{number:04}")
        return EVENTS, "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)

    with listening(answer) as played.url:
        yield played


def _events(step: Step, number: str) -> Iterator[dict[str, Any]]:
    words = [{"type": "output_text", "text": step.words}]
    items: list[dict[str, Any]] = [
        {"type": "message", "role": "assistant", "id": f"msg_{number}", "content": words}
    ]
    if step.tool:
        call = {"id": f"fc_{number}", "call_id": f"call_{number}", "name": step.tool}
        if step.tool == SCRIPT:
            items.append({"type": "custom_tool_call", **call, "input": step.arguments["script"]})
        else:
            items.append({"type": "function_call", **call, "arguments": json.dumps(step.arguments)})
    yield {"type": "response.created", "response": {"id": f"resp_{number}"}}
    for place, item in enumerate(items):
        yield {"type": "response.output_item.done", "output_index": place, "item": item}
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    usage |= {"input_tokens_details": None, "output_tokens_details": None}
    yield {"type": "response.completed", "response": {"id": f"resp_{number}", "usage": usage}}
