"""`make bench`: the benchmarks in turn with short samples, then one table of what they found beside its targets.

    python -m benchmarks [--output bench.json] [--only NAME ...] [--openvino DIR]

Each is a program of its own that can be run alone and prints more; `--full` and `--seconds` of some measure for longer.
The table's figures are written to a JSON file with everything that the programs found. The exit code is 1 if a target
is missed and 2 if a program gave no figures.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.table import TABLE, All, Found, Row

FOLDER = Path(__file__).parent
SHIPPED = FOLDER.parent / "model_repository" / "lamr_encoder" / "1" / "report.json"
MISSED, FAILED = 1, 2
# In this order, with arguments that keep all of them under ten minutes on two cores.
PROGRAMS: dict[str, tuple[str, ...]] = {
    "decoding": (),
    "encoder": (),
    "large_encoder": (),
    "client": (),
    "serving": (),
    # 12, 5 and 3 of the three sizes, which are the trace's shares; of ten requests a fifth would be large.
    "throughput": ("--requests", "20"),
    "end_to_end": (),
    "memory": (),
    "overload": ("--seconds", "15"),
    "labels": ("--records", "200"),
    "postprocess": ("speed",),
    "gpu": (),
}


def run(program: str, openvino: Path) -> Found | None:
    """A program's figures, or None if it failed (its errors are on the terminal)."""
    begun = time.perf_counter()
    print(f"{program} ...", end=" ", file=sys.stderr, flush=True)
    # onnxruntime with OpenVINO replaces the ordinary one, so that only the program that wants it may see it.
    front = [openvino] if program == "large_encoder" and openvino.is_dir() else []
    done = subprocess.run(
        [sys.executable, FOLDER / f"{program}.py", *PROGRAMS[program], "--json"],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, [*front, FOLDER.parent]))},
    )
    print(f"{time.perf_counter() - begun:.0f} s", file=sys.stderr)
    try:
        found: Found = json.loads(done.stdout)
    except ValueError:
        return None
    return found


def line(row: Row, found: All) -> dict[str, Any] | None:
    """A row's figures, or None if one of its programs wasn't to run."""
    if not all(name in found for name in row.programs):
        return None
    entry: dict[str, Any] = {"what": row.what.strip(), "unit": row.unit, "target": row.target}
    try:
        value = row.read(found)
    except (KeyError, StopIteration, TypeError):  # the program failed, or prints something else by now
        return entry | {"value": None, "ratio": None, "met": False}
    return entry | {"value": value, "ratio": row.ratio(value), "met": row.met(value)}


def show(row: Row, entry: dict[str, Any]) -> None:
    """Print one line of the table."""
    bound = f"{'>=' if row.at_least else '<='} {row.target:g}"
    value = "no figure" if entry["value"] is None else f"{entry['value']:.3g} {row.unit}"
    ratio = "" if entry["ratio"] is None else f"{entry['ratio']:.2f}"
    print(f"{row.what:<48}{value:>12}  {bound:>8}{ratio:>8}  {'met' if entry['met'] else 'MISSED'}")


def main() -> int:
    """Run them and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--output", type=Path, default=Path("bench.json"), help="where the JSON goes")
    parser.add_argument("--only", nargs="+", choices=PROGRAMS, default=[*PROGRAMS], help="programs to run")
    parser.add_argument(
        "--openvino",
        type=Path,
        default=Path(sys.prefix) / "openvino",
        help="folder with onnxruntime-openvino (pip install --no-deps --target) for large_encoder (%(default)s)",
    )
    options = parser.parse_args()
    begun = time.perf_counter()
    found = {program: run(program, options.openvino) for program in options.only}
    figures: dict[str, Any] = {**found, "shipped": json.loads(SHIPPED.read_text(encoding="utf-8"))}
    print(f"{'':<48}{'value':>12}  {'target':>8}{'ratio':>8}")
    entries = []
    for row in TABLE:
        if (entry := line(row, figures)) is not None:
            show(row, entry)
            entries.append(entry)
    machine = {
        "machine": platform.machine(),
        "cpus": len(os.sched_getaffinity(0)),
        "load": os.getloadavg(),
        "seconds": time.perf_counter() - begun,
    }
    text = json.dumps({"machine": machine, "table": entries, "programs": figures}, indent=2)
    options.output.write_text(text + "\n", encoding="utf-8")
    print(f"all figures, after {machine['seconds']:.0f} s: {options.output}", file=sys.stderr)
    failed = [program for program, one in found.items() if one is None]
    missed = [entry["what"] for entry in entries if not entry["met"]]
    for word, names in (("gave no figures", failed), ("missed", missed)):
        if names:
            print(f"{word}: {', '.join(names)}", file=sys.stderr)
    return FAILED if failed else MISSED if missed else 0


if __name__ == "__main__":
    sys.exit(main())
