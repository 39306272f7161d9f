"""Services that get what is hostile: each must answer it or refuse it, and the next ordinary request at once.

`lamr http`, `lamr mcp` and the hooks' server run while the cases do. The ordinary request is asked before and after.
"""

import contextlib
import http.client
import json
import queue
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any

from tests.agents.samples import CODE, TASK
from tests.attack.case import Case
from tests.attack.hooks.calling import call, said
from tests.attack.place import LAMR, PATIENCE, Place
from tests.processes import eventually

QUESTION = "What does handler_30 write?"
_SECONDS = 60.0
_LEAST = 0.25  # seconds of an ordinary request
_numbers = count()


class Service:
    """A process, and how it is asked: `prune` gives the words for an answer, `raw` those for bytes."""

    def __init__(
        self, place: Place, *command: str | Path, variables: Mapping[str, str] | None = None
    ) -> None:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        environment = place.environment({"OMP_NUM_THREADS": "1", **(variables or {})})
        self.process = subprocess.Popen([LAMR, *command], cwd=place.folder, env=environment, **pipes)  # type: ignore[call-overload]

    def prune(self, text: str, path: str) -> str:
        raise NotImplementedError

    def raw(self, data: bytes) -> str:
        raise NotImplementedError

    def ordinary(self) -> float:
        """The seconds that a request takes that everybody may send, with a text that wasn't sent before."""
        begin = time.monotonic()
        told = self.prune(f"# {next(_numbers)}\n{CODE}", "/w/a.py")
        assert told == "pruned", told
        return time.monotonic() - begin

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


