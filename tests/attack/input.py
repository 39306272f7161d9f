"""What callers send and servers answer: expressions, bodies, connections, lies, escape sequences, rows, model files.

The cases over HTTP share a server, which `setting` starts.
"""

import contextlib
import hashlib
import http.client
import io
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from lamr_agents.mcp.workspace import Workspace
from lamr_client import LamrError, Pruner, bundled_repository
from lamr_postprocess.patterns import LineSearch, check_expressions

from tests.attack.case import Case
from tests.attack.place import LAMR, Place
from tests.tiny import IN_FULL

CODE = "".join(f"def f{i}(a):\n    return a + {i}\n\n" for i in range(12))
BODY = {"query": "what does f7 return", "code": CODE, "path": "a.py"}
NASTY = "\x1b]0;owned\x07\x1b[2J\u202e\n"


# Expressions

EXPRESSIONS: Mapping[str, str] = {
    "a count within counts": "(?:(?:a{1000}){1000}){1000}",
    "a count of classes": r"(?:\pL{1000}){2}",
    "repetitions within repetitions": "(a+)+$",
    "alternatives that overlap": "^(a|aa)+$",
    "many optional letters": "(?:a?){500}a{500}",
    "a set of a million": "[" + "".join(chr(0x100 + n % 50000) for n in range(1_000_000)) + "]",
    "two hundred thousand alternatives": "a|" * 200_000,
    "five thousand brackets": "(" * 5000,
    "recursion": "(?R)",
    "look-around": "(?<=a+)b(?!c)",
    "back references": r"(a*)*\1",
    "states without end": "[ab]*a[ab]{900}x",
    "nothing": "",
    "ends alone": "^$|$^",
    "case of every letter": "(?i)" + "\u017f\u212a\u00e9" * 2000,
    "half a character": "\ud800",
}


def _search(pattern: str) -> Callable[[Place], str]:
    def attempt(_place: Place) -> str:
        begin = time.process_time()
        try:
            check_expressions([pattern], "keep")
            list(LineSearch(pattern, "keep").found(["ab" * 1500, "a" * 3000 + "!", "é" * 3000] * 5))
            said = "searched"
        except LamrError:
            said = "refused"
        return f"{said}; {'soon' if time.process_time() - begin < 5 else 'late'}"

    return attempt


# Over HTTP


class _Site:
    """The server that the cases over HTTP share."""

    port = 0
    process: subprocess.Popen[bytes]


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextlib.contextmanager
def _serving(*options: str) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    port = _free_port()
    with subprocess.Popen(
        [LAMR, "http", "--port", str(port), *options], stderr=subprocess.DEVNULL, cwd=os.sep
    ) as process:
        try:
            for _ in range(600):
                with contextlib.suppress(OSError):
                    socket.create_connection(("127.0.0.1", port)).close()
                    break
                time.sleep(0.1)
            yield port, process
        finally:
            process.terminate()


@contextlib.contextmanager
def setting() -> Iterator[None]:
    """Run the server that the cases over HTTP share; it answers four requests at once."""
    with _serving("--max-requests", "4") as (_Site.port, _Site.process):
        yield


def _ask(
    method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None
) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", _Site.port, timeout=30)
    sent = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
    try:
        connection.request(method, path, sent, {"Content-Type": "application/json", **(headers or {})})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def _held(count: int, sends: bytes) -> contextlib.ExitStack:
    stack = contextlib.ExitStack()
    for _ in range(count):
        one = stack.enter_context(socket.create_connection(("127.0.0.1", _Site.port)))
        one.sendall(sends)
    return stack


def _while_held(count: int, sends: bytes) -> Callable[[Place], str]:
    """Whether others are answered while so many connections send this and no more."""

    def attempt(_place: Place) -> str:
        begin = time.monotonic()
        with _held(count, sends):
            statuses = {_ask("POST", "/v1/prune", BODY)[0] for _ in range(3)}
        return f"{statuses}; {'soon' if time.monotonic() - begin < 20 else 'late'}"

    return attempt


def _body(body: bytes, headers: Mapping[str, str] | None = None) -> Callable[[Place], str]:
    def attempt(_place: Place) -> str:
        begin = time.monotonic()
        status, said = _ask("POST", "/v1/prune", body, headers)
        took = "soon" if time.monotonic() - begin < 10 else "late"
        well = _ask("GET", "/livez")[0]
        return f"{status}; {len(said) < 20_000}; {took}; {well}"

    return attempt


