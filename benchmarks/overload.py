"""What happens under more load than the server can take, and whether its memory grows.

    python benchmarks/overload.py [--repository DIR] [--seconds 60] [--requests 5000] [--json]

Finds the server's capacity in chunks a second, then offers 0.8 times as much and twice as much, at even intervals
whether answers come or not. Every request must end: answered, or refused with the overloaded error. Then sends many
requests of mixed lengths and compares the resident size of the server and its model processes after 500 and all.
"""

from __future__ import annotations

import argparse
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import psutil
from lamr_client import GrpcTransport, bundled_repository
from lamr_client.errors import LamrError, OverloadedError
from lamr_client.spec import load_spec
from lamr_client.transport import ChunkRequest
from lamr_serving import ServerOptions, TritonServer

EARLY = 500  # requests before the first look at memory
IN_FLIGHT = 16  # two batches: one runs, one waits
WAITERS = 600  # threads of the open loop: as many requests can wait at once


@dataclass(frozen=True)
class Load:
    """One rate of arrival; latencies in milliseconds."""

    offered_per_second: float
    offered: int
    answered: int
    refused: int
    lost: int
    p50_ms: float
    p99_ms: float
    refusal_p99_ms: float


@dataclass(frozen=True)
class Figures:
    """Targets: p99_ratio ≤ 3, refusals within 50 ms, none lost, memory_ratio ≤ 1.05."""

    capacity_per_second: float
    light: Load
    heavy: Load
    p99_ratio: float
    requests: int
    memory_mib_early: float
    memory_mib_late: float
    memory_ratio: float


def chunks(window: int, count: int) -> list[ChunkRequest]:
    rng = np.random.default_rng(0)
    lengths = rng.integers(32, window + 1, count)
    return [ChunkRequest(rng.integers(1000, 20000, length), (8, int(length))) for length in lengths]


def closed_loop(transport: GrpcTransport, work: list[ChunkRequest]) -> float:
    """Seconds for all of `work`, a bounded number in flight."""
    begun = time.perf_counter()
    with ThreadPoolExecutor(IN_FLIGHT) as pool:
        list(pool.map(transport.infer, work))
    return time.perf_counter() - begun


def open_loop(transport: GrpcTransport, work: list[ChunkRequest], rate: float, seconds: float) -> Load:
    """Requests at even intervals for some seconds."""
    answered: list[float] = []
    refused: list[float] = []
    lost: list[LamrError] = []
    lock = threading.Lock()

    def ask(request: ChunkRequest) -> None:
        begun = time.perf_counter()
        try:
            transport.infer(request, timeout=60)
            kind: list[float] = answered
        except OverloadedError:
            kind = refused
        except LamrError as error:
            with lock:
                lost.append(error)
            return
        with lock:
            kind.append((time.perf_counter() - begun) * 1e3)

    count = max(1, round(rate * seconds))
    begun = time.perf_counter()
    with ThreadPoolExecutor(WAITERS) as pool:
        for place in range(count):
            time.sleep(max(0.0, begun + place / rate - time.perf_counter()))
            pool.submit(ask, work[place % len(work)])
    return Load(
        offered_per_second=rate,
        offered=count,
        answered=len(answered),
        refused=len(refused),
        lost=count - len(answered) - len(refused),
        p50_ms=_percentile(answered, 50),
        p99_ms=_percentile(answered, 99),
        refusal_p99_ms=_percentile(refused, 99),
    )


def resident_mib(pid: int) -> float:
    process = psutil.Process(pid)
    return sum(one.memory_info().rss for one in (process, *process.children(recursive=True))) / 2**20


def measure(repository: Path, seconds: float, requests: int, threads: int) -> Figures:
    spec = load_spec(repository)
    work = chunks(spec.chunking.window, max(requests, EARLY + 1))
    server = TritonServer(repository, ServerOptions(threads=threads))
    with server, GrpcTransport(server.addresses.grpc, spec) as transport:
        closed_loop(transport, work[:EARLY])
        early = resident_mib(server.pid)
        rest = work[EARLY:]
        capacity = len(rest) / closed_loop(transport, rest)
        late = resident_mib(server.pid)
        light = open_loop(transport, work, 0.8 * capacity, seconds)
        heavy = open_loop(transport, work, 2 * capacity, seconds)
    return Figures(
        capacity_per_second=capacity,
        light=light,
        heavy=heavy,
        p99_ratio=heavy.p99_ms / light.p99_ms,
        requests=len(work),
        memory_mib_early=early,
        memory_mib_late=late,
        memory_ratio=late / early,
    )


def _percentile(values: list[float], share: float) -> float:
    return float(np.percentile(values, share)) if values else 0.0


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repository", type=Path, help="model repository (default: the bundled one)")
    parser.add_argument("--seconds", type=float, default=60, help="of each rate")
    parser.add_argument("--requests", type=int, default=5000, help="that memory is looked at after")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    repository = options.repository or bundled_repository()
    figures = measure(repository, options.seconds, options.requests, options.threads)
    if options.json:
        print(json.dumps(asdict(figures)))
        return
    print(f"capacity {figures.capacity_per_second:.1f} chunks/s")
    for name, load in (("0.8 x", figures.light), ("2 x", figures.heavy)):
        print(
            f"  {name:<6} offered {load.offered}, answered {load.answered}, refused {load.refused} "
            f"(p99 {load.refusal_p99_ms:.0f} ms, target ≤ 50), lost {load.lost} (target 0), "
            f"p50 {load.p50_ms:.0f} ms, p99 {load.p99_ms:.0f} ms"
        )
    print(f"  p99 of admitted, ratio {figures.p99_ratio:.2f} (target ≤ 3)")
    print(
        f"resident after {EARLY} requests {figures.memory_mib_early:.0f} MiB, after {figures.requests} "
        f"{figures.memory_mib_late:.0f} MiB: {figures.memory_ratio:.3f} (target ≤ 1.05)"
    )


if __name__ == "__main__":
    main()