class Http(Service):
    """`lamr http`."""

    def __init__(self, place: Place) -> None:
        with socket.socket() as holder:
            holder.bind(("127.0.0.1", 0))
            self.port = holder.getsockname()[1]
        super().__init__(place, "http", "--port", str(self.port))
        assert eventually(lambda: self.raw(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n") == "200")

    def prune(self, text: str, path: str) -> str:
        body = json.dumps({"query": QUESTION, "code": text, "path": path, "effort": "instant"})
        caller = http.client.HTTPConnection("127.0.0.1", self.port, timeout=_SECONDS)
        with contextlib.closing(caller):
            caller.request("POST", "/v1/prune", body, {"Content-Type": "application/json"})
            answer = caller.getresponse()
            answer.read()
        return "pruned" if answer.status == 200 else str(answer.status)

    def raw(self, data: bytes) -> str:
        with (
            contextlib.suppress(OSError),
            socket.create_connection(("127.0.0.1", self.port), _SECONDS) as caller,
        ):
            with contextlib.suppress(OSError):
                caller.sendall(data)
            return caller.recv(16)[9:12].decode() or "closed"
        return "closed"


class Mcp(Service):
    """`lamr mcp` on standard input and output."""

    def __init__(self, place: Place) -> None:
        super().__init__(place, "mcp", "--root", place.folder, "--effort", "instant")
        self._lines = queue.Queue[bytes]()
        threading.Thread(target=lambda: [*map(self._lines.put, self.process.stdout)], daemon=True).start()
        told = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "a", "version": "1"},
        }
        self._asked("initialize", told)
        self.raw(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')

    def prune(self, text: str, path: str) -> str:
        told = {"text": text, "question": QUESTION, "path": path}
        return self._asked("tools/call", {"name": "prune_text", "arguments": told})

    def raw(self, data: bytes) -> str:
        self.process.stdin.write(data + b"\n")
        self.process.stdin.flush()
        return "sent"

    def _asked(self, method: str, parameters: object) -> str:
        number = next(_numbers)
        asked = {"jsonrpc": "2.0", "id": number, "method": method, "params": parameters}
        self.raw(json.dumps(asked).encode())
        while (answer := json.loads(self._lines.get(timeout=_SECONDS))).get("id") != number:
            if "error" in answer and method != "initialize" and "surrogate" in str(answer):
                return "refused"
        return "refused" if "error" in answer or answer["result"].get("isError") else "pruned"


class Hook(Service):
    """The hooks' server."""

    def __init__(self, place: Place) -> None:
        place.folder.chmod(0o700)
        self._socket, self._log = str(place.folder / "s"), place.folder / "log.jsonl"
        self._log.write_text(json.dumps({"message": {"role": "user", "content": TASK}}) + "\n")
        options = ("--socket", self._socket, "--store", "shown.sqlite3", "--texts", "texts.sqlite3")
        super().__init__(place, "agents", "serve", *options)
        assert eventually(Path(self._socket).exists)

    def prune(self, text: str, path: str) -> str:
        file = {"filePath": path, "content": text, "startLine": 1}
        lines = text.count("\n") + 1
        shown = {"type": "text", "file": {**file, "numLines": lines, "totalLines": lines}}
        told: dict[str, Any] = {"tool_input": {"file_path": path}, "session_id": str(next(_numbers))}
        return self._said(call(tool_response=shown, transcript_path=str(self._log), **told))

    def raw(self, data: bytes) -> str:
        return self._said(data)

    def _said(self, data: bytes) -> str:
        with socket.socket(socket.AF_UNIX) as caller:
            caller.settimeout(_SECONDS)
            caller.connect(self._socket)
            with contextlib.suppress(OSError):
                caller.sendall(data)
                caller.shutdown(socket.SHUT_WR)
            parts = [*iter(lambda: caller.recv(1 << 16), b"")]
        return said(b"".join(parts))


SERVICES: Mapping[str, Callable[[Place], Service]] = {"lamr http": Http, "lamr mcp": Mcp, "the hooks": Hook}
_running = dict[str, Service]()


@contextlib.contextmanager
def setting() -> Iterator[None]:
    """Each service, in a place of its own."""
    with contextlib.ExitStack() as stack:
        for name, start in SERVICES.items():
            root = stack.enter_context(
                tempfile.TemporaryDirectory(prefix="lamr-", ignore_cleanup_errors=True)
            )
            _running[name] = start(Place(Path(root)))
            stack.callback(_running[name].end)
            _running[name].ordinary()  # the first one loads the model
        yield


_LOG = '2024-01-02 12:00:01,5 [w-1] INFO a.B$C: (status: 200) "GET /d?e=%" <f>\n'
TEXTS: Mapping[str, tuple[str, str]] = {
    "100,000 open brackets": ("a.py", "(" * 100_000),
    "100,000 open lists of JSON": ("a.json", "[" * 100_000),
    "100,000 tags in one another": ("a.html", "<a>" * 100_000),
    "900 levels of indentation": ("a.py", "".join(" " * n + "if a:\n" for n in range(900))),
    "a log as Python": ("a.py", _LOG * 5_000),
    "a log as C": ("a.c", _LOG * 5_000),
    "C as Python": ("a.py", "int f(int a)\n{\n    if (a) { return a; }\n}\n" * 5_000),
    "Python as PHP": ("a.php", "def f(a, b):\n    return a + b\n" * 5_000),
    "prose as Java": ("a.java", "It's the % of \"these\" things; yes, don't (see below) do that.\n" * 5_000),
    "1 MB of one token": ("a.js", "a" * 1_000_000),
    "1 MB in one line": ("a.js", "a(b);" * 200_000),
    "1 MB of quotes": ("a.py", "'" * 1_000_000),
    "1 MB of back slashes": ("a.c", "\\" * 1_000_000),
    "1 MB without a language": ("a", "a b\n" * 250_000),
    "7 MB of statements": ("a.py", "a = 1\n" * 1_200_000),
    "200,000 empty lines": ("a.py", "\n" * 200_000),
    "200,000 ends of all kinds": ("a.py", "a\r\r\n\u2028\x0c" * 40_000),
    "half characters": ("a.py", "x = '\ud800'\n" * 1_000),
    "NULs": ("a.c", "\0" * 100_000),
    "characters that nobody sees": ("a.py", "\u202e\u3164\U000e0041\n" * 10_000),
    "opened comments": ("a.c", "/* a\n" * 20_000),
    "opened here-documents": ("a.sh", "cat <<E\n" * 20_000),
    "opened conditions": ("a.c", "#if A\n" * 20_000),
    "conflicts": ("a.py", "<<<<<<< a\nb = 1\n=======\nb = 2\n>>>>>>> c\n" * 5_000),
    "imports of all names": ("a.py", "from m import *\nprint(x)\n" * 5_000),
    "marks of lamr's": ("a.py", "# ... 1-9 pruned\n# [lamr: not pruned]\n" * 5_000),
    "a path of 100 kB": ("a" * 100_000 + ".py", CODE),
    "a path with control characters": ("\x1b[2J\0\u202e.py", CODE),
}  # fmt: skip
_HEAD = b"POST /v1/prune HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


def _posted(body: bytes, head: bytes = _HEAD) -> bytes:
    return head + b"Content-Length: %d\r\n\r\n" % len(body) + body


def _named(name: str, value: bytes) -> bytes:
    return b'{"jsonrpc": "2.0", "id": "x", "method": "%s", "params": %s}' % (name.encode(), value)


_JSON = {
    "no JSON": b"nonsense" * 1_000,
    "no UTF-8": b"\xff\xfe" * 1_000,
    "NULs": bytes(100_000),
    "half an object": b'{"query": "a", "code": "',
    "100,000 brackets": b"[" * 100_000,
    "100,000 objects": b'{"a":' * 100_000,
    "1,000,000 numbers": b"[" + b"1," * 1_000_000 + b"1]",
    "20,000 keys": b"{" + b",".join(b'"a%d": 1' % n for n in range(20_000)) + b"}",
    "a number of 100,000 digits": b'{"query": "a", "code": ' + b"9" * 100_000 + b"}",
    "NaN": b'{"query": "a", "code": "b", "ratio": NaN}',
    "half a character": b'{"query": "\\ud800", "code": "\\udfff"}',
    "8 MB of spaces": b" " * 8_000_000,
}
RAW: Mapping[str, Mapping[str, bytes]] = {
    "lamr http": {
        **{name: _posted(body) for name, body in _JSON.items()},
        "no HTTP": b"\0\xff" * 10_000,
        "another host's name": _posted(b"{}", _HEAD.replace(b"localhost", b"a.example")),
        "a body that ends early": _HEAD + b"Content-Length: 5000\r\n\r\n{",
        "a length below 0": _HEAD + b"Content-Length: -1\r\n\r\n",
        "two lengths": _HEAD + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n{}",
        "broken chunks": _HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n",
        "5,000 headers": _HEAD + b"X: y\r\n" * 5_000 + b"\r\n",
        "a path of 100 kB": b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
    },
    "lamr mcp": {
        **_JSON,
        "a batch": b"[" + _named("ping", b"{}") + b"]",
        "a message in frames of another protocol": b"Content-Length: 2\r\n\r\n{}",
        "an answer that nobody asked for": b'{"jsonrpc": "2.0", "id": 999, "result": {}}',
        "a method of 1 MB": _named("a" * 1_000_000, b"{}"),
        "parameters that are a number": _named("tools/call", b"7"),
        "half a character in a message": _named("tools/call", b'{"name": "\\ud800"}'),
        "an id that is a list": b'{"jsonrpc": "2.0", "id": [1], "method": "ping"}',
    },
    "the hooks": {
        **_JSON,
        "nothing": b"",
        "an unknown host": call(lamr_host="\ud800nobody"),
        "an unknown event": call(hook_event_name=7),
        "a result of 100,000 lists": call()[:-1] + b', "tool_response": ' + b"[" * 100_000,
    },
}


def _tried(service: str, send: Callable[[Service], str]) -> Callable[[Place], str]:
    def attempt(_place: Place) -> str:
        running = _running[service]
        before = running.ordinary()
        told = send(running)
        after = running.ordinary()
        soon = after <= PATIENCE * max(before, _LEAST)
        return f"{told}; the next {'at once' if soon else f'LATE: {after:.2f} s, {before:.2f} before'}"

    return attempt


def _text(service: str, path: str, text: str) -> Callable[[Place], str]:
    return _tried(service, lambda running: running.prune(text, path))


def _bytes(service: str, data: bytes) -> Callable[[Place], str]:
    return _tried(service, lambda running: running.raw(data))


_ANSWERED = r"(pruned|refused|sent|closed|as it came|4\d\d|\[lamr: .*\]); the next at once"
CASES: tuple[Case, ...] = (
    *(
        Case(service, f"gets {kind}", _text(service, path, text), _ANSWERED, 30)
        for service in SERVICES
        for kind, (path, text) in TEXTS.items()
    ),
    *(
        Case(service, f"gets bytes: {kind}", _bytes(service, data), _ANSWERED)
        for service, kinds in RAW.items()
        for kind, data in kinds.items()
    ),
)
