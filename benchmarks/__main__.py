"""`make bench`: the benchmarks in turn with short samples, then one table of the figures that have targets.

    python -m benchmarks [--output bench.json] [--only NAME ...] [--openvino DIR]

Each program can be run alone and prints more; `--full` and `--seconds` of some measure for longer. Everything that the
programs found is written to a JSON file with the table. The exit code is 1 if a target is missed and 2 if a program
gave no figures."""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

from lamr_base.cpus import usable_cpus
from lamr_model.names import ENCODER, REPORT_FILE, version_folder

from benchmarks.report import MISSED, Figure, read_figures
from benchmarks.table import Missing, rows

ROOT = Path(__file__).resolve().parents[1]
SHIPPED = version_folder(ROOT / "model_repository", ENCODER) / REPORT_FILE
FAILED = 2
# In this order, with arguments that keep all of them under ten minutes on two cores.
PROGRAMS: dict[str, tuple[str, ...]] = {
    "decoding": (),
    "encoder": (),
    "large_encoder": (),
    "client": (),
    "serving": (),
    # 12, 5 and 3 requests of the three sizes, which are the trace's shares; of ten requests a fifth would be large.
    "throughput": ("--requests", "20"),
    "end_to_end": (),
    "memory": (),
    "overload": ("--seconds", "15"),
    "labels": ("--records", "200"),
    "postprocess": (),
    "agents": ("--calls", "5", "--files", "60"),
    "gpu": (),
}


def run_program(program: str, openvino: Path) -> list[Figure] | None:
    """A program's figures, or None if it failed (its errors are on the terminal)."""
    begun = time.perf_counter()
    print(f"{program} ...", end=" ", file=sys.stderr, flush=True)
    # onnxruntime with OpenVINO replaces the ordinary one, so only the program that wants it may see it.
    front = [openvino] if program == "large_encoder" and openvino.is_dir() else []
    done = subprocess.run(
        [sys.executable, "-m", f"benchmarks.{program}", *PROGRAMS[program], "--json"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, [*front, ROOT]))},
    )
    print(f"{time.perf_counter() - begun:.0f} s", file=sys.stderr)
    try:
        return read_figures(done.stdout)
    except ValueError:
        return None


def table_line(figure: Figure | Missing) -> str:
    """One line of the table."""
    if isinstance(figure, Missing):
        return f"{figure.name:<62} no figure  MISSED"
    return f"{figure!s:<98} {'' if figure.ratio is None else f'{figure.ratio:.2f}'}"


def machine() -> dict[str, object]:
    """What the figures were measured on."""
    return {"machine": platform.machine(), "cpus": usable_cpus(), "load": os.getloadavg()}


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
    results = {program: run_program(program, options.openvino) for program in options.only}
    figures = {program: reported or [] for program, reported in results.items()}
    shipped = json.loads(SHIPPED.read_text(encoding="utf-8"))
    table = []
    for program, row in rows(figures, shipped):
        print(table_line(row))
        met = isinstance(row, Figure) and row.met
        table.append({"program": program, **asdict(row), "met": met})
    everything = {
        "machine": machine() | {"seconds": time.perf_counter() - begun},
        "table": table,
        "programs": {program: [asdict(figure) for figure in found] for program, found in figures.items()},
    }
    options.output.write_text(json.dumps(everything, indent=2) + "\n", encoding="utf-8")
    print(f"all figures, after {time.perf_counter() - begun:.0f} s: {options.output}", file=sys.stderr)
    failed = [program for program, reported in results.items() if reported is None]
    missed = [row["name"].strip() for row in table if not row["met"]]
    for word, names in (("gave no figures", failed), ("missed", missed)):
        if names:
            print(f"{word}: {', '.join(names)}", file=sys.stderr)
    return FAILED if failed else MISSED if missed else 0


if __name__ == "__main__":
    sys.exit(main())