def _memory(_place: Place) -> str:
    expression = {**BODY, "keep": [EXPRESSIONS["a count within counts"]] * 50}
    status = _ask("POST", "/v1/prune", expression)[0]
    kib = int(re.findall(r"VmHWM:\s+(\d+)", Path(f"/proc/{_Site.process.pid}/status").read_text())[0])
    return f"{status}; {'small' if kib < 2 << 20 else 'large'}"


def _raw(sends: bytes) -> Callable[[Place], str]:
    def attempt(_place: Place) -> str:
        with socket.create_connection(("127.0.0.1", _Site.port), timeout=20) as one:
            try:
                one.sendall(sends)
                answer = one.recv(200)
            except OSError:
                answer = b""
        return f"{answer[9:12].decode()}; {_ask('GET', '/livez')[0]}"

    return attempt


def _stop(_place: Place) -> str:
    with _serving() as (port, process), socket.create_connection(("127.0.0.1", port)) as slow:
        slow.sendall(SLOW)
        time.sleep(0.5)
        begin = time.monotonic()
        process.send_signal(signal.SIGTERM)
        process.wait(60)
        return "soon" if time.monotonic() - begin < 5 else "late"


def _dead_server(_place: Place) -> str:
    with _serving("--server", f"127.0.0.1:{_free_port()}") as (port, _):
        statuses = []
        for path in ("/livez", "/readyz", "/health"):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            connection.request("GET", path)
            statuses.append(connection.getresponse().status)
            connection.close()
        return str(statuses)


GZIP = {"Content-Encoding": "gzip"}
PAGE = {"Origin": "http://evil.example"}
SLOW = b"POST /v1/prune HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n{"
BOTH = b"POST /v1/prune HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
CHUNKED = b"POST /v1/prune HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"


# Servers that lie

_LIAR = """
import sys, time, grpc, numpy as np
from concurrent.futures import ThreadPoolExecutor
from lamr_model.spec import bundled_repository, load_spec
from tritonclient.grpc import service_pb2 as pb, service_pb2_grpc as pbg
how, spec = sys.argv[1], load_spec(bundled_repository())
class Liar(pbg.GRPCInferenceServiceServicer):
    def ServerReady(self, request, context): return pb.ServerReadyResponse(ready=True)
    def ModelConfig(self, request, context):
        if how == "hangs": time.sleep(20)
        answer = pb.ModelConfigResponse()
        served = "\\x1b[2J" * 10000 if how == "fingerprint" else spec.fingerprint
        answer.config.parameters["lamr_fingerprint"].string_value = served
        answer.config.parameters["x"].string_value = "x" * (50 << 20) if how == "configuration" else ""
        return answer
    def ModelInfer(self, request, context):
        if how == "message": context.abort(grpc.StatusCode.INTERNAL, "\\x1b]0;owned\\x07\\n" * 90)
        if how == "quota": context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "come back in %s s" % ("9" * 300))
        if how == "trailers": context.set_trailing_metadata([("x", "y" * 5000)] * 50)
        if how == "gzip": context.set_compression(grpc.Compression.Gzip)
        answer = pb.ModelInferResponse()
        for name in ("keep", "keep_prob", "rubric_prob", "gate", "relevance") * (1000 if how == "twice" else 1):
            answer.outputs.add(name=name, datatype="BYTES" if how == "strings" else "FP32", shape=[-1, 10**15])
            size = {"large": 60 << 20, "gzip": 20 << 20}.get(how, 40)
            answer.raw_output_contents.append(b"\\1\\0\\0\\0x" * (size // 5))
        return answer
server = grpc.server(ThreadPoolExecutor(4), options=[("grpc.max_send_message_length", -1)])
pbg.add_GRPCInferenceServiceServicer_to_server(Liar(), server)
print(server.add_insecure_port("127.0.0.1:0"), flush=True)
server.start()
sys.stdin.read()
"""


