"""Many tenants before two real servers: whether shares are fair, what the front costs, and what is lost under faults.

    python -m benchmarks.fleet [--seconds 15] [--only flood shares cost faults] [--json]

- `flood`: tenant A has 64 requests under way and B one at a time. B's latency beside what it is alone, and beside what
  it is when both share one queue.
- `shares`: backlogged tenants of equal weights (Jain's index), and of weights 1, 2 and 4.
- `cost`: 32-token requests by turns directly and through the front; throughput in interleaved rounds; the front's CPU.
- `faults`: 50 tenants with bursts and given-up calls through our own client and its retries, while the front is
  reloaded ten times, a key is revoked, a server is drained and put back, another is killed, and then the front itself.

Everything is on loopback, in this machine's own processes, and ends by itself: at most a few minutes.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import os
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import psutil
from lamr_client import AsyncGrpcTransport, ChunkRequest, LamrError, Pruner, parse_connection
from lamr_contract.spec import load_spec
from lamr_front import control
from lamr_front.keys import hash_of, make_key
from lamr_front.running import Front
from lamr_serving import ServerOptions, TritonServer
from lamr_serving.launcher.addresses import free_ports

from benchmarks.report import Figure, model_options, run

FLOOD = 64
SHORT, LONG = 32, 256  # tokens of a chunk
PAIRS, ROUNDS, IN_FLIGHT = 300, 6, 12
FLEET = 50
CALLERS = 12
CODE = "".join(f"def step_{n}(value):\n    return value * {n}\n\n" for n in range(12))


@dataclass
class Site:
    """Two servers, and a front whose tenants each part writes anew."""

    folder: Path
    servers: list[TritonServer]
    keys: dict[str, str] = field(default_factory=dict)
    front: Front | None = None
    fingerprints: list[str] = field(
        default_factory=list
    )  # of the models that the servers have, if the front is told

    def __post_init__(self) -> None:
        self.port, self.operations = free_ports("127.0.0.1", 2)
        self.file = self.folder / "tenants.toml"

    def tenants(self, tables: dict[str, str], settings: str = "") -> None:
        """Write the file, and put it into force if the front runs."""
        lines = [
            f'[front]\nlisten = "127.0.0.1:{self.port}"\noperations = "127.0.0.1:{self.operations}"\n{settings}'
        ]
        for number, server in enumerate(self.servers):
            lines.append(f'[replicas.r{number}]\ngrpc = "{server.addresses.grpc}"')
            lines += [f'fingerprint = "{each}"' for each in self.fingerprints[number : number + 1]]
        for name, table in tables.items():
            key = self.keys.setdefault(name, make_key()[0])
            lines.append(
                f'[tenants.{name}]\n{table}\n[[tenants.{name}.keys]]\nhash = "sha256:{hash_of(key)}"'
            )
        self.file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        if self.front is not None:
            control.reload(self.file)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def transport(self, tenant: str) -> AsyncGrpcTransport:
        return AsyncGrpcTransport(parse_connection(self.address, api_key=self.keys[tenant]))

    def cpu_seconds(self) -> float:
        """CPU time that HAProxy's processes have taken."""
        assert self.front is not None
        master = psutil.Process(self.front.pid)
        return sum(sum(each.cpu_times()[:2]) for each in (master, *master.children()))


def request(tokens: int) -> ChunkRequest:
    """One chunk of random tokens."""
    ids = np.random.default_rng(tokens).integers(1000, 20000, tokens)
    return ChunkRequest(ids, (8, tokens))


async def keep_busy(
    transport: AsyncGrpcTransport, in_flight: int, tokens: int, seconds: float
) -> list[float]:
    """Latencies in seconds of what was answered in time, with so many requests under way until the end."""
    chunk, end, latencies = request(tokens), time.perf_counter() + seconds, []

    async def caller() -> None:
        while (begun := time.perf_counter()) < end:
            await transport.infer(chunk, 90)
            if (now := time.perf_counter()) < end:  # the rest comes out of queues of different lengths
                latencies.append(now - begun)

    await asyncio.gather(*(caller() for _ in range(in_flight)))
    return latencies


async def compete(site: Site, loads: dict[str, int], seconds: float) -> dict[str, list[float]]:
    """Latencies by tenant, all of them busy at once.

    Args:
        site: where.
        loads: requests under way for each tenant; a name may have a part behind a colon to tell two callers apart.
        seconds: how long.
    """
    transports = {name: site.transport(name.split(":")[0]) for name in loads}
    try:
        found = await asyncio.gather(
            *(keep_busy(transports[name], count, LONG, seconds) for name, count in loads.items())
        )
    finally:
        await asyncio.gather(*(transport.close() for transport in transports.values()))
    return dict(zip(loads, found, strict=True))


