"""How tenants that are all backlogged share the pool.

Shares mean something only while everybody waits. Where the callers get too little CPU to keep the queues filled, nobody
does, so the program looks at the queues and tells.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress

import numpy as np
from lamr_front import control

from benchmarks.front.load import compete
from benchmarks.front.site import Site
from benchmarks.report import Figure

LOADS = {"e0": 8, "e1": 16, "e2": 24, "e3": 48}  # requests under way; the windows are 3 each
WEIGHTS = {"w1": 1, "w2": 2, "w4": 4}
BACKLOG = 32
LOOK_SECONDS = 0.25


def shares(site: Site, seconds: float) -> Iterator[Figure]:
    """Jain's index of equal weights with queues of different lengths, and the shares of weights 1, 2 and 4."""
    site.tenants(dict.fromkeys(LOADS, ""), "queue_seconds = 60")
    served, queued = asyncio.run(_served(site, LOADS, seconds))
    yield Figure("looks that found all four tenants waiting", queued)
    jain = served.sum() ** 2 / (len(served) * (served**2).sum())
    yield Figure("Jain's index, equal weights", jain, target=0.95, at_least=True)
    site.tenants(
        {name: f"weight = {weight}" for name, weight in WEIGHTS.items()},
        "busy_tenants = 3\nqueue_seconds = 60",
    )
    served, queued = asyncio.run(_served(site, dict.fromkeys(WEIGHTS, BACKLOG), seconds))
    yield Figure("looks that found all three tenants waiting", queued)
    found, wanted = served / served.sum(), np.array(list(WEIGHTS.values())) / sum(WEIGHTS.values())
    for weight, share in zip(WEIGHTS.values(), found, strict=True):
        yield Figure(f"share of weight {weight} of {sum(WEIGHTS.values())}", share)
    error = float(np.abs(found / wanted - 1).max())
    yield Figure("largest relative error of a weighted share", error, target=0.2)


async def _served(site: Site, loads: dict[str, int], seconds: float) -> tuple[np.ndarray, float]:
    """Answers of each tenant, and how often, of all looks, every one of them had requests in its queue."""
    looks: list[bool] = []

    async def look() -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            status = await asyncio.to_thread(control.read_status, site.file)
            looks.append(all(each.queued for each in status.tenants if each.name in loads))

    looking = asyncio.ensure_future(look())
    found = await compete(site, loads, seconds)
    looking.cancel()
    with suppress(asyncio.CancelledError):
        await looking
    # Queues run empty after the last second that counts.
    counted = looks[: max(1, int(seconds / LOOK_SECONDS))]
    return np.array([len(found[name]) for name in loads], float), float(np.mean(counted))
