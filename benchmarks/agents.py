"""What agents notice: how long a hook holds them up, and what the names in cuts cost.

    python -m benchmarks.agents [--files 200] [--calls 20] [--repository DIR] [--json]

The hook is timed as Claude Code runs it, a process a call, against a warm local server, on a file of about 2,000 lines
and on a small result, which the server needn't see. CPU times hold on a busy machine, those by the clock don't. Named
cuts are made on installed Python files with random masks like a model's, as they are and within a budget.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from lamr_agents import thin
from lamr_agents.local.server import LocalServer
from lamr_agents.local.store import Store
from lamr_agents.policy import Policy
from lamr_agents.skim import Prunes
from lamr_client import Pruner
from lamr_postprocess import approximate_tokens, prune_lines, split_lines
from lamr_postprocess.selection import BudgetError

from benchmarks.material import model_like
from benchmarks.report import Figure, model_options, run
from benchmarks.sources import library_module, python_files

OWN_MILLISECONDS, WHOLE_MILLISECONDS = 60.0, 120.0
TYPING_LINES = 2000
BUDGET_SHARE = 0.3

PARSER = model_options(__doc__)
PARSER.add_argument("--files", type=int, default=200, help="files to cut (%(default)s)")
PARSER.add_argument("--calls", type=int, default=20, help="calls of the hook (%(default)s)")


@contextmanager
def serving(folder: Path, make_pruner: Callable[[], Prunes], policy: Policy | None = None) -> Iterator[Path]:
    """A warm local server's socket."""
    socket, store = folder / "hook.sock", Store(folder / "shown.sqlite3")
    server = LocalServer(socket, store, make_pruner, policy=policy, seconds=60.0, effort="instant")
    ready = threading.Event()
    thread = threading.Thread(target=server.run, kwargs={"ready": ready.set})
    thread.start()
    ready.wait()
    try:
        yield socket
    finally:
        server.stop()
        thread.join()
        store.close()


def payload(number: int, transcript: Path, code: str, path: str = "/w/typing.py") -> bytes:
    """A call of Read as the host sends it, each in a session of its own."""
    content = {"filePath": path, "content": code, "numLines": code.count("\n") + 1, "startLine": 1}
    return json.dumps(
        {
            "session_id": str(number),
            "transcript_path": str(transcript),
            "hook_event_name": "PostToolUse",
            "tool_name": "Read",
            "tool_input": {"file_path": path},
            "tool_response": {"type": "text", "file": content},
        }
    ).encode()


def said(words: str) -> str:
    """A session's log in which the user has said this."""
    message = {"role": "user", "content": words}
    return json.dumps({"parentUuid": None, "sessionId": "s", "message": message}) + "\n"


@dataclass(frozen=True)
class Run:
    """One call of the hook: milliseconds by the clock and of its process's CPU time, and what it printed."""

    wall: float
    cpu: float
    printed: bytes


def call(socket: Path, data: bytes) -> Run:
    """Run the hook's process from its start to its end."""
    command = [sys.executable, "-I", "-S", thin.__file__, "--socket", str(socket), "--limit", "120"]
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, input=data, capture_output=True, check=True)
    wall, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Run(1e3 * wall, 1e3 * cpu, done.stdout)


def hook_figures(repository: Path, calls: int) -> Iterator[Figure]:
    """The hook's own time, and the whole."""
    code = "".join(split_lines(library_module("typing.py"))[:TYPING_LINES])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        transcript = folder / "transcript.jsonl"
        transcript.write_text(said("How are generic aliases cached, and what happens if it fails?"))
        own = [call(folder / "none", b"{}") for _ in range(calls)]
        with serving(folder, lambda: Pruner(model=repository)) as socket:
            call(socket, payload(-1, transcript, code))
            whole = [call(socket, payload(n, transcript, code)) for n in range(calls)]
    assert all(b"updatedToolOutput" in run.printed for run in whole)
    yield from _spread("hook: a small result, CPU time", [run.cpu for run in own], OWN_MILLISECONDS)
    yield from _spread("hook: a small result, by the clock", [run.wall for run in own])
    yield from _spread(
        "hook: a large file, its process's CPU time", [run.cpu for run in whole], OWN_MILLISECONDS
    )
    name_of_whole = f"hook: the whole, {TYPING_LINES} lines"
    yield from _spread(name_of_whole, [run.wall for run in whole], WHOLE_MILLISECONDS)


def _spread(name: str, values: list[float], target: float | None = None) -> Iterator[Figure]:
    yield Figure(f"{name}, median", statistics.median(values), "ms", target)
    yield Figure(f"{name}, 90 of 100", float(np.quantile(values, 0.9)), "ms")


def naming_figures(files: int) -> Iterator[Figure]:
    """What names add to markers, and whether cuts that are named still parse and fit their budgets."""
    rng = np.random.default_rng(0)
    broken = over = refused = 0
    bare_tokens = named_tokens = cuts = named_cuts = 0
    for path, code in python_files(files):
        mask = model_like(len(split_lines(code)), rng)
        bare = prune_lines(code, mask, path=path.name)
        named = prune_lines(code, mask, path=path.name, markers="named")
        broken += not _parses(named.text)
        bare_tokens += approximate_tokens(bare.text)
        named_tokens += approximate_tokens(named.text)
        cuts += len(named.cuts)
        named_cuts += named.text.count("): ") - bare.text.count("): ")
        budget = max(1, int(BUDGET_SHARE * approximate_tokens(code)))
        try:
            fitted = prune_lines(
                code, rng.random(len(mask)), path=path.name, max_tokens=budget, markers="named"
            )
        except BudgetError:
            refused += 1
        else:
            over += approximate_tokens(fitted.text) > budget
            broken += not _parses(fitted.text)
    yield Figure("named cuts: files that don't parse", broken, "", 0)
    yield Figure("named cuts: budgets exceeded", over, "", 0)
    yield Figure("named cuts: budgets below any valid text", refused)
    yield Figure("named cuts: share of cuts that have names", named_cuts / max(1, cuts))
    yield Figure("named cuts: tokens added a cut", (named_tokens - bare_tokens) / max(1, cuts), "tokens", 12)
    yield Figure("named cuts: tokens added to a text", 100 * (named_tokens / bare_tokens - 1), "%")


def _parses(text: str) -> bool:
    try:
        compile(text, "x", "exec", dont_inherit=True, flags=0x400)  # PyCF_ONLY_AST
    except (SyntaxError, ValueError, RecursionError):
        return False
    return True


def measure(options: argparse.Namespace) -> Iterator[Figure | str]:
    """All figures."""
    yield from naming_figures(options.files)
    yield from hook_figures(options.repository, options.calls)


if __name__ == "__main__":
    sys.exit(run(PARSER, measure))
