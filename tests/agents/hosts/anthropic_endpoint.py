"""A model endpoint on loopback in the shape of Anthropic's API that plays a fixed session and remembers its requests.

A step of the script is what the model answers: words, and tools that it calls. The endpoint knows no host.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
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
        others: scripts of sub-agents, by the prompt that each is given.
        requests: the bodies of the requests that carry tools, which are those of the session itself.
        others_requests: those of sub-agents.
    """

    url: str
    script: Script
    requests: list[dict[str, Any]] = field(default_factory=list)
    others: Mapping[str, Script] = field(default_factory=dict)
    others_requests: list[dict[str, Any]] = field(default_factory=list)

    def answer(self, body: dict[str, Any]) -> Step:
        """The step for a request: as many results of tools as it carries are done."""
        if not body.get("tools"):
            return Step("A title")
        first = json.dumps(body["messages"][0])
        script = next((script for prompt, script in self.others.items() if prompt in first), None)
        (self.requests if script is None else self.others_requests).append(body)
        script, results = script or self.script, tool_results(body)
        step = script[min(len(results), len(script) - 1)]
        return step if isinstance(step, Step) else step(results)


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
    played = Endpoint("", script, others=others or {})

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"] or 0)))
            if not self.path.startswith("/v1/messages") or "count_tokens" in self.path:
                return self._send("application/json", json.dumps({"input_tokens": 1}))
            step = played.answer(body)
            message = _message(step, body)
            if not body.get("stream"):
                return self._send("application/json", json.dumps(message))
            return self._send("text/event-stream", "".join(_events(message)))

        def do_GET(self) -> None:
            self._send("application/json", "{}")

        do_HEAD = do_GET  # noqa: N815 - the base class names it

        def _send(self, kind: str, text: str) -> None:
            data = text.encode()
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, request: Any, client_address: Any) -> None:
            pass  # the host drops connections when it ends

    server = Server(("127.0.0.1", 0), Handler)
    played.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield played
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


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
        "usage": {"input_tokens": 10, "output_tokens": 10},
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