def percentile(latencies: list[float], q: float) -> float:
    """In milliseconds."""
    return float(np.percentile(latencies, q)) * 1e3


def flood(site: Site, seconds: float) -> Iterator[Figure]:
    """B beside A's flood."""
    site.tenants(
        {"alice": "", "bob": "", "shared": f"window = {IN_FLIGHT}\nlimits = {{ concurrent = 1000 }}"},
        "busy_tenants = 2\nqueue_seconds = 60",
    )
    alone = asyncio.run(compete(site, {"bob": 1}, seconds))["bob"]
    fair = asyncio.run(compete(site, {"alice": FLOOD, "bob": 1}, seconds))["bob"]
    one = asyncio.run(compete(site, {"shared:a": FLOOD, "shared:b": 1}, seconds))["shared:b"]
    for name, found in (("alone", alone), ("beside a flood", fair), ("in one queue with it", one)):
        yield Figure(f"B {name}: answers", len(found))
        yield Figure(f"B {name}: p50", percentile(found, 50), "ms")
        yield Figure(f"B {name}: p99", percentile(found, 99), "ms")
    yield Figure("B's p99 beside a flood / alone", percentile(fair, 99) / percentile(alone, 99), target=5)
    yield Figure(
        "B's p50 beside a flood / in one queue", percentile(fair, 50) / percentile(one, 50), target=0.25
    )


def shares(site: Site, seconds: float) -> Iterator[Figure]:
    """How backlogged tenants share the pool."""
    loads = {"e0": 8, "e1": 16, "e2": 24, "e3": 48}
    site.tenants(dict.fromkeys(loads, ""), "queue_seconds = 60")
    found = asyncio.run(compete(site, loads, seconds))
    served = np.array([len(found[name]) for name in loads], float)
    yield Figure(
        "Jain's index, equal weights",
        served.sum() ** 2 / (len(served) * (served**2).sum()),
        target=0.95,
        at_least=True,
    )
    weights = {"w1": 1, "w2": 2, "w4": 4}
    site.tenants(
        {name: f"weight = {weight}" for name, weight in weights.items()},
        "busy_tenants = 3\nqueue_seconds = 60",
    )
    found = asyncio.run(compete(site, dict.fromkeys(weights, 32), seconds))
    total, whole = sum(map(len, found.values())), sum(weights.values())
    errors = []
    for name, weight in weights.items():
        share = len(found[name]) / total
        errors.append(abs(share / (weight / whole) - 1))
        yield Figure(f"share of weight {weight} of {whole}", share)
    yield Figure("largest relative error of a weighted share", max(errors), target=0.2)


def cost(site: Site, seconds: float) -> Iterator[Figure]:
    """What the front adds."""
    site.tenants({"alone": f"window = {IN_FLIGHT}"})

    async def paired() -> tuple[np.ndarray, float]:
        direct, through = AsyncGrpcTransport(site.servers[0].addresses.grpc), site.transport("alone")
        chunk, rows = request(SHORT), []
        for transport in (direct, through) * 20:
            await transport.infer(chunk, 60)
        before = site.cpu_seconds()
        for _ in range(PAIRS):
            row = []
            for transport in (direct, through):
                begun = time.perf_counter()
                await transport.infer(chunk, 60)
                row.append(time.perf_counter() - begun)
            rows.append(row)
        spent = site.cpu_seconds() - before
        await asyncio.gather(direct.close(), through.close())
        return np.array(rows), spent / PAIRS

    async def rate(transports: list[AsyncGrpcTransport]) -> float:
        each = IN_FLIGHT // len(transports)
        found = await asyncio.gather(*(keep_busy(one, each, LONG, seconds / 2) for one in transports))
        return sum(map(len, found)) / (seconds / 2)

    async def rates() -> np.ndarray:
        direct = [AsyncGrpcTransport(server.addresses.grpc) for server in site.servers]
        through = [site.transport("alone")]
        try:
            return np.array([[await rate(direct), await rate(through)] for _ in range(ROUNDS)])
        finally:
            await asyncio.gather(*(one.close() for one in direct + through))

    rows, cpu = asyncio.run(paired())
    yield Figure("32 tokens directly, p50", float(np.median(rows[:, 0])) * 1e3, "ms")
    yield Figure(
        "added by the front, median of pairs", float(np.median(rows[:, 1] - rows[:, 0])) * 1e3, "ms", 1.5
    )
    yield Figure("the front's CPU for a call", cpu * 1e6, "µs")
    found = asyncio.run(rates())
    yield Figure("throughput directly", float(np.median(found[:, 0])), "chunks/s")
    yield Figure(
        "throughput through the front / directly, median of rounds",
        float(np.median(found[:, 1] / found[:, 0])),
        target=0.95,
        at_least=True,
    )


