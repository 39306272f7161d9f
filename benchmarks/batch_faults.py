"""Whether `lamr batch` gives each row one answer or one named error, whatever is killed.

    python -m benchmarks.batch_faults [--only command worker server ray node] [--rows 1500] [--kills 20] [--seed 0]

Each part prints its rows, answers, errors by name, rows without either, and doubles.

- `command`: `kill -9` of the command at random moments of its life, and each time the same command again.
- `worker`: `kill -9` of a random worker process every few hundred milliseconds while a batch runs.
- `server`: a batch through two servers, of which one is killed and comes back.
- `ray`: `kill -9` of the command with a cluster of its own, a few times, and the same command again.
- `node`: a cluster of two nodes, of which one is killed in the middle and not replaced.

Everything runs on this machine and ends by itself.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
from lamr_contract.spec import bundled_repository
from lamr_repositories.batch import BatchOptions, run_batch
from lamr_repositories.batch.shards import Shards
from lamr_serving import ServerOptions, TritonServer

from benchmarks.report import Figure, option_parser, run
from benchmarks.sources import QUERY, library_module

LINES = 60
MOMENTS = (0.3, 6.0)
"""Seconds after its start in which a command is killed: from before its first row to after its first shards."""
RAY_MOMENTS = (2.0, 25.0)
RAY_KILLS = 4
END_SECONDS = 60.0


def write_jobs(folder: Path, rows: int) -> Path:
    """Questions about pieces of a module, each with another budget."""
    lines = library_module("typing.py").splitlines(keepends=True)
    jobs = folder / "jobs.jsonl"
    with jobs.open("w", encoding="utf-8") as stream:
        for number in range(rows):
            start = number * LINES // 4 % (len(lines) - LINES)
            code = "".join(lines[start : start + LINES])
            row = {
                "id": f"row-{number}",
                "query": QUERY,
                "code": code,
                "path": "a.py",
                "max_tokens": 200 + number % 50,
            }
            stream.write(json.dumps(row) + "\n")
    return jobs


def counts(name: str, rows: int, output: Path) -> Iterator[Figure]:
    """What became of the rows."""
    shards = Shards(output)
    found = list(shards.rows())
    shards.close()
    ids = Counter(str(row["id"]) for row in found)
    errors = Counter(str(row["error"]) for row in found if "error" in row)
    yield Figure(f"{name}: rows", rows)
    yield Figure("  answers", len(found) - errors.total())
    for error, count in sorted(errors.items()):
        yield Figure(f"  {error}", count)
    yield Figure(
        "  rows without an answer or error", len({f"row-{n}" for n in range(rows)} - ids.keys()), target=0
    )
    yield Figure("  doubles", sum(count - 1 for count in ids.values()), target=0)


def command(jobs: Path, output: Path, *more: str) -> subprocess.Popen[bytes]:
    """`lamr batch` under way."""
    line = [sys.executable, "-m", "lamr_cli.main", "batch", str(jobs), "-o", str(output), "--no-cache", *more]
    return subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def killed_commands(
    name: str, options: argparse.Namespace, kills: int, moments: tuple[float, float], *more: str
) -> Iterator[Figure]:
    """Kill the command at random moments, run it again each time, and in the end to its end."""
    rng = random.Random(options.seed)
    met = 0
    with tempfile.TemporaryDirectory() as folder:
        jobs, output = write_jobs(Path(folder), options.rows), Path(folder) / "out"
        for _ in range(kills):
            process = command(jobs, output, *more)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(rng.uniform(*moments))
            children = (
                [] if process.poll() is not None else psutil.Process(process.pid).children(recursive=True)
            )
            met += process.poll() is None
            process.kill()
            process.wait()
            psutil.wait_procs(children, timeout=END_SECONDS)  # they end by themselves
        command(jobs, output, *more).wait()
        yield Figure(f"{name}: kills that met it alive", met, target=kills, at_least=True)
        yield from counts(name, options.rows, output)


def killed_workers(options: argparse.Namespace) -> Iterator[Figure]:
    """Kill random worker processes while a batch of two workers runs."""
    rng = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as folder:
        jobs, output = write_jobs(Path(folder), options.rows), Path(folder) / "out"
        process = command(jobs, output, "--workers", "2")
        met = 0
        while process.poll() is None:
            time.sleep(rng.uniform(1.0, 4.0))
            with contextlib.suppress(psutil.NoSuchProcess, IndexError):
                workers = [
                    each
                    for each in psutil.Process(process.pid).children()
                    if "work_in_a_process" in " ".join(each.cmdline())
                ]
                rng.choice(workers).kill()
                met += 1
        yield Figure("worker: killed", met, target=1, at_least=True)
        yield from counts("worker", options.rows, output)


def killed_server(options: argparse.Namespace) -> Iterator[Figure]:
    """Kill one of two servers in the middle; its supervisor starts it again."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        restarting = ServerOptions(restart=True, threads=1)
        servers = [stack.enter_context(TritonServer(bundled_repository(), restarting)) for _ in range(2)]
        jobs, output = write_jobs(Path(folder), options.rows), Path(folder) / "out"
        kill = _once(lambda: psutil.Process(servers[0].pid).kill())
        addresses = tuple(server.addresses.grpc for server in servers)
        run_batch(
            jobs,
            output,
            BatchOptions(workers=2, servers=addresses, timeout=30.0),
            lambda _, done, of: kill() if done > of // 4 else None,
        )
        yield from counts("server", options.rows, output)


