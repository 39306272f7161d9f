"""What agents notice: how long a hook holds them up, and what the names in cuts cost.

    python -m benchmarks.agents [--files 200] [--calls 20] [--repository DIR] [--json]

The hook of each host is timed as the host runs it, a process a call with the command of its settings, against a warm
local server, on a file of about 2,000 lines, and on a small result, which the server needn't see. `lamr-hook` is the
command that teams check in. Hosts whose plugins are JavaScript are played by node. Gemini CLI calls its hook once more
for what takes a result's place, which counts. CPU times hold on a busy machine, those by the clock don't. Named cuts
are made on installed Python files with random masks like a model's, as they are and within a budget."""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from lamr_agents import mistral_vibe, thin
from lamr_agents.calls import SampleRead
from lamr_agents.host import Way
from lamr_agents.hosts import HOSTS
from lamr_agents.installing import hook_command
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
QUESTION = "How are generic aliases cached, and what happens if it fails?"

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
    """A call of Read as Claude Code sends it, each in a session of its own."""
    content = {"filePath": path, "content": code, "numLines": code.count("\n") + 1, "startLine": 1}
    return _named(number, transcript, "Read", {"file_path": path}, {"type": "text", "file": content})


def _named(number: int, transcript: Path, tool: str, given: Any, response: Any) -> bytes:
    """A call in the names that most hosts give its parts."""
    called = {"tool_name": tool, "tool_input": given, "tool_response": response}
    session = {"session_id": str(number), "transcript_path": str(transcript), "cwd": "/w"}
    return json.dumps({**session, "hook_event_name": thin.EVENT, **called}).encode()


def _copilot(number: int, code: str) -> bytes:
    result = {"resultType": "success", "textResultForLlm": code}
    called = {"toolName": "view", "toolArgs": {"path": "/w/typing.py"}, "toolResult": result}
    return json.dumps({"sessionId": f"s{number}", "cwd": "/w", **called}).encode()


def _vibe(number: int, folder: Path, code: str) -> bytes:
    read = SampleRead("/w/typing.py", code, QUESTION, f"s{number}", str(folder))
    return json.dumps({"cwd": "/w", **mistral_vibe.sample(read)}).encode()


PAYLOADS: Mapping[str, Callable[[int, Path, str], bytes]] = {
    "claude-code": payload,
    "codex": lambda number, folder, code: _named(
        *(number, folder / "codex.jsonl", "Bash", {"command": "cat /w/typing.py"}, code)
    ),
    "copilot-cli": lambda number, _, code: _copilot(number, code),
    "gemini-cli": lambda number, folder, code: _named(
        *(number, folder / "tmp" / "chats" / "gemini.jsonl", "read_file", {"file_path": "/w/typing.py"}),
        {"llmContent": code},
    ),
    "mistral-vibe": _vibe,
}
"""What each host with a hook sends: for a session's number, the folder of the sessions' logs, and a file's code."""


def write_logs(folder: Path, words: str, calls: range) -> None:
    """Write a session's log of each host, in which the user has said this."""
    message = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": words}]}
    logs: dict[str, Any] = {
        "claude.jsonl": json.loads(said(words)),
        "codex.jsonl": {"timestamp": "t", "type": "response_item", "payload": message},
        "tmp/chats/gemini.jsonl": {"id": "1", "type": "user", "content": [{"text": words}]},
    }
    copilot = {"type": "user.message", "data": {"content": words}}
    logs |= {f"copilot/session-state/s{number}/events.jsonl": copilot for number in calls}
    for name, record in logs.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(json.dumps(record) + "\n", encoding="utf-8")


def said(words: str) -> str:
    message = {"role": "user", "content": words}
    return json.dumps({"parentUuid": None, "sessionId": "s", "message": message}) + "\n"


@dataclass
class Run:
    """One call of the hook: milliseconds by the clock and of its process's CPU time, and what it printed."""

    wall: float
    cpu: float
    printed: bytes


def call(socket: Path, data: bytes) -> Run:
    hook = HOSTS["claude-code"].hook
    assert hook
    return _run(hook_command(hook, socket=socket, limit=120).words, data)


