"""Whether memory grows with the number of requests that were answered.

    python -m benchmarks.memory [--repository DIR] [--threads N] [--full] [--json]
    python -m benchmarks.memory --prunes 50000 | --http 20000

Sends chunks of mixed lengths, 16 always in flight, and compares the resident size of the server and its model processes
after 500 of them with that after 100; with `--full`, after 5,000 with that after 500, which is what the target is for.

With `--prunes` this process prunes so many new texts of all languages at `instant`; with `--http` a `lamr http` does.
The size at the end is compared with that after 5,000, or after a tenth of fewer."""

import argparse
import http.client
import json
import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
from lamr_client import GrpcTransport, Pruner
from lamr_model.spec import load_spec
from lamr_serving import ServerOptions, TritonServer

from benchmarks.load import chunks, closed_loop, resident_by_process, resident_mib
from benchmarks.report import Figure, model_options, run

LOOKS = 10  # at memory between the first and the last
FIRST_LOOK = 5_000
FIXTURES = Path(__file__).resolve().parents[1] / "tests/postprocess/fixtures"
QUESTION = "How is value {number} read, and what happens if it is missing?"


@dataclass(frozen=True)
class Text:
    """A text to be pruned, and what is asked of it."""

    query: str
    code: str
    path: str


def new_texts() -> Iterator[Text]:
    """Texts of 5 to 30 rows of one file, in every language, no two of them alike."""
    files = [
        (path.name, path.read_text(encoding="utf-8").splitlines()) for path in sorted(FIXTURES.iterdir())
    ]
    rng, number = random.Random(0), 0
    while True:
        number += 1
        name, rows = rng.choice(files)
        begin, length = rng.randrange(max(len(rows) - 5, 1)), rng.randint(5, 30)
        code = "\n".join(rows[begin : begin + length])
        for letter in rng.sample("abcdefghijklmnopqrst", 2):
            code = code.replace(letter, f"x{number}")
        yield Text(QUESTION.format(number=number), code, f"{number}-{name}")


def growth(name: str, pid: int, count: int, ask: Callable[[Text], object]) -> Iterator[Figure]:
    """Ask for so many texts; the resident size of a process and its children after the first of them and at the end."""
    texts, early = new_texts(), min(FIRST_LOOK, count // LOOKS)
    looks = [early, *(early + (count - early) * part // LOOKS for part in range(1, LOOKS + 1))]
    done, found = 0, list[float]()
    for look in looks:
        while done < look:
            ask(next(texts))
            done += 1
        processes = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
        found.append(sum(each.memory_info().rss for each in processes) / (1 << 20))
        yield Figure(f"{name}: resident after {look:,}", found[-1], "MiB")
    yield Figure(f"{name}: memory after {count:,} over {early:,}", found[-1] / found[0], "x", 1.10)


@contextmanager
def http_service() -> Iterator[tuple[int, int]]:
    """A `lamr http` of its own: its process and its port."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = int(one.getsockname()[1])
    command = [sys.executable, "-m", "lamr_cli.main", "http", "--port", str(port)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            while process.poll() is None:
                with suppress(OSError):
                    socket.create_connection(("127.0.0.1", port)).close()
                    break
                time.sleep(0.1)
            yield process.pid, port
        finally:
            process.terminate()


def posting(port: int) -> Callable[[Text], bytes]:
    """A function that asks a service on this port."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def ask(text: Text) -> bytes:
        body = {"query": text.query, "code": text.code, "path": text.path, "effort": "instant"}
        connection.request("POST", "/v1/prune", json.dumps(body), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        data = answer.read()
        if answer.status != http.HTTPStatus.OK:
            raise RuntimeError(f"{answer.status}: {data[:200]!r}")
        return data

    return ask


def measure(options: argparse.Namespace) -> Iterator[Figure]:
    """Of this process, of `lamr http`, or of Triton."""
    if options.prunes:
        with Pruner() as pruner:
            yield from growth(
                "this process",
                os.getpid(),
                options.prunes,
                lambda text: pruner.prune(text.query, text.code, path=text.path, effort="instant"),
            )
    if options.http:
        with http_service() as (pid, port):
            yield from growth("lamr http", pid, options.http, posting(port))
    if not (options.prunes or options.http):
        yield from measure_server(options)


def measure_server(options: argparse.Namespace) -> Iterator[Figure]:
    """Send all requests in steps and look at the memory after each step."""
    early, late = (500, 5000) if options.full else (100, 500)
    spec = load_spec(options.repository)
    work = chunks(spec.chunking.window, late)
    server = TritonServer(options.repository, ServerOptions(threads=options.threads))
    with server, GrpcTransport(server.addresses.grpc, spec) as transport:
        closed_loop(transport, work[:early])
        first, early_mib = resident_by_process(server.pid), resident_mib(server.pid)
        yield Figure(f"resident after {early:,} requests", early_mib, "MiB")
        step = (late - early) // LOOKS
        for begin in range(early, late, step):
            closed_loop(transport, work[begin : begin + step])
            late_mib = resident_mib(server.pid)
            yield Figure(f"  after {min(begin + step, late):,}", late_mib, "MiB")
        for name, mib in resident_by_process(server.pid).items():
            yield Figure(f"  growth of {name}", mib - first[name], "MiB")
    yield Figure(f"memory after {late:,} requests over {early:,}", late_mib / early_mib, "x", 1.05)


PARSER = model_options(__doc__)
PARSER.add_argument("--full", action="store_true", help="5,000 requests, which take a few minutes")
PARSER.add_argument("--prunes", type=int, help="texts that this process prunes")
PARSER.add_argument("--http", type=int, help="texts that a `lamr http` prunes")

if __name__ == "__main__":
    sys.exit(run(PARSER, measure))
