"""The ways in which callers reach the line model: in process, the command, HTTP, and a hook; for `same_output.py`.

Each takes a question and a file and gives the text that its caller sees, with cuts that name definitions as the hook's
do.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from lamr_agents.policy import Policy
from lamr_agents.thin import NOTE
from lamr_client import Pruner, PruneResult
from lamr_client.prune_options import decode_code
from lamr_serving import ServerOptions
from lamr_serving.launcher.addresses import free_ports

from benchmarks import agents
from benchmarks.front.site import start_server

Way = Callable[[str, Path], str | None]
"""Takes a question and a file; gives what is seen of it, None where all of it is."""
ALIKE: dict[str, Any] = {"effort": "instant", "markers": "named"}
EAGER = Policy(least_tokens=0, least_lines=0, least_saving=-9.0, least_relevance=0.0)
"""The hook prunes whatever its process hands over."""
_READY_SECONDS = 60.0


class Instant:
    """A pruner that answers hooks by its line model."""

    def __init__(self, pruner: Pruner) -> None:
        self.prune: Callable[..., PruneResult] = partial(pruner.prune, effort="instant")


def ways(stack: ExitStack, repository: Path, folder: Path) -> dict[str, Way]:
    """Start what the ways lead to; the stack ends it.

    Args:
        stack: of what is started.
        repository: the model's.
        folder: an empty one.
    """
    server = start_server(stack, repository, ServerOptions(restart=True)).addresses.grpc
    pruner = stack.enter_context(Pruner(model=repository))
    (port,) = free_ports("127.0.0.1", 1)
    http = subprocess.Popen(_lamr("http", "--port", str(port), "--server", server), stderr=subprocess.DEVNULL)
    stack.callback(http.wait)
    stack.callback(http.terminate)
    _await(f"http://127.0.0.1:{port}/readyz")
    socket = stack.enter_context(agents.serving(folder, lambda: Instant(pruner), EAGER))
    return {
        "in process": partial(_in_process, pruner),
        "--server": partial(_by_command, server),
        "lamr http": partial(_over_http, port),
        "hook": partial(_by_hook, socket, folder, count()),
    }


def read(path: Path) -> str:
    """A file's text in whatever encoding it has, which hosts and callers of HTTP hand over."""
    return decode_code(path.read_bytes()).text


def _in_process(pruner: Pruner, query: str, path: Path) -> str:
    return pruner.prune(query, path.read_bytes(), path=path, **ALIKE).text


def _by_command(server: str, query: str, path: Path) -> str:
    options = (
        "-q",
        query,
        "--server",
        server,
        "--effort",
        "instant",
        "--markers",
        "named",
        "--json",
        "--quiet",
    )
    done = subprocess.run(_lamr("prune", str(path), *options), stdout=subprocess.PIPE, check=True)
    return str(json.loads(done.stdout)["text"])


def _over_http(port: int, query: str, path: Path) -> str:
    body = {"query": query, "code": read(path), "path": str(path), **ALIKE}
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/v1/prune", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request) as answer:
        return str(json.load(answer)["text"])


def _by_hook(socket: Path, folder: Path, calls: count[int], query: str, path: Path) -> str | None:
    """What the hook shows, without the words of its own at the end; None where its rules leave the file whole."""
    transcript = folder / "transcript.jsonl"
    transcript.write_text(agents.said(query), encoding="utf-8")
    data = agents.payload(next(calls), transcript, read(path), str(path))
    printed = agents.call(socket, data).printed
    output = json.loads(printed or b"{}").get("hookSpecificOutput", {}).get("updatedToolOutput")
    if output is None:
        return None
    text, _, own = output["file"]["content"].rpartition(f"{NOTE} ")[0].rpartition(f"{NOTE} ")
    assert own.endswith("]\n"), own
    return str(text)


def _lamr(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "lamr_cli.main", *arguments]


def _await(url: str) -> None:
    """Wait until something answers well there."""
    end = time.monotonic() + _READY_SECONDS
    while True:
        try:
            with urllib.request.urlopen(url):
                return
        except OSError:  # nobody listens yet, or says that it isn't ready
            if time.monotonic() > end:
                raise
            time.sleep(0.1)
