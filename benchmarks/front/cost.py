"""What the front adds to one request of 32 tokens: time, and HAProxy's CPU."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from lamr_client import AsyncGrpcTransport

from benchmarks.front.load import IN_FLIGHT, SHORT, chunk_of
from benchmarks.front.site import Site
from benchmarks.report import Figure

PAIRS, WARM_PAIRS, IDLE_SECONDS = 400, 20, 4.0


@dataclass(frozen=True)
class Pairs:
    """One request directly and one through the front, by turns.

    Attributes:
        seconds: of each, shape `[PAIRS, 2]`.
        cpu: HAProxy's CPU seconds while they were sent.
        idle_cpu: HAProxy's CPU seconds a second while nothing was sent: health checks.
    """

    seconds: np.ndarray
    cpu: float
    idle_cpu: float


def cost(site: Site, _seconds: float) -> Iterator[Figure]:
    """Pairs of requests, as many as they are."""
    site.tenants({"alone": f"window = {IN_FLIGHT}"})
    found = asyncio.run(_paired(site))
    yield Figure("32 tokens directly, p50", float(np.median(found.seconds[:, 0])) * 1e3, "ms")
    added = (found.seconds[:, 1] - found.seconds[:, 0]) * 1e3
    yield Figure("added by the front, median of pairs", float(np.median(added)), "ms", 1.5)
    for q in (25, 75):
        yield Figure(f"  {q} % of pairs below", float(np.percentile(added, q)), "ms")
    own = found.cpu - found.idle_cpu * found.seconds.sum()
    yield Figure("HAProxy's CPU for a call, one at a time", own / PAIRS * 1e6, "µs")
    yield Figure("HAProxy's CPU for health checks", found.idle_cpu * 1e6, "µs/s")


async def _paired(site: Site) -> Pairs:
    direct, through = AsyncGrpcTransport(site.servers[0].addresses.grpc), site.transport("alone")
    chunk, rows = chunk_of(SHORT), []
    try:
        for transport in (direct, through) * WARM_PAIRS:
            await transport.infer(chunk, 60)
        idle = site.front_cpu()
        await asyncio.sleep(IDLE_SECONDS)
        before = site.front_cpu()
        for _ in range(PAIRS):
            row = []
            for transport in (direct, through):
                begun = time.perf_counter()
                await transport.infer(chunk, 60)
                row.append(time.perf_counter() - begun)
            rows.append(row)
        spent = site.front_cpu() - before
    finally:
        await asyncio.gather(direct.close(), through.close())
    return Pairs(np.array(rows), spent, (before - idle) / IDLE_SECONDS)
