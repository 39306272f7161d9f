"""Whether each call is answered in time and says what was read, whatever happens to those who read.

    python -m benchmarks.in_time [--only random missing killed …] [--calls 1000] [--seconds 15] [--json]

- `random`: calls with random `within` from 20 ms to 2 s about files of up to 2,000 lines, by turns in process and to a
  server. On an idle machine none may be late by more than 50 ms.
- `missing`: the encoder's file isn't there, in process; and a server that never was.
- `killed`: `kill -9` of a server, which its supervisor starts again.
- `hung`: a server stands still for three seconds.
- `half`: a front with two replicas, of which one is killed for good.
- `clock`: the time of day jumps by an hour, forwards and back, for server and callers (pip install libfaketime).
- `overloaded`: calls with `within=1` come four times as fast as the server reads whole files.

But in `random` and `overloaded` callers with and without an event loop ask with random `within`, for all chunks and
for the best.
Everything is on loopback, in processes of this program, and ends by itself: in about ten minutes, most of them for
`random`.
"""

from __future__ import annotations

import argparse
import io
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import psutil
from lamr_client import Pruner
from lamr_contract.names import ENCODER, ONNX_FILE, version_folder
from lamr_front.running import Front
from lamr_serving import ServerOptions

from benchmarks.asking import CODE, QUERY, STEADY_WITHIN, Answer, Prune, Steady, ask, looping, steady_callers
from benchmarks.front.site import Site, start_server
from benchmarks.load import WAITERS, arrivals
from benchmarks.report import Figure, model_options, read_figures, run
from benchmarks.sources import python_files

WITHIN = (0.02, 2.0)
"""Seconds; the least and the most that the calls of `random` have."""
LATE_MS = 50.0
MOST_LINES = 2_000
HUNG_SECONDS = 3.0
LOAD, OVERLOADED_MS = 4, 1150.0
AT_ONCE = (8, 64)
"""Chunks at once, of `overloaded`: those of one client, and as many as eight have."""
IN_FLIGHT, CAPACITY_CALLS = 4, 40
"""By how many calls, so many at once, the server's capacity is found."""
GONE, TIME, FULL = "server unavailable", "time", "server overloaded"
DAMAGED, FAILED = "encoder damaged", "encoder failed"
JUMPS = ("+3600", "+0")
"""Seconds that the time of day is ahead; never behind, since the kernel, which ends waits, knows nothing of it."""
DEAD = "127.0.0.1:9"  # the discard port: nothing listens


def figures(name: str, answers: list[Answer], *expected: str) -> Iterator[Figure]:
    """What became of calls, where reading may end for the reasons that are expected, and for time and scores."""
    yield Figure(f"{name}: calls", len(answers))
    for said, count in Counter(answer.said for answer in answers).most_common():
        yield Figure(f"  {name}: {said}", count)
    unexplained = sum(not answer.explained({TIME, "settled", *expected}) for answer in answers)
    late = [1e3 * (answer.took - answer.within) for answer in answers]
    yield Figure(f"  {name}: late, the worst", max(late), "ms")
    yield Figure(
        f"  {name}: late by more than {LATE_MS:g} ms", sum(each > LATE_MS for each in late), target=0
    )
    yield Figure(f"  {name}: without an answer", sum(answer.failed for answer in answers), target=0)
    yield Figure(f"  {name}: without a word of why not all was read", unexplained, target=0)


def back(name: str, steady: Steady) -> Figure:
    """Whether the encoder reads again, now that the fault is over."""
    return Figure(f"  {name}: reads again", steady.reading(), target=1, at_least=True)


def random_times(options: argparse.Namespace) -> Iterator[Figure | str]:
    """Calls with random times, one after the other."""
    chance = random.Random(0)
    files = [(path.name, code) for path, code in python_files(400) if 20 < code.count("\n") <= MOST_LINES]
    with ExitStack() as stack:
        server = start_server(stack, options.repository, served(options))
        pruners = [
            stack.enter_context(Pruner(address, model=options.repository))
            for address in (None, server.addresses.grpc)
        ]
        for pruner in pruners:
            pruner.prune(QUERY, CODE, effort="full")
        answers = []
        for number in range(options.calls):
            name, code = chance.choice(files)
            query = (
                f"How does {name} handle {' '.join(chance.choices(code.split(), k=chance.randint(1, 40)))}?"
            )
            prune, within = pruners[number % 2].prune, chance.uniform(*WITHIN)
            answers.append(ask(prune, query, code, within, path=name))
    for name, part in (("in process", answers[::2]), ("served", answers[1::2])):
        yield from figures(f"random, {name}", part)


