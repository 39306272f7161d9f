"""A tenant at its quota while another tenant, and strangers, do all that the campaign knows against the front."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Barrier

from lamr_client import AsyncGrpcTransport, LamrError, parse_connection

from benchmarks.front.load import SHORT, chunk_of, percentile
from benchmarks.front.site import Site
from benchmarks.report import Figure

PERIOD, CALLS = 10, 100  # the victim's quota: so many calls in so many seconds
ANEW = 5  # every so many calls, one comes on a connection of its own
ATTACKERS = 3  # at once, each with one attack after the other
ADDRESSES = 40  # that they come from
PARTS = 5  # of the attack, and before each the victim is alone: what else the machine does is in both
QUIET = 10.0  # seconds alone, at least
PAUSE = 6.0  # after an attack, for what is left of it to end


@dataclass
class Calls:
    """What became of the victim's calls.

    Attributes:
        seconds: of those that were answered, from when they were due.
        lost: of the others, by what the client said.
    """

    seconds: list[float] = field(default_factory=list)
    lost: Counter[str] = field(default_factory=Counter)


def attack(site: Site, seconds: float) -> Iterator[Figure | str]:
    """The victim's calls alone and under attack, which lasts for so many seconds in all, by turns."""
    site.tenants(
        {
            "victim": f"limits = {{ requests = {2 * CALLS} }}",
            # Its calls that are within its quota are no attack: at most one is in the pool.
            "attacker": "window = 1\nlimits = { concurrent = 4, requests = 20, bytes = 200_000 }",
        },
        f"quota_seconds = {PERIOD}\nmax_connections = 400",
    )
    site.await_replicas()
    alone, attacked = Calls(), Calls()
    for _ in range(PARTS):
        asyncio.run(_call(site, max(QUIET, seconds / PARTS / 3), alone))
        attackers = _attackers(site, seconds / PARTS)
        asyncio.run(_call(site, seconds / PARTS, attacked))
        attackers.join(60)
        time.sleep(PAUSE)
    for name, calls in (("alone", alone), ("under attack", attacked)):
        yield Figure(f"calls {name}", len(calls.seconds) + calls.lost.total())
        for why, count in sorted(calls.lost.items()):
            yield Figure(f"  {why}", count)
        for q in (50, 99):
            yield Figure(f"p{q} {name}", percentile(calls.seconds, q), "ms")
    yield Figure("calls lost under attack", attacked.lost.total(), target=0)
    ratio = percentile(attacked.seconds, 99) / percentile(alone.seconds, 99)
    yield Figure("p99 under attack / alone", ratio, target=2)


def _attackers(site: Site, seconds: float) -> BaseProcess:
    """A process that attacks from now on: what it imports is there."""
    context = multiprocessing.get_context("spawn")
    ready = context.Barrier(2)
    arguments = (site.port, site.keys["attacker"], seconds, ready)
    process = context.Process(target=_attack, args=arguments, daemon=True)
    process.start()
    ready.wait(60)
    return process


async def _call(site: Site, seconds: float, calls: Calls) -> None:
    """Call at the quota; each call when it is due, however long those before it take."""
    chunk, begun = chunk_of(SHORT), time.perf_counter()
    stays = site.transport("victim")
    await stays.infer(chunk, 60)

    async def one(number: int) -> None:
        due = begun + number * PERIOD / CALLS
        await asyncio.sleep(due - time.perf_counter())
        sent = time.perf_counter()
        transport = stays if number % ANEW else _anew(site)
        try:
            await transport.infer(chunk, 30)
            calls.seconds.append(time.perf_counter() - sent)
        except LamrError as error:
            calls.lost[f"{type(error).__name__}: {error}"] += 1
        finally:
            if transport is not stays:
                await transport.close()

    await asyncio.gather(*(one(number) for number in range(int(seconds * CALLS / PERIOD))))
    await stays.close()


def _anew(site: Site) -> AsyncGrpcTransport:
    return AsyncGrpcTransport(parse_connection(site.address, api_key=site.keys["victim"]))


def _attack(port: int, key: str, seconds: float, ready: Barrier) -> None:
    """Attack again and again; a process of its own, which leaves the CPUs to the others, as if it were elsewhere."""
    os.nice(19)
    from tests.attack.front_attacks import ATTACKS
    from tests.attack.front_callers import Caller

    ready.wait(60)
    end = time.monotonic() + seconds

    def one(seed: int) -> None:
        chance = random.Random(seed)
        while time.monotonic() < end:
            for name in chance.sample(list(ATTACKS), len(ATTACKS)):
                if time.monotonic() < end:
                    address = f"127.0.2.{chance.randrange(2, 2 + ADDRESSES)}"
                    ATTACKS[name](Caller(("127.0.0.1", port), key, address))

    threads = [threading.Thread(target=one, args=(seed,)) for seed in range(ATTACKERS)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
