"""Servers are restarted and then replaced by another version of the model, one after the other, under a steady load.

    python -m benchmarks.rolling [--seconds 60] [--json]

Two real servers behind a real front. Steady callers, each with our own client and its retries, ask one request after
the other. Meanwhile

1. each server is drained, stopped, started again and put back;
2. the second server is replaced by another version of the model, and callers of both versions are served side by side;
3. the callers of the old version end, and the first server is replaced, too.

The other version has the signs of the last layer turned, so that it keeps other lines. Each answer is
compared with what the caller's own version answers directly. Everything is on loopback and ends by itself.
"""

from __future__ import annotations

import argparse
import contextlib
import inspect
import io
import os
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from lamr_client import LamrError, Pruner
from lamr_contract.names import (
    DECODER,
    ENSEMBLE,
    MODELS,
    SPEC_FILE,
    WEIGHTS_FILE,
    config_file,
    version_folder,
)
from lamr_contract.spec import ModelSpec, load_spec
from lamr_front import control
from lamr_front.running import Front
from lamr_serving import ServerOptions

from benchmarks.asking import Callers
from benchmarks.front.site import Site, start_server
from benchmarks.report import Figure, model_options, run

CALLERS = 6
QUERY = "How is the folder removed in the end?"
CODE = inspect.getsource(tempfile.TemporaryDirectory)
DRAIN_SECONDS = 60
OLD, NEW = "the old version", "the new version"


@dataclass
class Version:
    """A model that servers and callers may have.

    Attributes:
        expected: what it answers to `QUERY` and `CODE`, once it was asked directly.
    """

    repository: Path
    spec: ModelSpec
    expected: str = ""

    def learn(self, address: str) -> None:
        """Ask a server of this version directly."""
        with Pruner(address, model=self.repository) as pruner:
            self.expected = pruner.prune(QUERY, CODE, effort="full", degrade=False).text


@dataclass
class Load(Callers):
    """Callers of one version, from `with` until its end.

    Attributes:
        counts: `answered`, `wrong version`, or the error's name; of all calls that ended.
    """

    site: Site
    tenant: str
    version: Version
    counts: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self.ready(*[self._ask] * CALLERS)

    def more(self, count: int) -> None:
        """Wait for so many more calls, however they end."""
        goal = self.counts.total() + count
        while self.counts.total() < goal:
            time.sleep(0.05)

    def _ask(self) -> None:
        with Pruner(
            self.site.address, api_key=self.site.keys[self.tenant], model=self.version.repository
        ) as pruner:
            while not self.stopped.is_set():
                try:
                    right = (
                        pruner.prune(QUERY, CODE, effort="full", degrade=False).text == self.version.expected
                    )
                    ended = "answered" if right else "wrong version"
                except LamrError as error:
                    ended = type(error).__name__
                with self._lock:
                    self.counts[ended] += 1


def next_version(repository: Path, folder: Path) -> Version:
    """Write another version of a model: the last layer's signs turned, another version and fingerprint.

    Args:
        repository: the model's.
        folder: a new folder for the other one's.
    """
    shutil.copytree(repository, folder)
    spec = load_spec(repository)
    other = replace(spec, version=f"{spec.version}-next")
    (version_folder(folder, ENSEMBLE) / SPEC_FILE).write_text(other.to_json(), encoding="utf-8")
    for model in MODELS:
        file = config_file(folder, model)
        text = file.read_text(encoding="utf-8")
        file.write_text(text.replace(spec.fingerprint, other.fingerprint), encoding="utf-8")
    weights = version_folder(folder, DECODER) / WEIGHTS_FILE
    with np.load(weights) as stored:
        arrays = dict(stored)
    arrays["emission.weight"] = -arrays["emission.weight"]  # it keeps what the other one drops
    np.savez(weights, **arrays)
    return Version(folder, other)


