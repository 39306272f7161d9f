"""A model endpoint on loopback in the shape of Anthropic's API that plays a session and keeps its requests."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from lamr_postprocess import approximate_tokens

from tests.agents.hosts.scripted import EVENTS, JSON, Endpoint, Script, Step, listening


def tool_results(body: dict[str, Any]) -> list[str]:
    """The texts of the results of tools that a request carries."""
    found = []
    for message in body["messages"]:
        for part in message["content"] if isinstance(message["content"], list) else []:
            if part["type"] == "tool_result":
                content = part["content"]
                found.append(
                    content if isinstance(content, str) else "".join(p.get("text", "") for p in content)
                )
    return found


@contextmanager
def endpoint(script: Script, others: Mapping[str, Script] | None = None) -> Iterator[Endpoint]:
    """Serve scripts until the end of the block."""
    played = Endpoint("", script, tool_results, others=others or {})

    def answer(path: str, body: dict[str, Any]) -> tuple[str, str]:
        if not path.startswith("/v1/messages") or "count_tokens" in path:
            return JSON, json.dumps({"input_tokens": 1})
        message = _message(played.answer(body), body)
        return (EVENTS, "".join(_events(message))) if body.get("stream") else (JSON, json.dumps(message))

    with listening(answer) as played.url:
        yield played


def _message(step: Step, body: dict[str, Any]) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"type": "text", "text": step.words}]
    if step.tool:
        call = f"toolu_{len(tool_results(body)):04}"
        content.append({"type": "tool_use", "id": call, "name": step.tool, "input": step.arguments})
    return {
        "id": f"msg_{len(tool_results(body)):04}",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": content,
        "stop_reason": "tool_use" if step.tool else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": approximate_tokens(json.dumps(body)), "output_tokens": 10},
    }


def _events(message: dict[str, Any]) -> Iterator[str]:
    def event(kind: str, **fields: Any) -> str:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n"

    yield event("message_start", message={**message, "content": [], "stop_reason": None})
    for index, part in enumerate(message["content"]):
        if part["type"] == "text":
            start, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": part["text"]}
        else:
            start = {**part, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(part["input"])}
        yield event("content_block_start", index=index, content_block=start)
        yield event("content_block_delta", index=index, delta=delta)
        yield event("content_block_stop", index=index)
    yield event(
        "message_delta",
        delta={"stop_reason": message["stop_reason"], "stop_sequence": None},
        usage={"output_tokens": 10},
    )
    yield event("message_stop")
