"""Rubric labels: how many records a second `lamr label` makes, and where the time goes.

    python benchmarks/labels.py [--records 1000] [--workers 2] [--json]

The records ask about 200-line windows of the standard library and the installed packages, no two about the same text,
so that no parse is used twice. Reading, writing and starting the processes are within the time. The rate that is
compared with the target is by CPU time, which a busy machine disturbs little: records a second when the processes
have a core each. The wall clock's stands beside it.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import platform
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from lamr_training.labels.files import label_file
from lamr_training.labels.rubrics import label_lines

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.material import python_files

LINES = 200
TARGET = 300.0  # records a second on two cores


def windows(count: int) -> Iterator[str]:
    """Beginnings of files, cut between top-level statements at about 200 lines."""
    for _, code in python_files(50_000):
        lines = code.splitlines(keepends=True)
        ends = [node.end_lineno or 0 for node in ast.parse(code).body]
        end = min(ends, key=lambda n: abs(n - LINES), default=0)
        if abs(end - LINES) <= 20:
            yield "".join(lines[:end])
            count -= 1
            if not count:
                return


def write_records(path: Path, count: int) -> int:
    """Records of a few runs of lines each; returns how many there are."""
    rng = np.random.default_rng(0)
    made = 0
    with path.open("w", encoding="utf-8") as stream:
        for code in windows(count):
            total = len(code.splitlines())
            starts = rng.integers(1, total - 9, 3)
            kept = sorted({int(n) for start in starts for n in range(start, start + int(rng.integers(2, 9)))})
            stream.write(json.dumps({"query": "what?", "code": code, "kept_frags": kept}) + "\n")
            made += 1
    return made


def milliseconds(call: Callable[[str], object], codes: list[str]) -> float:
    """Median CPU time over the codes."""
    taken = []
    for code in codes:
        started = time.process_time()
        call(code)
        taken.append((time.process_time() - started) * 1e3)
    return statistics.median(taken)


def cpu_seconds() -> float:
    """Of this process and of those that it started and that have ended."""
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def main() -> int:
    parser = argparse.ArgumentParser(description="Records labelled a second.")
    parser.add_argument("--records", type=int, default=1000, help="how many records (%(default)s)")
    parser.add_argument(
        "--workers", type=int, default=min(2, len(os.sched_getaffinity(0))), help="(%(default)s)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "in.jsonl"
        made = write_records(source, options.records)
        started, used = time.perf_counter(), cpu_seconds()
        summary = label_file(source, Path(folder) / "out.jsonl", workers=options.workers)
        seconds, used = time.perf_counter() - started, cpu_seconds() - used
        rows = [json.loads(line) for line in source.read_text(encoding="utf-8").splitlines()[:200]]
    assert summary.labelled == made
    codes = [row["code"] for row in rows]
    parse = milliseconds(ast.parse, codes)
    whole = milliseconds(lambda code: label_lines(code, [len(code.splitlines()) // 2]), codes)
    figures = {
        "machine": platform.machine(),
        "workers": options.workers,
        "records": made,
        "lines": round(statistics.mean(len(code.splitlines()) for code in codes), 1),
        "records_per_second": round(options.workers * made / used, 1),
        "target": TARGET,
        "records_per_second_by_wall_clock": round(made / seconds, 1),
        "label_ms": round(whole, 3),
        "of_which_ast_parse_ms": round(parse, 3),
        "labels_over_parse": round(whole / parse, 2),
    }
    if options.json:
        print(json.dumps(figures, indent=2))
    else:
        met = "met" if figures["records_per_second"] >= TARGET else "MISSED"
        print(f"lamr label, {made:,} records of {figures['lines']} lines, {options.workers} processes")
        print(f"  records a second          {figures['records_per_second']:>8}   >= {TARGET:g}  {met}")
        print(f"    by the wall clock       {figures['records_per_second_by_wall_clock']:>8}")
        print(f"  one record's labels       {whole:>8.2f} ms, of which {parse:.2f} ms are ast.parse")
    return int(figures["records_per_second"] < TARGET)


if __name__ == "__main__":
    sys.exit(main())