def _lie(how: str) -> Callable[[Place], str]:
    def attempt(_place: Place) -> str:
        command = [sys.executable, "-c", _LIAR, how]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as liar:
            assert liar.stdout is not None
            assert liar.stdin is not None
            address = f"127.0.0.1:{int(liar.stdout.readline())}"
            begin = time.monotonic()
            try:
                with Pruner(address, timeout=5.0) as pruner:
                    pruner.prune("what does f7 return", CODE, **IN_FULL)
                said = "answered"
            except LamrError as error:
                fit = str(error).isprintable() and len(str(error)) < 1000
                said = f"{type(error).__name__}, {'fit' if fit else 'unfit'} for a terminal"
            took = "in time" if time.monotonic() - begin < 8 else "late"
            liar.stdin.close()
            liar.kill()
            return f"{said}; {took}"

    return attempt


# Terminals


def _command(*arguments: str) -> Callable[[Place], str]:
    """Whether a command that is about a file of a nasty name passes the name on."""

    def attempt(place: Place) -> str:
        name = f"a{NASTY.strip()}.py"
        (place.folder / name).write_text(CODE)
        ran = place.lamr(*(each.replace("NAME", name) for each in arguments))
        nasty = {letter for letter in NASTY if ord(letter) < 32 or ord(letter) > 126} - {"\n"}
        text = ran.err.decode("utf-8", "replace") + ran.out.decode("utf-8", "replace")
        return f"exit {ran.code}; {'passed on' if nasty & set(text) else 'visible'}"

    return attempt


# Workspaces, batches and models


def _read(path: str) -> Callable[[Place], str]:
    def attempt(place: Place) -> str:
        (place.folder / "loop").symlink_to("loop")
        (place.folder / "out.py").symlink_to(place.home / "secret.py")
        (place.home / "secret.py").write_text("SECRET42\n")
        os.mkfifo(place.folder / "fifo")
        try:
            return Workspace([place.folder]).read(path)
        except LamrError as error:
            return type(error).__name__

    return attempt


def _batch(jobs: str, *rows: str, link: bool = False) -> Callable[[Place], str]:
    def attempt(place: Place) -> str:
        (place.folder / "jobs.jsonl").write_text("".join(f"{row}\n" for row in rows))
        (place.folder / "victim").write_text("precious")
        (place.folder / "out").mkdir()
        if link:
            (place.folder / "out" / ".lock").symlink_to(place.folder / "victim")
        ran = place.lamr("batch", jobs, "--output", "out", "--no-cache", seconds=30)
        return f"{ran.said[:60]}; {(place.folder / 'victim').read_text()}"

    return attempt


def _model(file: str, change: Callable[[Path], object]) -> Callable[[Place], str]:
    def attempt(place: Place) -> str:
        copy = place.folder / "model"
        shutil.copytree(bundled_repository(), copy)
        change(next(copy.rglob(file)))
        (place.folder / "a.py").write_text(CODE)
        ran = place.lamr("prune", "a.py", "-q", "what does f7 return", "--model", copy, "--no-degrade")
        return f"{ran.code}; {b'Traceback (most recent' in ran.err}"

    return attempt


def _bomb(path: Path) -> None:
    """An archive of some MB that unpacks to a GiB and a half of zeros, in arrays that are what they say."""
    names = np.load(path).files
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name in names[:3]:
            head = io.BytesIO()
            shape = {"descr": "<f4", "fortran_order": False, "shape": (1 << 27,)}
            np.lib.format.write_array_header_1_0(head, shape)
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                file.write(head.getvalue())
                for _ in range(32):
                    file.write(bytes(1 << 24))


def _panics(path: Path) -> None:
    spec = path.with_name("lamr.json")
    data = json.loads(path.read_text())
    old = re.findall(r'"tokenizer_sha256": "([0-9a-f]+)"', spec.read_text())[0]
    path.write_text(
        json.dumps({**data, "normalizer": {"type": "Precompiled", "precompiled_charsmap": "AAAA"}})
    )
    spec.write_text(spec.read_text().replace(old, hashlib.sha256(path.read_bytes()).hexdigest()))