def killed_node(options: argparse.Namespace) -> Iterator[Figure]:
    """Kill one of a cluster's two nodes in the middle."""
    with contextlib.redirect_stdout(sys.stderr):  # where what Ray says belongs
        figures = list(_killed_node(options))
    yield from figures


def _killed_node(options: argparse.Namespace) -> Iterator[Figure]:
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    import ray
    from ray.cluster_utils import Cluster

    store = {"object_store_memory": 80 * 2**20}
    cluster = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False, **store}
    )
    second = cluster.add_node(num_cpus=1, **store)
    try:
        ray.init(address=cluster.address, log_to_driver=False, logging_level="error")
        with tempfile.TemporaryDirectory() as folder:
            jobs, output = write_jobs(Path(folder), options.rows), Path(folder) / "out"
            kill = _once(lambda: cluster.remove_node(second, allow_graceful=False))
            on_ray = BatchOptions(workers=2, ray=cluster.address, ray_cpus=options.ray_cpus)
            count = run_batch(jobs, output, on_ray, lambda _, done, of: kill() if done > of // 4 else None)
            yield Figure(
                "node: nodes left of two", sum(bool(node["Alive"]) for node in ray.nodes()), target=1
            )
            yield Figure("  rows that a worker died of and another went on with", count.deaths)
            yield from counts("node", options.rows, output)
    finally:
        ray.shutdown()
        cluster.shutdown()


def _once(act: Callable[[], object]) -> Callable[[], None]:
    """A function that acts at its first call only, and without keeping its caller waiting."""
    left = [act]

    def call() -> None:
        if left:
            threading.Thread(target=left.pop()).start()

    return call


PARTS: dict[str, Callable[[argparse.Namespace], Iterator[Figure]]] = {
    "command": lambda options: killed_commands("command", options, options.kills, MOMENTS),
    "worker": killed_workers,
    "server": killed_server,
    "ray": lambda options: killed_commands(
        "ray", options, RAY_KILLS, RAY_MOMENTS, "--ray", "local", "--workers", "2"
    ),
    "node": killed_node,
}


def measure(options: argparse.Namespace) -> Iterator[Figure | str]:
    """Run the parts."""
    begun = time.monotonic()
    for part in options.only:
        yield from PARTS[part](options)
        yield f"{part} ended after {time.monotonic() - begun:.0f} s"


PARSER = option_parser(__doc__)
PARSER.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), help="parts to run")
PARSER.add_argument("--rows", type=int, default=1500, help="of each part (%(default)s)")
PARSER.add_argument(
    "--ray-cpus",
    type=float,
    default=BatchOptions.ray_cpus,
    help="that `node` sets aside for a worker (%(default)s)",
)
PARSER.add_argument("--kills", type=int, default=20, help="of the command (%(default)s)")
PARSER.add_argument("--seed", type=int, default=0, help="of the moments (%(default)s)")

if __name__ == "__main__":
    sys.exit(run(PARSER, measure))
