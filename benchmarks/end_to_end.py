"""A whole prune from text to text: a 3,000-line file in process and through Triton, what stays in memory, and how time
grows with the text.

    python -m benchmarks.end_to_end [--runs 3] [--full] [--json]

Times are of this machine; the two ways run in turn, so their ratio holds. Growth is that of prunes in process with the
model, which is what a user waits for: at 1K, 10K and 100K tokens of the standard library, and with `--full` at 1M,
which takes minutes."""

import argparse
import statistics
import sys
from collections.abc import Iterator
from functools import partial

import psutil
from lamr_client import InProcessTransport, PromptEncoder, Pruner, bundled_repository
from lamr_model.encoder.kept_states import KeptStates
from lamr_serving import TritonServer

from benchmarks.load import resident_mib
from benchmarks.report import Figure, option_parser, run
from benchmarks.sources import QUERY, STDLIB, library_module
from benchmarks.timing import time_in_turns

LINES = 3000
GROWTH = (1_000, 10_000, 100_000)  # tokens
FULL = 1_000_000


def source() -> str:
    """The first 3,000 lines of the standard library's typing.py, doubled if it is shorter."""
    return "".join((2 * library_module("typing.py")).splitlines(keepends=True)[:LINES])


def library(tokens: int) -> str:
    """About so many tokens that parse together: whole modules of the standard library in the order of their names, and
    the beginning of one more."""
    encoder = PromptEncoder.from_repository(bundled_repository())
    parts: list[str] = []
    for path in sorted(STDLIB.glob("*.py")):
        text = path.read_text(encoding="utf-8")
        if "from __future__" in text:  # it must come first in a file
            continue
        _, offsets = encoder.encode_document(text)
        if len(offsets) > tokens:
            end = max(text.rfind(f"\n{word} ", 0, int(offsets[tokens][0])) for word in ("def", "class"))
            return "".join([*parts, text[: end + 1]])
        parts.append(text)
        tokens -= len(offsets)
    raise SystemExit(f"the standard library here is {tokens:,} tokens short of the text that growth asks for")


def microseconds_a_token(pruner: Pruner, size: int, runs: int) -> tuple[int, float]:
    """The tokens of a text of about `size`, and the median cost of each in whole prunes; small texts run oftener."""
    code = library(size)
    repeats = max(1, min(20, runs * GROWTH[-1] // (10 * size)))
    results = [pruner.prune(QUERY, code, path="library.py", effort="full") for _ in range(repeats)]
    seconds = statistics.median(result.timings.total for result in results)
    return results[0].tokens_in, 1e6 * seconds / results[0].tokens_in


def measure(options: argparse.Namespace) -> Iterator[Figure]:
    """Prune in turn, in process and served; then prune texts of growing size."""
    code = source()
    # Every round reads all chunks anew.
    transport = InProcessTransport(bundled_repository(), kept=KeptStates(0))
    with Pruner(model=bundled_repository(), transport=transport, timeout=3600) as local:
        with (
            TritonServer(bundled_repository()) as server,
            Pruner(server.addresses.grpc, timeout=300) as remote,
        ):
            calls = {
                "local": partial(local.prune, QUERY, code, path="typing.py"),
                "remote": partial(remote.prune, QUERY, code, path="typing.py"),
            }
            timings = time_in_turns(calls, options.runs)
            here, there = timings["local"].wall_median, timings["remote"].wall_median
            yield Figure(f"{LINES:,} lines, in process", here, "s")
            yield Figure(f"{LINES:,} lines, served", there, "s", 6)
            yield Figure("  served over in process", there / here, "x")
            own = psutil.Process().memory_info().rss / 2**20
            yield Figure("  resident: client and its own model", own, "MiB")
            yield Figure("  resident: server and model processes", resident_mib(server.pid), "MiB")
        costs = []
        for size in (*GROWTH, FULL) if options.full else GROWTH:
            tokens, cost = microseconds_a_token(local, size, options.runs)
            costs.append(cost)
            yield Figure(f"in process, {tokens:,} tokens, each", cost, "µs")
    yield Figure("growth of a whole prune: dearest token over cheapest", max(costs) / min(costs), "x", 1.3)


PARSER = option_parser(__doc__)
PARSER.add_argument("--runs", type=int, default=3, help="prunes to take the median of (%(default)s)")
PARSER.add_argument("--full", action="store_true", help=f"growth up to {FULL:,} tokens")

if __name__ == "__main__":
    sys.exit(run(PARSER, measure))