MANY = b",".join(b'"a%d": 1' % n for n in range(200_000))
_batch_case = partial(Case, "batch")
_http_case = partial(Case, "http")
_terminal_case = partial(Case, "terminal")
CASES: tuple[Case, ...] = (
    *(
        Case("expressions", name, _search(pattern), r"(searched|refused); soon", quick=True)
        for name, pattern in EXPRESSIONS.items()
    ),
    _http_case("bodies that don't come", _while_held(40, SLOW), r"\{200\}; soon", 20),
    _http_case("connections that ask nothing", _while_held(900, b""), r"\{200\}; soon", 20),
    _http_case("headers that don't end", _while_held(200, b"GET / HTTP/1.1\r\nX:"), r"\{200\}; soon", 20),
    _http_case("an expression that took 20 GB, fifty times", _memory, "422; small"),
    _http_case("brackets", _body(b"[" * 4_000_000), "400; True; soon; 200"),
    _http_case("unknown fields", _body(b"{" + MANY + b"}"), "422; True; soon; 200"),
    _http_case("no lines to keep", _body(b'{"keep": [' + b"[]," * 300_000 + b"1]}"), "422; True; soon; 200"),
    _http_case(
        "a number of 5,000 digits", _body(b'{"max_tokens":' + b"9" * 5000 + b"}"), "4..; True; soon; 200"
    ),
    _http_case("a gzip body", _body(b"\x1f\x8b" + b"\0" * 99, GZIP), "4..; True; soon; 200"),
    _http_case("a web page", _body(json.dumps(BODY).encode(), PAGE), "403; True; soon; 200"),
    _http_case(
        "a name that leads here", _raw(b"GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n"), "403; 200"
    ),
    _http_case("300,000 chunks of a byte", _raw(CHUNKED + b"1\r\nx\r\n" * 300_000), "(400)?; 200"),
    _http_case("a header of a megabyte", _raw(b"GET / HTTP/1.1\r\nX: " + b"a" * 1_000_000), "(400)?; 200"),
    _http_case("two lengths", _raw(SLOW.replace(b"5000", b"5\r\nContent-Length: 6")), "400; 200"),
    _http_case("length and chunks", _raw(BOTH), "4..; 200"),
    _http_case("a stop while a body is slow", _stop, "soon", 20),
    _http_case("a dead server behind", _dead_server, r"\[200, 503, 503\]", 20),
    *(
        Case("client", f"a server that lies: {how}", _lie(how), rf"{error}, fit for a terminal; in time")
        for how, error in {
            "large": "ServerError",
            "gzip": "ServerError",
            "configuration": "ServerError",
            "strings": "ModelMismatchError",
            "shapes": "ModelMismatchError",
            "twice": "(ModelMismatchError|ServerError)",
            "message": "ServerError",
            "fingerprint": "ModelMismatchError",
            "trailers": r"\w+Error",
            "quota": "QuotaExceededError",
            "hangs": "DeadlineExceededError",
        }.items()
    ),
    _terminal_case("prune", _command("prune", "NAME", "-q", "what does f7 return"), "exit 0; visible"),
    _terminal_case("view", _command("view", "NAME", "-q", "what does f7 return"), "exit 0; visible"),
    _terminal_case("pack", _command("pack", ".", "-q", "f7"), "exit 4; visible"),
    _terminal_case("what isn't there", _command("prune", "no/NAME", "-q", "x"), "exit 2; visible"),
    *(
        Case("mcp", f"a path: {path[:20]!r}", _read(path), "(OutsideRoots|InvalidInput)Error", quick=True)
        for path in (
            "../secret.py",
            "out.py",
            "loop",
            "fifo",
            "x" * 5000,
            "/proc/self/environ",
            "a\0b",
            "a/" * 3000,
        )
    ),
    _batch_case("a lock that is a link", _batch("jobs.jsonl", link=True), r"exit 2; lamr: .*; precious", 20),
    _batch_case("jobs without end", _batch("/dev/zero"), r"exit 2; lamr: .*; precious", 20),
    _batch_case("a URL of templates", _batch("reference://x"), r"exit 2; lamr: .*; precious", 20),
    _batch_case("brackets as a row", _batch("jobs.jsonl", "[" * 200_000), r"exit 4; 1 rows.*; precious", 20),
    Case("model", "an archive that unpacks to 1.5 GiB", _model("decoder.npz", _bomb), "3; False", 30),
    Case("model", "a tokenizer that makes its library panic", _model("tokenizer.json", _panics), "3; False"),
)
