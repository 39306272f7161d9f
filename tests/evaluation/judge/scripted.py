"""A scripted OpenAI-compatible server: it answers by a function, fails as told, and counts what it was asked."""

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.http_server import Reply, Request, answering

Answer = Callable[[dict[str, Any]], str]
"""Takes a request's JSON and gives the answer's text."""


def words(text: str) -> int:
    """The server's tokens are words."""
    return len(text.split())


@dataclass
class Scripted:
    """The server's script and its account.

    Attributes:
        answer: gives a request's answer.
        failures: statuses that the next requests get, first to last, in place of an answer.
        refuses: gives the message with which a request is refused by 400, or None.
        requests: all that came.
        paid: tokens read and written of answered requests.
        counts: whether it says how many tokens it counted.
        spoil: changes an answer before it is sent.
        finish: why its answers end.
        held: an event that every answer waits for, or None."""

    answer: Answer
    failures: list[int] = field(default_factory=list)
    refuses: Callable[[dict[str, Any]], str | None] = lambda _: None
    requests: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    paid: list[int] = field(default_factory=lambda: [0, 0])
    counts: bool = True
    spoil: Callable[[Any], Any] = lambda reply: reply
    finish: str = "stop"
    most_at_once: int = 0
    held: threading.Event | None = None

    def __post_init__(self) -> None:
        self._turn, self._under_way = threading.Lock(), 0

    def _reply(self, path: str, body: dict[str, Any], key: str | None) -> tuple[int, dict[str, Any]]:
        assert path == "/v1/chat/completions"
        with self._turn:
            self.requests.append(body)
            self.keys.append(key)
            failure = self.failures.pop(0) if self.failures else None
            self._under_way += 1
            self.most_at_once = max(self.most_at_once, self._under_way)
        try:
            if failure is not None:
                return failure, {"error": {"message": "scripted failure"}}
            if (why := self.refuses(body)) is not None:
                return 400, {"error": {"message": why}}
            if self.held is not None:
                assert self.held.wait(60)
            text = self.answer(body)
            read = sum(words(each["content"]) for each in body["messages"])
            with self._turn:
                self.paid[0] += read
                self.paid[1] += words(text)
            return 200, self.spoil(
                _completion(body["model"], text, self.finish, read if self.counts else None)
            )
        finally:
            with self._turn:
                self._under_way -= 1

    def _told(self, request: Request) -> Reply:
        key = request.headers.get("Authorization")
        status, reply = self._reply(request.path, json.loads(request.body), key)
        wait = {"Retry-After": "0.01"} if status == 429 else {}
        return status, json.dumps(reply).encode(), {"Content-Type": "application/json", **wait}

    def __enter__(self) -> "Scripted":
        self._server = answering(self._told)
        self.url = self._server.__enter__() + "/v1"
        return self

    def __exit__(self, *exception: Any) -> None:
        self._server.__exit__(*exception)


def _completion(model: str, text: str, finish: str, read: int | None) -> dict[str, Any]:
    usage = (
        {} if read is None else {"prompt_tokens": read, "completion_tokens": words(text), "total_tokens": 0}
    )
    return {
        "id": "scripted",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [{"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text}}],
        **({"usage": usage} if usage else {}),
    }
