"""Callers of a site: random chunks, so many under way at once, and how long their answers took."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

import numpy as np
from lamr_client import AsyncGrpcTransport, ChunkRequest

from benchmarks.front.site import Site

SHORT, LONG = 32, 256  # tokens of a chunk
IN_FLIGHT = 12  # what two servers take at once by the front's defaults


def chunk_of(tokens: int) -> ChunkRequest:
    """One chunk of random tokens."""
    ids = np.random.default_rng(tokens).integers(1000, 20000, tokens)
    return ChunkRequest(ids, (8, tokens))


async def keep_busy(
    transports: Sequence[AsyncGrpcTransport], in_flight: int, seconds: float, warm_seconds: float = 0.0
) -> list[float]:
    """Keep so many chunks under way; the latencies in seconds of what was answered within the time.

    Args:
        transports: each has its share of what is under way.
        in_flight: chunks at once.
        seconds: how long answers count.
        warm_seconds: how long they don't, before that.
    """
    chunk, latencies = chunk_of(LONG), []
    begin = time.perf_counter() + warm_seconds
    end = begin + seconds

    async def caller(transport: AsyncGrpcTransport) -> None:
        while (sent := time.perf_counter()) < end:
            await transport.infer(chunk, 90)
            if (
                begin <= (now := time.perf_counter()) < end
            ):  # the rest comes out of queues of different lengths
                latencies.append(now - sent)

    await asyncio.gather(*(caller(transports[number % len(transports)]) for number in range(in_flight)))
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
            *(keep_busy([transports[name]], count, seconds) for name, count in loads.items())
        )
    finally:
        await asyncio.gather(*(transport.close() for transport in transports.values()))
    return dict(zip(loads, found, strict=True))


def percentile(latencies: Sequence[float], q: float) -> float:
    """In milliseconds."""
    return float(np.percentile(latencies, q)) * 1e3