def _run(command: Sequence[str], data: bytes, **environment: str) -> Run:
    """Run the hook's process from its start to its end."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    environment = {**os.environ, **environment}
    done = subprocess.run(command, input=data, capture_output=True, check=True, env=environment)
    wall, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Run(1e3 * wall, 1e3 * cpu, done.stdout)


def hook_figures(repository: Path, calls: int) -> Iterator[Figure]:
    """The hook's own time, and the whole, of each host with a hook."""
    code = "".join(split_lines(library_module("typing.py"))[:TYPING_LINES])
    hooks = {host.name: host.hook for host in HOSTS.values() if host.way is Way.HOOK and host.hook}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sessions = iter(range((calls + 1) * len(hooks)))
        write_logs(folder, QUESTION, range((calls + 1) * len(hooks)))
        moved = {"COPILOT_HOME": str(folder / "copilot")}
        with serving(folder, lambda: Pruner(model=repository)) as socket:
            commands = {
                host: hook_command(hook, socket=socket, limit=120).words for host, hook in hooks.items()
            }
            own = [_run(commands["claude-code"], b"{}") for _ in range(calls)]
            yield from _spread("hook: a small result, CPU time", [run.cpu for run in own], OWN_MILLISECONDS)
            yield from _spread("hook: a small result, by the clock", [run.wall for run in own])
            for host, command in commands.items():
                make = PAYLOADS[host]
                log = folder / "claude.jsonl" if host == "claude-code" else folder
                numbers = islice(sessions, calls + 1)
                runs = [_run(command, make(number, log, code), **moved) for number in numbers][1:]
                passing = hooks[host].passed.encode()
                for run in runs if passing else ():
                    again = _run(command, passing)
                    run.wall, run.cpu = run.wall + again.wall, run.cpu + again.cpu
                assert all(_is_cut(run.printed) for run in runs), host
                cpu, wall = [run.cpu for run in runs], [run.wall for run in runs]
                yield from _spread(f"{host}: a large file, its process's CPU time", cpu, OWN_MILLISECONDS)
                yield from _spread(f"{host}: the whole, {TYPING_LINES} lines", wall, WHOLE_MILLISECONDS)


def shared_figures(repository: Path, calls: int) -> Iterator[Figure]:
    """The whole by the command that is the same on every machine."""
    code = "".join(split_lines(library_module("typing.py"))[:TYPING_LINES])
    program = [sys.executable, "-c", "from lamr_cli.hook import main; main()"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_logs(folder, QUESTION, range(0))
        with serving(folder, lambda: Pruner(model=repository)) as socket:
            command = [*program, "--socket", str(socket), "--limit", "120", "--host", "claude-code"]
            runs = [_run(command, payload(n, folder / "claude.jsonl", code)) for n in range(-1, calls)][1:]
    assert all(_is_cut(run.printed) for run in runs)
    title = f"lamr-hook: the whole, {TYPING_LINES} lines"
    yield from _spread(title, [run.wall for run in runs], WHOLE_MILLISECONDS)


def javascript_figures(repository: Path, calls: int) -> Iterator[Figure]:
    """The whole as a host whose plugins are JavaScript waits for it."""
    from tests.agents.javascript.test_javascript import GENERATIONS, command, play

    code = "".join(split_lines(library_module("typing.py"))[:TYPING_LINES])
    with (
        tempfile.TemporaryDirectory() as name,
        serving(Path(name), lambda: Pruner(model=repository)) as socket,
    ):
        for generation in GENERATIONS:
            sessions = {
                f"{generation.name}{number}": generation.said(QUESTION) for number in range(-1, calls)
            }
            reads = [generation.read(session, text=generation.show(code)) for session in sessions]
            played = play(Path(name), generation, command(generation, socket), reads, sessions)
            assert all(" pruned" in json.dumps(result) for result in played["results"]), generation.name
            title = f"{generation.name}: the whole, {TYPING_LINES} lines"
            yield from _spread(title, played["milliseconds"][1:], WHOLE_MILLISECONDS)


def _is_cut(printed: bytes) -> bool:
    keys = (b"updatedToolOutput", b"stopReason", b"modifiedResult", b"tailToolCallRequest", b'"deny"')
    return any(key in printed for key in keys)


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
    yield from naming_figures(options.files)
    yield from hook_figures(options.repository, options.calls)
    yield from shared_figures(options.repository, options.calls)
    yield from javascript_figures(options.repository, options.calls)


if __name__ == "__main__":
    raise SystemExit(run(PARSER, measure))
