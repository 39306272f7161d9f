"""Load on a served model: random chunks, a closed and an open loop, and the server's processes and their memory.

A library for `memory.py`, `overload.py`, `serving.py`, `throughput.py` and `end_to_end.py`. It starts no
server."""

import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import psutil
from lamr_base.errors import LamrError, OverloadedError
from lamr_client import GrpcTransport
from lamr_model.model_io import ChunkRequest
from lamr_model.names import DECODER, ENCODER

IN_FLIGHT = 16  # two batches: one runs, one waits
WAITERS = 600  # threads of the open loop: as many requests can wait at once
PATIENCE = 60.0  # seconds until a request counts as lost


@dataclass(frozen=True)
class Load:
    """What became of the requests at one rate of arrival; latencies in milliseconds, 0 where there are none."""

    offered: int
    answered: int
    refused: int
    lost: int
    p50_ms: float
    p99_ms: float
    refusal_p99_ms: float
    refusal_most_ms: float


def chunks(window: int, count: int) -> list[ChunkRequest]:
    """Random chunks of 32 tokens to the window, all lengths alike likely."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(32, window + 1, count)
    return [ChunkRequest(rng.integers(1000, 20000, length), (8, int(length))) for length in lengths]


def closed_loop(transport: GrpcTransport, work: list[ChunkRequest]) -> float:
    """Seconds for all of `work` with `IN_FLIGHT` requests under way at any time."""
    begun = time.perf_counter()
    with ThreadPoolExecutor(IN_FLIGHT) as pool:
        list(pool.map(transport.infer, work))
    return time.perf_counter() - begun


def arrivals(rate: float, seconds: float, even: bool) -> np.ndarray:
    """Seconds from the start at which requests arrive, `rate` times `seconds` of them.

    They come at even intervals, or at random times (a Poisson process, given their number)."""
    count = max(1, round(rate * seconds))
    if even:
        return np.arange(count) / rate
    return np.sort(np.random.default_rng(1).uniform(0, seconds, count))


def open_loop(transport: GrpcTransport, work: list[ChunkRequest], times: np.ndarray) -> Load:
    """Send requests at given times, whether answers come or not; returns when all have ended."""
    answered: list[float] = []
    refused: list[float] = []
    lost: list[LamrError] = []
    lock = threading.Lock()

    def send(request: ChunkRequest) -> None:
        begun = time.perf_counter()
        try:
            transport.infer(request, timeout=PATIENCE)
            latencies = answered
        except OverloadedError:
            latencies = refused
        except LamrError as error:
            with lock:
                lost.append(error)
            return
        with lock:
            latencies.append((time.perf_counter() - begun) * 1e3)

    begun = time.perf_counter()
    with ThreadPoolExecutor(WAITERS) as pool:
        for place, moment in enumerate(times):
            time.sleep(max(0.0, begun + moment - time.perf_counter()))
            pool.submit(send, work[place % len(work)])
    for error in lost[:3]:
        print(f"lost: {error}", file=sys.stderr)
    return Load(
        offered=len(times),
        answered=len(answered),
        refused=len(refused),
        lost=len(times) - len(answered) - len(refused),
        p50_ms=_percentile(answered, 50),
        p99_ms=_percentile(answered, 99),
        refusal_p99_ms=_percentile(refused, 99),
        refusal_most_ms=max(refused, default=0.0),
    )


def model_processes(pid: int) -> dict[str, list[psutil.Process]]:
    """The processes of a server's encoder and decoder, one an instance, by model."""
    processes: dict[str, list[psutil.Process]] = {ENCODER: [], DECODER: []}
    for child in psutil.Process(pid).children(recursive=True):
        words = [word for word in child.cmdline() if ENCODER in word or DECODER in word]
        if words:
            processes[ENCODER if ENCODER in words[-1] else DECODER].append(child)
    return processes


def resident_by_process(pid: int) -> dict[str, float]:
    """MiB that are resident of a server, and of each model's processes together."""
    everyone = {"tritonserver": [psutil.Process(pid)], **model_processes(pid)}
    return {name: _resident(processes) for name, processes in everyone.items()}


def resident_mib(pid: int) -> float:
    """MiB that are resident of a server and all of its model processes."""
    process = psutil.Process(pid)
    return _resident([process, *process.children(recursive=True)])


def _resident(processes: list[psutil.Process]) -> float:
    return sum(process.memory_info().rss for process in processes) / 2**20


def _percentile(values: list[float], share: float) -> float:
    return float(np.percentile(values, share)) if values else 0.0