@dataclass
class Pool:
    """The two servers behind the front, each of which may be replaced."""

    site: Site
    options: ServerOptions
    versions: list[Version]
    stack: ExitStack

    def tell(self) -> None:
        """Write into the tenants' file what each server serves."""
        self.site.fingerprints = [version.spec.fingerprint for version in self.versions]
        self.site.tenants({"old": "", "new": ""}, "busy_tenants = 2")

    def replace(self, number: int, version: Version) -> None:
        """Drain a server, stop it, start one at its port, and put it back."""
        name = f"r{number}"
        control.drain(self.site.file, name, DRAIN_SECONDS)
        before = self.site.servers[number]
        before.stop()
        port = before.addresses.grpc_port
        options = replace(self.options, grpc_port=port)
        self.site.servers[number] = start_server(self.stack, version.repository, options)
        if self.versions[number] is not version:
            self.versions[number] = version
            self.tell()
        control.undrain(self.site.file, name)
        self.site.await_replicas()


def rolling(pool: Pool, other: Version, seconds: float) -> Iterator[Figure | str]:
    """The three steps."""
    old = pool.versions[0]
    begun = time.monotonic()
    with contextlib.ExitStack() as stack:
        callers = stack.enter_context(Load(pool.site, "old", old))
        callers.more(2 * CALLERS)
        for number in range(2):
            pool.replace(number, old)
            callers.more(2 * CALLERS)
        restarted = Counter(callers.counts)
        yield f"each server restarted in turn, after {time.monotonic() - begun:.0f} s"
        pool.replace(1, other)
        other.learn(pool.site.servers[1].addresses.grpc)
        if other.expected == old.expected:
            raise SystemExit("both versions answer alike, so a wrong one would not be seen")
        with Load(pool.site, "new", other) as newcomers:
            newcomers.more(2 * CALLERS)
            while time.monotonic() - begun < seconds:
                time.sleep(0.1)
            callers.more(2 * CALLERS)
            yield f"two versions side by side until {time.monotonic() - begun:.0f} s"
            stack.close()  # the callers of the old version have moved
            pool.replace(0, other)
            newcomers.more(2 * CALLERS)
    yield f"both servers have the other version, after {time.monotonic() - begun:.0f} s"
    yield Figure("calls while servers were restarted", restarted.total())
    yield Figure("  answered", restarted["answered"])
    for name, load in ((OLD, callers), (NEW, newcomers)):
        yield Figure(f"calls of {CALLERS} callers of {name}", load.counts.total())
        for ended, count in sorted(load.counts.items()):
            yield Figure(f"  {ended}, {name}", count)
        lost = load.counts.total() - load.counts["answered"] - load.counts["wrong version"]
        yield Figure(f"lost, {name}", lost, target=0)
        yield Figure(f"answered by another version, {name}", load.counts["wrong version"], target=0)


def measure(options: argparse.Namespace) -> Iterator[Figure | str]:
    """Start servers and front, and run the steps."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        os.environ["LAMR_FRONT_DIR"] = str(folder / "run")
        old = Version(options.repository, load_spec(options.repository))
        other = next_version(options.repository, folder / "next")
        server = ServerOptions(threads=max(1, options.threads // 2), restart=True)
        servers = [start_server(stack, old.repository, server) for _ in range(2)]
        old.learn(servers[0].addresses.grpc)
        site = Site(folder, servers)
        pool = Pool(site, server, [old, old], stack)
        pool.tell()
        site.front = stack.enter_context(
            Front(site.file, log=stack.enter_context(Path(os.devnull).open("wb")), report=io.StringIO())
        )
        site.await_replicas()
        yield f"load of the machine at the start: {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs"
        yield from rolling(pool, other, options.seconds)


PARSER = model_options(__doc__)
PARSER.add_argument("--seconds", type=float, default=60.0, help="of load at least (%(default)s)")

if __name__ == "__main__":
    sys.exit(run(PARSER, measure))
