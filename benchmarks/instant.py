"""How fast the line model alone answers, everything else of a call included.

    python -m benchmarks.instant [--rounds 20] [--no-hook] [--json]

CPU times are the least of the rounds, since load on the machine only ever adds to them; ratios come from one run. The
large text is made of whole installed files, and its growth compares it with its own parts of 2,000 lines. Imports,
first calls and memory are those of new processes. Notes profile what is left of a call."""

import argparse
import cProfile
import os
import platform
import pstats
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from lamr_base.cpus import usable_cpus
from lamr_client import Pruner
from lamr_model.spec import bundled_repository
from lamr_postprocess import split_lines

from benchmarks import agents
from benchmarks.postprocess import joined
from benchmarks.report import Figure, option_parser, run
from benchmarks.sources import library_module, python_files
from benchmarks.timing import time_call

QUERY = "where is a type variable with a bound checked against what it is given, and where is it substituted"
INSTANT: dict[str, Any] = {"effort": "instant"}
LINES, PARTS = 2_000, 50
MEGABYTES = 5

_IMPORT = "import time; begin = time.process_time()\nfrom lamr_client import Pruner\n"
_CALL = f"""
import sys
from pathlib import Path
from lamr_client import Pruner
text = Path(sys.argv[1]).read_text(encoding="utf-8")
with Pruner(timeout=3600) as pruner:
    pruner.prune({QUERY!r}, text[:2_000], path="small.py", **{INSTANT!r})
    before = looked_at()
    pruner.prune({QUERY!r}, text, path="large.py", **{INSTANT!r})
    print(before, looked_at(peak=True))
"""
_RESIDENT = """
from pathlib import Path
def looked_at(peak=False):
    sizes = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
    return int(sizes["VmHWM" if peak else "VmRSS"].split()[0]) / 1024
"""
_TRACED = """
import tracemalloc
tracemalloc.start()
def looked_at(peak=False):
    if not peak:
        tracemalloc.reset_peak()
    return tracemalloc.get_traced_memory()[peak] / 2**20
"""


def call_figures(pruner: Pruner, rounds: int) -> Iterator[Figure | str]:
    """A file of 2,000 lines that was never seen, and another question about it."""
    code = "".join(split_lines(library_module("typing.py"))[: LINES - 1])
    number = count()
    prune = partial(pruner.prune, path="typing.py", **INSTANT)
    new = time_call(lambda: prune(QUERY, f"{code}# {next(number)}\n"), rounds)
    again = time_call(lambda: prune(f"{QUERY} {next(number)}", code), rounds)
    yield Figure(f"{LINES:,} lines never seen before, whole call, CPU", 1e3 * min(new.cpu), "ms", 40)
    yield Figure(f"{LINES:,} lines, another question about them, CPU", 1e3 * min(again.cpu), "ms", 40)
    profile = cProfile.Profile()
    profile.runcall(prune, QUERY, f"{code}# {next(number)}\n")
    yield from _profiled(profile)


def _profiled(profile: cProfile.Profile) -> Iterator[str]:
    """The functions that take the most of a call, themselves."""
    stats = pstats.Stats(profile).stats  # type: ignore[attr-defined]  # typeshed knows it as another class's
    rows = sorted(((own, calls, place) for place, (_, calls, own, _, _) in stats.items()), reverse=True)
    whole = sum(own for own, _, _ in rows)
    for own, calls, (file, line, name) in rows[:15]:
        where = f"{Path(file).stem}:{line} {name}" if line else name
        yield f"  profile: {own / whole:5.1%} {calls:7,} calls  {where}"


def growth_figures(pruner: Pruner) -> Iterator[Figure]:
    """A text of 100,000 lines, and the parts that it is made of."""
    files = (code for _, code in python_files(4_000))
    fitting = [
        code if code.endswith("\n") else code + "\n"
        for code in files
        if 150 < code.count("\n") < LINES and "from __future__" not in code and not code.startswith("\ufeff")
    ]
    parts = [joined(fitting[place::PARTS], LINES) for place in range(PARTS)]
    whole = "".join(parts)
    prune = partial(pruner.prune, QUERY, path="large.py", timeout=3600, **INSTANT)

    def cpu(text: str) -> float:
        begin = time.process_time()
        prune(text)
        return time.process_time() - begin

    apart, together = [sum(map(cpu, parts)) for _ in range(2)], [cpu(whole) for _ in range(2)]
    lines = LINES * PARTS
    yield Figure(f"{lines:,} lines, CPU a line", 1e6 * min(together) / lines, "us", 25)
    yield Figure(f"{lines:,} lines over their parts of {LINES:,}", min(together) / min(apart), "x", 1.2)


def process_figures(rounds: int) -> Iterator[Figure]:
    """What a new process needs: its import, its first call, and its memory for a large file."""
    source = library_module("subprocess.py")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "code.py")
        file.write_text("".join(split_lines(library_module("typing.py"))[:LINES]), encoding="utf-8")
        imports = [float(_child(_IMPORT + "print(time.process_time() - begin)")[0]) for _ in range(rounds)]
        yield Figure("import of Pruner from lamr_client, CPU", 1e3 * min(imports), "ms", 150)
        first = f"""
import sys, time
from pathlib import Path
from lamr_client import Pruner
with Pruner() as pruner:
    pruner.prune({QUERY!r}, Path(sys.argv[1]).read_text(encoding="utf-8"), path="typing.py", **{INSTANT!r})
print(time.process_time())
"""
        calls = [float(_child(first, str(file))[0]) for _ in range(rounds)]
        yield Figure(f"first call of a new process, {LINES:,} lines, CPU", 1e3 * min(calls), "ms", 400)
        file.write_text(source * round(MEGABYTES * 1e6 / len(source)), encoding="utf-8")
        before, peak = map(float, _child(_RESIDENT + _CALL, str(file)))
        yield Figure(f"a file of {MEGABYTES} MB: peak of the process", peak, "MiB", 300)
        yield Figure(f"  a file of {MEGABYTES} MB: more than before", peak - before, "MiB")
        before, peak = map(float, _child(_TRACED + _CALL, str(file)))
        yield Figure(f"  a file of {MEGABYTES} MB: Python's own peak", peak - before, "MiB")


def _child(program: str, *arguments: str) -> list[str]:
    """The words that a program prints in a process of its own."""
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.split()


def measure(options: argparse.Namespace) -> Iterator[Figure | str]:
    """All figures."""
    load, python = os.getloadavg()[0], platform.python_version()
    yield f"-- {platform.machine()}, {usable_cpus()} CPUs, load {load:.1f}, Python {python}"
    with Pruner() as pruner:
        yield from call_figures(pruner, options.rounds)
        yield from growth_figures(pruner)
    yield from process_figures(max(3, options.rounds // 4))
    if not options.no_hook:
        yield from agents.hook_figures(bundled_repository(), options.rounds)


PARSER = option_parser(__doc__)
PARSER.add_argument("--rounds", type=int, default=20, help="calls of each kind (%(default)s)")
PARSER.add_argument("--no-hook", action="store_true", help="leave out the hook and its server")

if __name__ == "__main__":
    sys.exit(run(PARSER, measure))
