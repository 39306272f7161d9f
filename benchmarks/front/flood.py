"""One tenant floods, another asks one request after the other: how long the second one waits."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from benchmarks.front.load import IN_FLIGHT, compete, percentile
from benchmarks.front.site import Site
from benchmarks.report import Figure

FLOOD = 64


def flood(site: Site, seconds: float) -> Iterator[Figure]:
    """B alone, beside A's flood, and in one queue with it."""
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
