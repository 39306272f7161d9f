"""Every command in a fresh home, watched: what it looks up, where it connects to, and what it leaves."""

import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from functools import partial

from lamr_serving.launcher.server_options import free_ports

from tests.attack.case import Case
from tests.attack.place import LAMR, Place
from tests.attack.served import CODE, served
from tests.attack.watched import Watch
from tests.processes import eventually


def reports(*arguments: str, send: bytes = b"") -> Callable[[Place], str]:
    def attempt(place: Place) -> str:
        (place.folder / "a.py").write_text(CODE * 9)
        (place.folder / "jobs.jsonl").write_text(json.dumps({"query": "x", "code": "a = 1\n"}) + "\n")
        watch = Watch(place)
        done = place.lamr(*arguments, send=send, seconds=30, variables=watch.variables)
        return f"exit {done.code}; {watch.said()}"

    return attempt


def serve_reports(place: Place) -> str:
    watch = Watch(place)
    with served(place, **watch.variables) as server:
        said = server.prunes()
        time.sleep(3)
    return f"{said}; {watch.said()}"


def http_reports(place: Place) -> str:
    watch = Watch(place)
    (port,) = free_ports("127.0.0.1", 1)
    command = [LAMR, "http", "--port", str(port)]
    with subprocess.Popen(
        command, cwd=place.folder, env=place.environment(watch.variables), stderr=subprocess.DEVNULL
    ) as process:
        body = json.dumps({"query": "launch code", "code": CODE}).encode()
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}/prune", body, {"Content-Type": "application/json"}
        )
        said = _asked(request, seconds=60)
        process.terminate()
    return f"{said}; {watch.said()}"


def hook_reports(place: Place) -> str:
    """The hook's local server answers a call and ends."""
    watch = Watch(place)
    path = place.folder / "s"
    command = [LAMR, "agents", "serve", "--socket", str(path)]
    with subprocess.Popen(
        command, cwd=place.folder, env=place.environment(watch.variables), stderr=subprocess.DEVNULL
    ) as process:
        eventually(lambda: path.exists() or process.poll() is not None, 60)
        time.sleep(2)
        process.terminate()
    return f"ran; {watch.said()}"


def library_reports(place: Place) -> str:
    """A user's own program that prunes in process, without the command."""
    watch = Watch(place)
    code = f"from lamr_client import Pruner\nwith Pruner() as p: p.prune('launch code', {CODE!r})"
    done = place.run(sys.executable, "-c", code, seconds=30, variables=watch.variables)
    return f"exit {done.code}; {watch.said()}"


def the_watch_sees(place: Place) -> str:
    """The watch itself: a lookup and a connection are seen."""
    watch = Watch(place)
    code = (
        "import socket, pathlib\n(pathlib.Path.home() / 'left').touch()\n"
        "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect(('192.0.2.1', 9))\n"
        "try: socket.getaddrinfo('nowhere.invalid', 80)\nexcept OSError: pass\n"
    )
    place.run(sys.executable, "-c", code, variables=watch.variables)
    return watch.said()


def _asked(request: urllib.request.Request, seconds: float) -> str:
    """The status of an answer, from a server that may not listen yet."""
    until = time.monotonic() + seconds
    while True:
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return str(answer.status)
        except OSError as error:
            if time.monotonic() > until:
                return str(error)
            time.sleep(0.2)


_case = partial(Case, "reports")
_quick = partial(Case, "reports", quick=True)
CASES = (
    _quick(
        "the watch sees a lookup, a connection and a file",
        the_watch_sees,
        r"away connect 192\.0\.2\.1, lookup nowhere\.invalid; foreign left",
        5,
    ),
    _quick("prune", reports("prune", "a.py", "-q", "launch"), "exit 0; nothing", 5),
    _case("pack", reports("pack", ".", "-q", "launch"), "exit 0; nothing", 8),
    _case("status", reports("status"), "exit 0; nothing", 3),
    _case("batch", reports("batch", "jobs.jsonl", "-o", "out"), "exit 0; nothing", 10),
    _case("mcp", reports("mcp", send=b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'), "exit 0; nothing", 5),
    _case("serve", serve_reports, "answers; nothing", 15),
    _case("http", http_reports, "200; nothing", 15),
    _case("the hook's server", hook_reports, "ran; nothing", 15),
    _case("lamr as a library", library_reports, "exit 0; nothing", 8),
)
