"""Whether a server and its clients survive a bad week: timeouts, cancellations, kills, pauses, floods and noise.

    python -m benchmarks.campaign [--calls 100000] [--rounds 10] [--only PHASE ...] [--repository DIR]

One supervised server goes through the phases, and in each of them steady clients with a timeout of a minute prune all
the time: a failure or another answer than on a quiet server is one that a user would see. Deaths are counted, and so is
how often a call came back later than its timeout allows. `--calls` is the number of calls with timeouts of 5 ms to 5 s;
a tenth as many are cancelled, as many are another client's, and as many random frames are sent. Everything stays on
loopback.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import math
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
from lamr_client import AsyncPruner, DeadlineExceededError, GrpcTransport, LamrError, Pruner, triton_wire
from lamr_contract.encoding import PromptEncoder
from lamr_contract.model_io import ChunkRequest
from lamr_contract.names import ENSEMBLE
from lamr_contract.spec import load_spec
from lamr_serving import ServerOptions, TritonServer
from lamr_serving.launcher.process import Witness
from tritonclient.grpc import InferenceServerClient
from tritonclient.utils import InferenceServerException

from benchmarks.load import chunks
from benchmarks.report import Figure, model_options, run

IN_FULL: dict[str, Any] = {"effort": "full", "degrade": False}
QUESTION = "Where is the exit status of a child decoded?"
CODE = Path(subprocess.__file__).read_text(encoding="utf-8")
DOCUMENTS = tuple(CODE[start : start + size] for start, size in ((0, 1500), (20_000, 4000), (40_000, 9000)))
CALLERS = 64
SHORTEST, LONGEST = 0.005, 5.0  # seconds, timeouts of impatient calls
LATE = 1.0  # seconds after its timeout at which a call counts as late, on a machine with other work
STEADY_TIMEOUT = 60.0
PAUSE_SECONDS = 5.0
IDLE_CONNECTIONS = 2000


@dataclass
class Ground:
    """One server under attack, the steady clients on it, and what became of both.

    Attributes:
        server: supervised, restarting.
        deaths: of the server since it started.
        outcomes: how impatient calls ended, by name.
        steady: how steady calls ended: `right`, `wrong`, or the error's name.
    """

    server: TritonServer
    deaths: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    steady: Counter[str] = field(default_factory=Counter)

    @property
    def address(self) -> str:
        """Where clients go."""
        return self.server.addresses.grpc

    def died(self, _status: int) -> None:
        """Count a death."""
        self.deaths += 1

    def triton(self) -> psutil.Process:
        """The server's process, the latest one."""
        return psutil.Process(self.server.pid)


Phase = Callable[[Ground, argparse.Namespace], None]


