"""How many chunks of 256 tokens a second two servers answer, directly and through the front, in rounds by turns.

The rate of a shared machine changes from minute to minute, so each round through the front is compared with the direct
one before it. CPU time tells what the rates can't: how much of it the front takes for a chunk, whatever else runs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from lamr_client import AsyncGrpcTransport

from benchmarks.front.load import IN_FLIGHT, keep_busy
from benchmarks.front.site import Site
from benchmarks.report import Figure

ROUNDS = 8
WARM_SECONDS = 1.0
LEAST_SECONDS = 6.0  # of a round: about 250 chunks on two cores


@dataclass(frozen=True)
class Round:
    """One way for one stretch of time.

    Attributes:
        rate: chunks a second.
        front_cpu, servers_cpu: CPU seconds for a chunk.
    """

    rate: float
    front_cpu: float
    servers_cpu: float


def throughput(site: Site, seconds: float) -> Iterator[Figure | str]:
    """Rounds of about half the seconds of other measurements, since there are many."""
    site.tenants({"alone": f"window = {IN_FLIGHT}"})
    pairs = asyncio.run(_pairs(site, max(LEAST_SECONDS, seconds / 2)))
    ratios = np.array([through.rate / direct.rate for direct, through in pairs])
    for name, rates in zip(
        ("directly", "through the front"),
        np.array([[each.rate for each in pair] for pair in pairs]).T,
        strict=True,
    ):
        yield Figure(f"throughput {name}, median of {ROUNDS} rounds", float(np.median(rates)), "chunks/s")
        yield Figure(f"  {name}, slowest round", float(rates.min()), "chunks/s")
        yield Figure(f"  {name}, fastest round", float(rates.max()), "chunks/s")
    yield "through the front / directly, pair by pair: " + ", ".join(f"{each:.3f}" for each in ratios)
    yield Figure(
        "throughput through the front / directly, median of pairs", float(np.median(ratios)), "", 0.95, True
    )
    yield Figure("  25 % of pairs below", float(np.percentile(ratios, 25)))
    yield Figure("  75 % of pairs below", float(np.percentile(ratios, 75)))
    through = [pair[1] for pair in pairs]
    front = float(np.median([each.front_cpu for each in through]))
    servers = float(np.median([each.servers_cpu for each in through]))
    yield Figure("HAProxy's CPU for a chunk, under load", front * 1e6, "µs")
    yield Figure("the servers' CPU for a chunk", servers * 1e6, "µs")
    yield Figure("HAProxy's CPU / the servers'", front / servers)


async def _pairs(site: Site, seconds: float) -> list[tuple[Round, Round]]:
    direct = [AsyncGrpcTransport(server.addresses.grpc) for server in site.servers]
    through = [site.transport("alone")]
    try:
        return [
            (await _round(site, direct, seconds), await _round(site, through, seconds)) for _ in range(ROUNDS)
        ]
    finally:
        await asyncio.gather(*(one.close() for one in direct + through))


async def _round(site: Site, transports: list[AsyncGrpcTransport], seconds: float) -> Round:
    front, servers = site.front_cpu(), site.servers_cpu()
    answered = len(await keep_busy(transports, IN_FLIGHT, seconds, WARM_SECONDS))
    # The CPU of the warm-up and of the last chunks is in it, too, so it is for as many chunks as came in all that time.
    chunks = answered * (seconds + WARM_SECONDS) / seconds + IN_FLIGHT / 2
    return Round(
        answered / seconds, (site.front_cpu() - front) / chunks, (site.servers_cpu() - servers) / chunks
    )
