"""The largest inputs with the real model, in process: a 5 MB file and a line of 1 MB. Minutes on two cores.

    python benchmarks/large_files.py [--megabytes 5]

Prints seconds, tokens a second and the peak of resident memory, and fails if a line was lost.
"""

from __future__ import annotations

import argparse
import resource
import sysconfig
from pathlib import Path

from lamr_client import Pruner

QUERY = "How is the exit status of a child process decoded?"


def resident() -> float:
    """Peak resident memory of this process so far, MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def report(pruner: Pruner, name: str, code: str, path: str) -> None:
    """Prune and print; every line must be either kept or cut."""
    before = resident()
    result = pruner.prune(QUERY, code, path=path)
    cut = sum(one.end - one.start + 1 for one in result.cuts)
    assert len(result.kept_lines) + cut == len(result.line_scores)
    seconds = result.timings
    print(
        f"{name:<16} {len(code) / 1e6:.1f} MB, {result.tokens_in:,} tokens: {seconds.total:.0f} s "
        f"({result.tokens_in / seconds.total:,.0f} tokens/s; encode {seconds.encode:.1f}, postprocess "
        f"{seconds.postprocess:.1f}), peak memory {before:.0f} -> {resident():.0f} MB"
    )


def main() -> None:
    """Measure both inputs."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--megabytes", type=float, default=5.0, help="size of the file")
    arguments = parser.parse_args()
    source = (Path(sysconfig.get_path("stdlib")) / "subprocess.py").read_text(encoding="utf-8")
    with Pruner(timeout=3600) as pruner:
        report(pruner, "small, to warm up", source, "subprocess.py")
        words = " ".join(f"name_{number}" for number in range(100_000))
        report(pruner, "one line", f'x = "{words[:1_000_000]}"\n', "line.py")
        report(pruner, "one file", source * round(arguments.megabytes * 1e6 / len(source)), "large.py")


if __name__ == "__main__":
    main()