@contextlib.contextmanager
def steady_clients(ground: Ground, expected: tuple[str, ...]) -> Iterator[None]:
    """Two clients that prune for as long as the context is open and compare what they get."""
    over = threading.Event()

    def work(pruner: Pruner, place: int) -> None:
        while not over.is_set():
            place = (place + 1) % len(DOCUMENTS)
            try:
                text = pruner.prune(QUESTION, DOCUMENTS[place], path="code.py", **IN_FULL).text
                ground.steady["right" if text == expected[place] else "wrong"] += 1
            except LamrError as error:
                ground.steady[type(error).__name__] += 1

    with Pruner(ground.address, timeout=STEADY_TIMEOUT, retries=100) as pruner:
        threads = [threading.Thread(target=work, args=(pruner, place)) for place in range(2)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            over.set()
            for thread in threads:
                thread.join()


def timeouts(ground: Ground, options: argparse.Namespace) -> None:
    """Chunks asked about with timeouts from 5 ms to 5 s, short ones as often as long ones by their logarithm."""
    encoder = PromptEncoder.from_repository(options.repository)
    ids, offsets = encoder.encode_document(CODE)
    chunks = encoder.chunk(encoder.encode_query(QUESTION), ids, offsets, CODE)
    requests = [ChunkRequest(chunk.input_ids, chunk.document_span, False) for chunk in chunks]

    def call(number: int) -> None:
        chance = random.Random(number)
        timeout = math.exp(chance.uniform(math.log(SHORTEST), math.log(LONGEST)))
        begun = time.monotonic()
        try:
            transport.infer(chance.choice(requests), timeout)
            ground.outcomes["answered"] += 1
        except LamrError as error:
            ground.outcomes[type(error).__name__] += 1
        ground.outcomes["late"] += time.monotonic() - begun > timeout + LATE

    with GrpcTransport(ground.address, encoder.spec) as transport, ThreadPoolExecutor(CALLERS) as pool:
        for _ in pool.map(call, range(options.calls)):
            pass


def cancellations(ground: Ground, options: argparse.Namespace) -> None:
    """Prunings that are cancelled after up to half a second, fifty at a time."""

    async def attack() -> None:
        chance = random.Random(1)
        async with AsyncPruner(ground.address, max_concurrency=64) as pruner:
            for _ in range(max(1, options.calls // 500)):
                tasks = [asyncio.create_task(pruner.prune(QUESTION, CODE, **IN_FULL)) for _ in range(50)]
                await asyncio.sleep(chance.uniform(0, 0.5))
                for task in tasks:
                    task.cancel()
                for end in await asyncio.gather(*tasks, return_exceptions=True):
                    ground.outcomes[type(end).__name__] += 1

    asyncio.run(attack())


def other_clients(ground: Ground, options: argparse.Namespace) -> None:
    """Clients that aren't ours: gRPC's own deadlines and cancellations, after 5 to 200 ms, beyond the capacity."""
    spec = load_spec(options.repository)
    work = chunks(spec.chunking.window, 200)
    endpoint = triton_wire.Endpoint(ground.address, ENSEMBLE, batched=True, fingerprint=None)

    def call(number: int) -> None:
        chance = random.Random(number)
        request = chance.choice(work)
        inputs, outputs = triton_wire.inputs_of(request, endpoint), triton_wire.outputs_of(request)
        seconds = chance.uniform(0.005, 0.2)
        try:
            if number % 2:
                client.infer(ENSEMBLE, inputs, outputs=outputs, client_timeout=seconds)
                ground.outcomes["answered"] += 1
                return
            under_way = client.async_infer(ENSEMBLE, inputs, lambda **_: None, outputs=outputs)
            time.sleep(seconds)
            under_way.cancel()
            ground.outcomes["cancelled"] += 1
        except InferenceServerException as error:
            ground.outcomes[str(error.status())] += 1

    with InferenceServerClient(ground.address) as client, ThreadPoolExecutor(CALLERS) as pool:
        for _ in pool.map(call, range(options.calls // 10)):
            pass


def impatient_processes(ground: Ground, options: argparse.Namespace) -> None:
    """Client processes that are killed in the middle of their calls: their connections break."""
    program = (
        "import sys; from lamr_client import Pruner\n"
        "with Pruner(sys.argv[1]) as pruner:\n"
        "    while True: pruner.prune('What is decoded?', open(sys.argv[2]).read(), effort='full', degrade=False)"
    )
    for _ in range(options.rounds):
        client = subprocess.Popen([sys.executable, "-c", program, ground.address, subprocess.__file__])
        time.sleep(random.uniform(1, 2))
        client.kill()
        client.wait()
        ground.outcomes["killed clients"] += 1


def kills(ground: Ground, options: argparse.Namespace) -> None:
    """The server and a model's process are killed in turn, each time after clients were answered again."""
    for number in range(options.rounds):
        triton = ground.triton()
        stubs = [child for child in triton.children() if "stub" in child.name()]
        victim = triton if number % 2 == 0 or not stubs else random.choice(stubs)
        deaths, right = ground.deaths, ground.steady["right"]
        victim.kill()
        ground.outcomes["killed"] += 1
        until = time.monotonic() + STEADY_TIMEOUT
        while (ground.deaths == deaths or ground.steady["right"] < right + 4) and time.monotonic() < until:
            time.sleep(0.05)


def pauses(ground: Ground, options: argparse.Namespace) -> None:
    """A model's process stands still for some seconds while impatient calls go on."""
    for number in range(max(1, options.rounds // 5)):
        stubs = [child for child in ground.triton().children() if "stub" in child.name()]
        stub = stubs[number % len(stubs)]
        stub.send_signal(signal.SIGSTOP)
        with Pruner(ground.address, timeout=0.5, max_concurrency=64) as pruner:
            until = time.monotonic() + PAUSE_SECONDS
            while time.monotonic() < until:
                try:
                    pruner.prune(QUESTION, DOCUMENTS[0], **IN_FULL)
                    ground.outcomes["answered"] += 1
                except DeadlineExceededError:
                    ground.outcomes["DeadlineExceededError"] += 1
                except LamrError as error:
                    ground.outcomes[type(error).__name__] += 1
        with contextlib.suppress(psutil.NoSuchProcess):
            stub.send_signal(signal.SIGCONT)


def idle_connections(ground: Ground, _options: argparse.Namespace) -> None:
    """Connections that say nothing."""
    address = (ground.server.addresses.host, ground.server.addresses.grpc_port)
    with contextlib.ExitStack() as stack:
        for _ in range(IDLE_CONNECTIONS):
            with contextlib.suppress(OSError):
                stack.enter_context(socket.create_connection(address, timeout=1))
                ground.outcomes["connections"] += 1
        time.sleep(PAUSE_SECONDS)


def frames(ground: Ground, options: argparse.Namespace) -> None:
    """Random bytes, half of them after the greeting of HTTP/2."""
    address = (ground.server.addresses.host, ground.server.addresses.grpc_port)
    chance = random.Random(2)
    for _ in range(max(1, options.calls // 10)):
        greeting = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" if chance.random() < 0.5 else b""
        with contextlib.suppress(OSError), socket.create_connection(address, timeout=5) as connection:
            connection.sendall(greeting + chance.randbytes(chance.randrange(200)))
            ground.outcomes["sent"] += 1


PHASES: dict[str, Phase] = {
    "timeouts": timeouts,
    "cancellations": cancellations,
    "other clients": other_clients,
    "impatient processes": impatient_processes,
    "kills": kills,
    "pauses": pauses,
    "idle connections": idle_connections,
    "frames": frames,
}
# Deaths are what these phases do: a model's process that stood still ends itself (`lamr_contract.stalls`).
DEADLY = ("kills", "pauses")


def measure(options: argparse.Namespace) -> Iterator[Figure | str]:
    """Take one server through the phases."""
    server = TritonServer(options.repository, ServerOptions(threads=options.threads, restart=True))
    ground = Ground(server)
    server.start(witness=Witness(died=ground.died))
    try:
        with Pruner(ground.address, timeout=STEADY_TIMEOUT) as pruner:
            expected = tuple(
                pruner.prune(QUESTION, code, path="code.py", **IN_FULL).text for code in DOCUMENTS
            )
        for name in options.only or PHASES:
            ground.outcomes.clear()
            ground.steady.clear()
            before, begun = ground.deaths, time.monotonic()
            with steady_clients(ground, expected):
                PHASES[name](ground, options)
            yield f"{name}, {time.monotonic() - begun:.0f} s: {dict(ground.outcomes)}; steady: {dict(ground.steady)}"
            yield Figure(f"{name}: deaths", ground.deaths - before, "", None if name in DEADLY else 0)
            yield Figure(f"{name}: steady calls answered", ground.steady["right"], "", 1, at_least=True)
            yield Figure(
                f"{name}: steady calls that failed", ground.steady.total() - ground.steady["right"], "", 0
            )
            yield Figure(f"{name}: calls that came back late", ground.outcomes["late"], "", 0)
    finally:
        server.stop()


PARSER = model_options(__doc__)
PARSER.add_argument("--calls", type=int, default=100_000, help="calls with timeouts (%(default)s)")
PARSER.add_argument("--rounds", type=int, default=10, help="kills, and clients killed (%(default)s)")
PARSER.add_argument("--only", nargs="+", choices=PHASES, help="phases to run (default: all)")

if __name__ == "__main__":
    sys.exit(run(PARSER, measure))
