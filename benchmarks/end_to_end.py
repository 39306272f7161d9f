"""A whole prune from text to text: a 3,000-line file in process and through Triton, what stays in memory, and how time
grows with the text.

    python benchmarks/end_to_end.py [--json] [--runs 3] [--full]

Prints each figure beside its target. Times are of this machine; the two ways run in turn, so their ratio holds. Growth
is that of prunes in process with the model, what a user waits for: at 1K, 10K and 100K tokens of the standard library,
and with --full at 1M, which takes minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sysconfig
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil
from lamr_client import PromptEncoder, Pruner, bundled_repository
from lamr_serving import TritonServer

QUERY = "How does a generic alias substitute its type parameters, and what is checked?"
LINES = 3000
TARGET_SECONDS = 6.0
TARGET_GROWTH = 1.3
GROWTH = (1_000, 10_000, 100_000)
FULL = 1_000_000


@dataclass(frozen=True)
class Figures:
    """Seconds are medians; bytes are resident, the server's with all of its model processes.

    Attributes:
        microseconds_a_token: by the tokens of the text. growth: the largest of them over the smallest.
    """

    lines: int
    tokens: int
    seconds_in_process: float
    seconds_served: float
    client_bytes: int
    server_bytes: int
    microseconds_a_token: dict[int, float]
    growth: float


def source() -> str:
    """The first 3,000 lines of the standard library's typing.py, doubled if it is shorter."""
    text = (Path(sysconfig.get_path("stdlib")) / "typing.py").read_text(encoding="utf-8")
    return "".join((text + text).splitlines(keepends=True)[:LINES])


def library(tokens: int) -> str:
    """Whole modules of the standard library, in the order of their names, and the beginning of one more: about so many
    tokens that parse together."""
    encoder = PromptEncoder.from_repository(bundled_repository())
    parts: list[str] = []
    for path in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
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


def seconds_by_tokens(pruner: Pruner, sizes: tuple[int, ...], runs: int) -> dict[int, float]:
    """Microseconds a token of whole prunes, by the tokens of the text; medians, small texts oftener."""
    found = {}
    for size in sizes:
        code = library(size)
        repeats = max(1, min(20, runs * GROWTH[-1] // (10 * size)))
        results = [pruner.prune(QUERY, code, path="library.py") for _ in range(repeats)]
        seconds = statistics.median(result.timings.total for result in results)
        found[results[0].tokens_in] = 1e6 * seconds / results[0].tokens_in
    return found


def measure(runs: int, sizes: tuple[int, ...]) -> Figures:
    """Prune in turn, in process and served; then texts of growing size."""
    code = source()
    here: list[float] = []
    there: list[float] = []
    with Pruner(timeout=3600) as local:
        with (
            TritonServer(bundled_repository()) as server,
            Pruner(server.addresses.grpc, timeout=300) as remote,
        ):
            tokens = remote.prune(QUERY, code, path="typing.py").tokens_in
            local.prune(QUERY, code, path="typing.py")
            for _ in range(runs):
                here.append(local.prune(QUERY, code, path="typing.py").timings.total)
                there.append(remote.prune(QUERY, code, path="typing.py").timings.total)
            process = psutil.Process(server.pid)
            resident = sum(each.memory_info().rss for each in (process, *process.children(recursive=True)))
            own = psutil.Process(os.getpid()).memory_info().rss
        growth = seconds_by_tokens(local, sizes, runs)
    return Figures(
        lines=LINES,
        tokens=tokens,
        seconds_in_process=statistics.median(here),
        seconds_served=statistics.median(there),
        client_bytes=own,
        server_bytes=resident,
        microseconds_a_token=growth,
        growth=max(growth.values()) / min(growth.values()),
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--full", action="store_true", help=f"growth up to {FULL:,} tokens")
    arguments = parser.parse_args()
    figures = measure(arguments.runs, (*GROWTH, FULL) if arguments.full else GROWTH)
    if arguments.json:
        print(json.dumps(asdict(figures)))
        return
    print(
        f"{figures.lines:,} lines, {figures.tokens:,} tokens, end to end (target: {TARGET_SECONDS:.0f} s on two cores)"
    )
    print(f"  in process      {figures.seconds_in_process:6.2f} s")
    print(f"  through Triton  {figures.seconds_served:6.2f} s")
    print(f"  ratio           {figures.seconds_served / figures.seconds_in_process:6.2f}")
    print(
        f"resident: client and its own model {figures.client_bytes / 1e6:.0f} MB, "
        f"server and stubs {figures.server_bytes / 1e6:.0f} MB"
    )
    for tokens, microseconds in figures.microseconds_a_token.items():
        print(f"  {tokens:>9,} tokens in process {microseconds:8.1f} µs each")
    print(f"growth: dearest token over cheapest {figures.growth:.2f} x (target ≤ {TARGET_GROWTH})")


if __name__ == "__main__":
    main()
