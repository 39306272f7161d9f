"""Fifty tenants through our own client and its retries, while things go wrong: calls, answers, waits and refusals."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
from lamr_client import LamrError, Pruner
from lamr_front import control

from benchmarks.front.load import percentile
from benchmarks.front.site import Site
from benchmarks.report import Figure

FLEET = 50
CALLERS = 12
WEIGHTS = 4  # tenants have weights from 1 to this
GIVING_UP = 0.1  # share of bursts whose caller waits for 50 ms only
LARGE_FILES = 0.1
SETTINGS = "busy_tenants = 6"


def _code(functions: int) -> str:
    return "".join(f"def step_{n}(value):\n    return value * {n}\n\n" for n in range(functions))


SMALL, LARGE = _code(12), _code(120)
EXPECTED = ("answered", "given up", "QuotaExceededError")


@dataclass
class Outcome:
    """How calls ended, and how long those took that were answered, by the tenant's weight."""

    counts: Counter[str] = field(default_factory=Counter)
    seconds: dict[int, list[float]] = field(default_factory=lambda: defaultdict(list))
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, ended: str, weight: int, seconds: float) -> None:
        with self.lock:
            self.counts[ended] += 1
            if ended == "answered":
                self.seconds[weight].append(seconds)


def faults(site: Site, seconds: float) -> Iterator[Figure | str]:
    """Calls, answers and named errors while things go wrong."""
    tables = {
        f"t{n}": f"weight = {1 + n % WEIGHTS}\nlimits = {{ requests = {60 if n % 10 == 9 else 400} }}"
        for n in range(FLEET)
    }
    site.tenants({**tables, "revoked": ""}, SETTINGS)
    outcome, stop = Outcome(), threading.Event()
    with ThreadPoolExecutor(CALLERS) as pool:
        done = [pool.submit(_call, site, number, outcome, stop) for number in range(CALLERS)]
        try:
            yield from _disturb(site, tables, seconds)
        finally:
            stop.set()
    for each in done:
        each.result()
    counts = outcome.counts
    yield Figure(f"calls of {FLEET} tenants", counts.total())
    for name, count in sorted(counts.items()):
        yield Figure(f"  {name}", count)
    for weight, found in sorted(outcome.seconds.items()):
        yield Figure(f"answers to tenants of weight {weight}, p50", percentile(found, 50), "ms")
        yield Figure(f"answers to tenants of weight {weight}, p99", percentile(found, 99), "ms")
    for why, count in sorted(_refusals(site).items()):
        yield Figure(f"requests that the front refused: {why}", count)
    lost = counts.total() - sum(counts[name] for name in EXPECTED)
    yield Figure("lost: neither answered, nor given up by the caller, nor over a quota", lost, target=0)


def _call(site: Site, number: int, outcome: Outcome, stop: threading.Event) -> None:
    """One caller: burst after burst, each of another tenant's agent."""
    rng = np.random.default_rng(number)
    while not stop.is_set():
        tenant = int(rng.integers(FLEET))
        gives_up = rng.random() < GIVING_UP
        key, timeout = site.keys[f"t{tenant}"], 0.05 if gives_up else 60.0
        with Pruner(site.address, api_key=key, timeout=timeout, max_concurrency=4) as pruner:
            for _ in range(int(rng.integers(1, 6))):
                code = LARGE if rng.random() < LARGE_FILES else SMALL
                begun = time.perf_counter()
                try:
                    pruner.prune("How is the value used?", code, effort="full", degrade=False)
                    ended = "answered"
                except LamrError as error:
                    ended = "given up" if gives_up else type(error).__name__
                outcome.add(ended, 1 + tenant % WEIGHTS, time.perf_counter() - begun)


def _refusals(site: Site) -> Counter[str]:
    """By what the front's log says of why. What isn't JSON are HAProxy's own words about its end."""
    lines = site.log.read_text(encoding="utf-8").splitlines()
    found = Counter(json.loads(line)["why"] for line in lines if line.startswith("{"))
    found.pop("-", None)
    return found


def _disturb(site: Site, tables: dict[str, str], seconds: float) -> Iterator[str]:
    """What goes wrong, one after the other."""
    assert site.front is not None
    for _ in range(10):
        time.sleep(seconds / 20)
        site.tenants({**tables, "revoked": ""}, SETTINGS)
    yield "ten reloads"
    with Pruner(site.address, api_key=site.keys["revoked"], retries=0) as pruner:
        pruner.prune("value", SMALL, effort="full", degrade=False)
        site.tenants(tables, SETTINGS)
        try:
            pruner.prune("value", SMALL, effort="full", degrade=False)
            yield "a revoked key still opens: a defect"
        except LamrError as error:
            yield f"a key was revoked on an open connection: {type(error).__name__}"
    control.drain(site.file, "r0", 60)
    time.sleep(seconds / 10)
    control.undrain(site.file, "r0")
    yield "one server drained and put back"
    time.sleep(seconds / 10)
    os.kill(site.servers[1].pid, signal.SIGKILL)
    site.await_replicas()
    yield "the other one killed with -9, and started again by its supervisor"
    os.kill(site.front.pid, signal.SIGKILL)
    while site.front.poll() is None:
        time.sleep(0.01)
    site.front.start()
    site.await_replicas()
    yield "the front killed with -9, and started again"
    time.sleep(seconds / 10)
