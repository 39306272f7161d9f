"""`make bench`: the quick benchmarks in turn, then one table of what they found beside its targets.

    python -m benchmarks [--output bench.json] [--only NAME ...]

Each is a program of its own that can be run alone and prints more. The table's figures are written to a JSON file with
everything that the programs found. Long ones stay out: `overload.py` takes minutes, `gpu.py` needs a GPU.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
PROGRAMS = ("decoding", "encoder", "client", "serving", "throughput", "end_to_end", "gpu")
Found = dict[str, Any]


@dataclass(frozen=True)
class Row:
    """One line of the table: which program's figure it is, and its bound (from below if `at_least`)."""

    what: str
    program: str
    read: Callable[[Found], float]
    unit: str
    target: float
    at_least: bool = False


def _decoding(what: str) -> Callable[[Found], float]:
    return lambda found: float(next(row["value"] for row in found["rows"] if row["what"] == what))


def _crf_ratio(found: Found) -> float:
    """pytorch-crf's decode over our Viterbi, of the lengths that have a target."""
    return float(next(row["value"] for row in found["rows"] if row["target"] == 50))


def _encoder(batch: str, figure: str) -> Callable[[Found], float]:
    def read(found: Found) -> float:
        rows = (row for row in found["rows"] if (row["graph"], row["batch"]) == ("int8", batch))
        return float(next(rows)[figure])

    return read


def _of(name: str) -> Callable[[Found], float]:
    return lambda found: float(found[name])


TABLE = (
    Row("served over padded to 8,192, mixed trace", "throughput", _of("served_over_baseline"), "x", 25, True),
    Row(
        "int8 encoder over fp32, 8 x 256 tokens", "encoder", _encoder("8 x 256", "over_fp32"), "x", 2.5, True
    ),
    Row(
        "int8 encoder over fp32, 1 x 400 tokens", "encoder", _encoder("1 x 400", "over_fp32"), "x", 2.5, True
    ),
    Row("packed over padded, mixed lengths", "throughput", _of("packed_over_padded"), "x", 1.5, True),
    Row("time outside the encoder, saturated", "throughput", _of("outside_encoder_percent"), "%", 20),
    Row("Triton over in-process, one request", "serving", _of("added_ms"), "ms", 3),
    Row(
        "decoder, 16 x 4,096 tokens, one core",
        "decoding",
        _decoding("Viterbi + marginals, 16 x 4,096 tokens"),
        "ms",
        25,
    ),
    Row("decoder, pytorch-crf's decode over ours", "decoding", _crf_ratio, "x", 50, True),
    Row("client, a token", "client", _of("client cost a token, at 100,000"), "µs", 2.5),
    Row(
        "client, growth from 1K to 1M tokens", "client", _of("growth: dearest token over cheapest"), "x", 1.3
    ),
    Row("3,000 lines, served", "end_to_end", _of("seconds_served"), "s", 6),
)


def run(program: str) -> Found | None:
    """A program's figures, or None if it has none: no GPU, or it failed (its errors are on the terminal)."""
    begun = time.perf_counter()
    print(f"{program} ...", end=" ", file=sys.stderr, flush=True)
    done = subprocess.run(
        [sys.executable, FOLDER / f"{program}.py", "--json"],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(FOLDER.parent)},
    )
    print(f"{time.perf_counter() - begun:.0f} s", file=sys.stderr)
    try:
        found: Found = json.loads(done.stdout)
    except ValueError:
        return None
    return found


def main() -> int:
    """Run them; the exit code is 1 if one gave nothing that should have."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("bench.json"), help="where the JSON goes")
    parser.add_argument("--only", nargs="+", choices=PROGRAMS, default=PROGRAMS, help="programs to run")
    options = parser.parse_args()
    found = {program: run(program) for program in options.only}
    rows = []
    for row in TABLE:
        if (figures := found.get(row.program)) is None:
            continue
        value = row.read(figures)
        met = value >= row.target if row.at_least else value <= row.target
        rows.append({"what": row.what, "value": value, "unit": row.unit, "target": row.target, "met": met})
        bound = f"{'>=' if row.at_least else '<='} {row.target:g}"
        print(f"{row.what:<44}{value:>9.3g} {row.unit:<3} {bound:>8}  {'met' if met else 'MISSED'}")
    machine = {"machine": platform.machine(), "cpus": len(os.sched_getaffinity(0)), "load": os.getloadavg()}
    text = json.dumps({"machine": machine, "table": rows, "programs": found}, indent=2)
    options.output.write_text(text + "\n", encoding="utf-8")
    print(f"all figures: {options.output}", file=sys.stderr)
    failed = [program for program, figures in found.items() if figures is None]
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
