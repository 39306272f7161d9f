"""A session that is fixed beforehand: what the model answers, step by step. No step knows a host or an API."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

JSON, EVENTS = "application/json", "text/event-stream"
Answer = Callable[[str, dict[str, Any]], tuple[str, str]]
"""From a path and a body, the kind of the answer and its text."""


@contextmanager
def listening(answer: Answer) -> Iterator[str]:
    """Serve until the end of the block; gives the address."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"] or 0)) or b"{}")
            self._send(*answer(self.path, body))

        def do_GET(self) -> None:
            self._send(JSON, "{}")

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
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


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
        others_requests: the bodies of their requests.
    """

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