def faults(site: Site, seconds: float) -> Iterator[Figure | str]:
    """Calls, answers and named errors while things go wrong."""
    tables = {f"t{n}": f"weight = {1 + n % 4}\nlimits = {{ requests = {200 + n} }}" for n in range(FLEET)}
    site.tenants({**tables, "revoked": ""}, "busy_tenants = 6")
    counts, stop = Counter[str](), threading.Event()
    lock = threading.Lock()

    def caller(number: int) -> None:
        rng = np.random.default_rng(number)
        while not stop.is_set():
            tenant = f"t{rng.integers(FLEET)}"
            timeout = 0.05 if rng.random() < 0.1 else 60.0  # some give up
            with Pruner(
                site.address, api_key=site.keys[tenant], timeout=timeout, max_concurrency=4
            ) as pruner:
                for _ in range(int(rng.integers(1, 6))):  # a burst of one agent
                    try:
                        pruner.prune("How is the value used?", CODE)
                        found = "answered"
                    except LamrError as error:
                        found = "given up" if timeout < 1 else type(error).__name__
                    with lock:
                        counts[found] += 1

    with ThreadPoolExecutor(CALLERS) as pool:
        done = [pool.submit(caller, number) for number in range(CALLERS)]
        try:
            yield from _disturb(site, tables, seconds)
        finally:
            stop.set()
    for each in done:
        each.result()
    calls = sum(counts.values())
    yield Figure("calls of 50 tenants", calls)
    for name, count in sorted(counts.items()):
        yield Figure(f"  {name}", count)
    lost = calls - counts["answered"] - counts["given up"] - counts["QuotaExceededError"]
    yield Figure("lost: neither answered, nor given up by the caller, nor over a quota", lost, target=0)


def _disturb(site: Site, tables: dict[str, str], seconds: float) -> Iterator[str]:
    assert site.front is not None
    for _ in range(10):
        time.sleep(seconds / 20)
        site.tenants({**tables, "revoked": ""}, "busy_tenants = 6")
    yield "ten reloads"
    with Pruner(site.address, api_key=site.keys["revoked"], retries=0) as pruner:
        pruner.prune("value", CODE)
        site.tenants(tables, "busy_tenants = 6")
        try:
            pruner.prune("value", CODE)
            yield "a revoked key still opens: a defect"
        except LamrError as error:
            yield f"a key was revoked on an open connection: {type(error).__name__}"
    control.drain(site.file, "r0", 60)
    time.sleep(seconds / 10)
    control.undrain(site.file, "r0")
    yield "one server drained and put back"
    time.sleep(seconds / 10)
    os.kill(site.servers[1].pid, signal.SIGKILL)
    await_replicas(site)
    yield "the other one killed with -9, and started again by its supervisor"
    os.kill(site.front.pid, signal.SIGKILL)
    while site.front.poll() is None:
        time.sleep(0.01)
    site.front.start()
    await_replicas(site)
    yield "the front killed with -9, and started again"
    time.sleep(seconds / 10)


def _states(site: Site) -> set[str]:
    return {replica.state for replica in control.read_status(site.file).replicas}


def await_replicas(site: Site) -> None:
    """Wait until the front finds every server ready."""
    time.sleep(0.6)  # a check must see it first
    deadline = time.monotonic() + 60
    while _states(site) != {"up"}:
        if time.monotonic() > deadline:
            raise SystemExit(f"the replicas of {site.file} are {_states(site)}")
        time.sleep(0.1)


PARTS = {"flood": flood, "shares": shares, "cost": cost, "faults": faults}


def measure(options: argparse.Namespace) -> Iterator[Figure | str]:
    """Start servers and front, and run the parts."""
    load_spec(options.repository)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        os.environ["LAMR_FRONT_DIR"] = str(folder / "run")
        server = ServerOptions(threads=max(1, options.threads // 2), restart=True)
        servers = [stack.enter_context(TritonServer(options.repository, server)) for _ in range(2)]
        site = Site(folder, servers)
        site.tenants({"first": ""})
        site.front = stack.enter_context(
            Front(site.file, log=stack.enter_context(Path(os.devnull).open("wb")), report=io.StringIO())
        )
        yield f"load of the machine at the start: {os.getloadavg()[0]:.1f} on {psutil.cpu_count()} CPUs"
        for part in options.only:
            yield from PARTS[part](site, options.seconds)


PARSER = model_options(__doc__)
PARSER.add_argument("--seconds", type=float, default=15.0, help="of each measurement (%(default)s)")
PARSER.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), help="parts to run")

if __name__ == "__main__":
    sys.exit(run(PARSER, measure))