def missing(options: argparse.Namespace) -> Iterator[Figure | str]:
    """No encoder, and no server."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "repository")
        shutil.copytree(options.repository, copy)
        (version_folder(copy, ENCODER) / ONNX_FILE).unlink()
        for name, server, why in (("no encoder", None, DAMAGED), ("no server", DEAD, GONE)):
            with Pruner(server, model=copy) as pruner, looping(server, copy) as on_a_loop:
                answers = [
                    ask(prune, QUERY, CODE, within, effort=effort)
                    for within in np.linspace(*STEADY_WITHIN, 5)
                    for prune in (pruner.prune, on_a_loop)
                    for effort in ("auto", "full")
                ]
            yield from figures(name, answers, why)
            said = sum(why in answer.said for answer in answers)
            yield Figure(f"  {name}: say so", said, target=1, at_least=True)


def killed(options: argparse.Namespace) -> Iterator[Figure | str]:
    """A server that dies and comes back."""
    with ExitStack() as stack:
        server = start_server(stack, options.repository, served(options))
        steady = stack.enter_context(steady_callers(server.addresses.grpc, options.repository))
        os.kill(server.pid, signal.SIGKILL)
        steady.more(12)
        restarted = back("killed", steady)
        stack.close()
    yield from figures("killed", steady.answers, GONE, FAILED)
    yield restarted


def hung(options: argparse.Namespace) -> Iterator[Figure | str]:
    """A server that stands still, and goes on."""
    with ExitStack() as stack:
        server = start_server(stack, options.repository, served(options))
        steady = stack.enter_context(steady_callers(server.addresses.grpc, options.repository))
        stopped = psutil.Process(server.pid)
        stopped.suspend()
        time.sleep(HUNG_SECONDS)
        stopped.resume()
        resumed = back("hung", steady)
        stack.close()
    yield from figures("hung", steady.answers, GONE, FAILED, FULL)
    yield resumed


def half(options: argparse.Namespace) -> Iterator[Figure | str]:
    """A front that loses one of its two replicas."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        os.environ["LAMR_FRONT_DIR"] = str(folder / "run")
        mortal = ServerOptions(threads=max(1, options.threads // 2))
        site = Site(folder, [start_server(stack, options.repository, mortal) for _ in range(2)])
        site.tenants({"agent": ""})
        log = stack.enter_context(Path(os.devnull).open("wb"))
        site.front = stack.enter_context(Front(site.file, log=log, report=io.StringIO()))
        site.await_replicas()
        steady = stack.enter_context(steady_callers(site.address, options.repository, site.keys["agent"]))
        os.kill(site.servers[1].pid, signal.SIGKILL)
        steady.more(40)
        remaining = back("half", steady)
        stack.close()
    yield from figures("half", steady.answers, GONE, FAILED, FULL)
    yield remaining


def clock(options: argparse.Namespace) -> Iterator[Figure | str]:
    """Another process of this program, whose time of day is a file's."""
    try:
        import libfaketime
    except ImportError:
        yield "clock: left out, because libfaketime isn't installed"
        return
    with tempfile.TemporaryDirectory() as folder:
        offset = Path(folder, "offset")
        offset.write_text("+0")
        library = next(Path(libfaketime.__file__).parent.rglob("libfaketime.so.1"))
        faked = {
            "LD_PRELOAD": str(library),
            "FAKETIME_TIMESTAMP_FILE": str(offset),
            "FAKETIME_CACHE_DURATION": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            # Without it, libfaketime turns the short waits for Python's lock into busy loops, and calls are late where
            # no clock jumps.
            "FAKETIME_FORCE_MONOTONIC_FIX": "0",
        }
        command = [sys.executable, "-m", "benchmarks.in_time", "--json", "--offset", str(offset)]
        command += ["--repository", str(options.repository), "--threads", str(options.threads)]
        done = subprocess.run(command, env=os.environ | faked, stdout=subprocess.PIPE, text=True, check=False)
    yield from read_figures(done.stdout)


def jumping(options: argparse.Namespace) -> Iterator[Figure]:
    """Steady callers of a server, while the time of day jumps for all of them."""
    with ExitStack() as stack:
        server = start_server(stack, options.repository, served(options))
        steady = stack.enter_context(steady_callers(server.addresses.grpc, options.repository))
        before = time.time()
        jumps = []
        for jump in JUMPS:
            options.offset.write_text(jump)
            steady.more(16)
            jumps.append(back("clock", steady))
            before, lasted = time.time(), time.time() - before
            yield Figure(f"clock: {jump} s, and the clock has gone", lasted, "s")
        stack.close()
    yield from figures("clock", steady.answers, GONE, FAILED, FULL)
    yield Figure(
        "  clock: reads again after each jump", sum(each.value for each in jumps), target=2, at_least=True
    )


def overloaded(options: argparse.Namespace) -> Iterator[Figure | str]:
    """More calls than the server can read for, of which each has a second."""
    with ExitStack() as stack:
        server = start_server(stack, options.repository, served(options))
        first, *others = (
            stack.enter_context(Pruner(server.addresses.grpc, model=options.repository, max_concurrency=most))
            for most in (AT_ONCE[-1], *AT_ONCE)
        )
        with ThreadPoolExecutor(IN_FLIGHT) as pool:
            for count in (IN_FLIGHT, CAPACITY_CALLS):
                begin = time.perf_counter()
                list(pool.map(lambda _: first.prune(QUERY, CODE, effort="full", degrade=False), range(count)))
        capacity = CAPACITY_CALLS / (time.perf_counter() - begin)
        yield Figure("capacity, whole files", capacity, "/s")
        for most, pruner in zip(AT_ONCE, others, strict=True):
            pruner.prune(QUERY, CODE, effort="full")
            answers = open_calls(pruner.prune, arrivals(LOAD * capacity, options.seconds, even=False))
            yield from overload_figures(f"overloaded, {most} chunks at once", answers)


def open_calls(prune: Prune, times: np.ndarray) -> list[Answer]:
    """Make calls at given times, whether answers come or not."""
    with ThreadPoolExecutor(WAITERS) as pool:
        begin, calls = time.perf_counter(), []
        for moment in times:
            time.sleep(max(0.0, begin + moment - time.perf_counter()))
            calls.append(pool.submit(ask, prune, QUERY, CODE, 1.0))
    return [call.result() for call in calls]


def overload_figures(name: str, answers: list[Answer]) -> Iterator[Figure]:
    """What became of calls that came too fast: late is counted by their p99."""
    took = [1e3 * answer.took for answer in answers]
    yield from (each for each in figures(name, answers, FULL) if "late" not in each.name)
    yield Figure(f"  {name}: share of chunks read", float(np.mean([each.share for each in answers])))
    yield Figure(f"  {name}: p50", float(np.percentile(took, 50)), "ms")
    yield Figure(f"  {name}: p99", float(np.percentile(took, 99)), "ms", OVERLOADED_MS)


def served(options: argparse.Namespace) -> ServerOptions:
    """A server as `lamr serve` starts it."""
    return ServerOptions(threads=options.threads, restart=True)


PARTS: dict[str, Callable[[argparse.Namespace], Iterator[Figure | str]]] = {
    "random": random_times,
    "missing": missing,
    "killed": killed,
    "hung": hung,
    "half": half,
    "clock": clock,
    "overloaded": overloaded,
}


def measure(options: argparse.Namespace) -> Iterator[Figure | str]:
    """Run the parts."""
    if options.offset:
        yield from jumping(options)
        return
    yield f"load of the machine at the start: {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs"
    for part in options.only:
        begin = time.monotonic()
        yield from PARTS[part](options)
        yield f"{part} ended after {time.monotonic() - begin:.0f} s"


PARSER = model_options(__doc__)
PARSER.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), help="parts to run")
PARSER.add_argument("--calls", type=int, default=1_000, help="of `random` (%(default)s)")
PARSER.add_argument("--seconds", type=float, default=15.0, help="of `overloaded` (%(default)s)")
PARSER.add_argument("--offset", type=Path, help=argparse.SUPPRESS)

if __name__ == "__main__":
    sys.exit(run(PARSER, measure))
