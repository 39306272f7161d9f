"""The `lamr` command as a person or a script runs it: output streams, exit codes, JSON."""

import json
import subprocess
import sys
from dataclasses import fields

import pytest
from lamr_client import PruneResult
from lamr_serving import TritonServer

from tests.command import run_main
from tests.integration.conftest import STDLIB
from tests.processes import all_end, below, shared_memory

QUERY = "How is the compiled pattern cached between calls?"
FILE = STDLIB / "glob.py"
IN_FULL = ("prune", str(FILE), "-q", QUERY, "--effort", "full", "--no-degrade", "--quiet")
DEAD = "127.0.0.1:9"  # the discard port: nothing listens


def test_prunes_a_file_to_stdout_and_tells_the_rest_on_stderr() -> None:
    command = [sys.executable, "-m", "lamr_cli.main", "prune", str(FILE), "-q", QUERY]
    done = subprocess.run(command, capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr.decode()
    compile(done.stdout, "pruned.py", "exec")
    assert b" pruned" in done.stdout
    assert "tokens" in done.stderr.decode()
    original = iter(FILE.read_bytes().splitlines())
    kept = [line for line in done.stdout.splitlines() if b" pruned" not in line]
    assert kept
    assert all(line in original for line in kept), "kept lines come unchanged and in order"


def test_stdin_json_and_quiet() -> None:
    quiet = ("-q", QUERY, "--language", "python", "--json", "--quiet")
    done, piped = run_main("prune", FILE, *quiet), run_main("prune", "-", *quiet, stdin=FILE.read_bytes())
    data = json.loads(done.stdout)
    assert (done.returncode, done.stderr) == (piped.returncode, piped.stderr) == (0, "")
    assert set(data) == {field.name for field in fields(PruneResult)}, "exactly the result"
    assert data["status"] == "pruned"
    assert data["tokens_out"] < data["tokens_in"]
    assert json.loads(piped.stdout)["text"] == data["text"]


@pytest.mark.parametrize(
    ("arguments", "stdin", "message"),
    [
        (("prune", "no-such-file.py", "-q", QUERY), b"", "no-such-file.py"),
        (("prune", "-", "-q", " "), b"x = 1\n", "query"),
        (("prune", "-", "-q", QUERY), b"x = 1\n\x00\n", "6"),
        (("prune", "-", "-q", QUERY), b"x = '\xff\1\2\3'\n", "5"),
        (("prune", "-", "-q", QUERY, "--language", "klingon"), b"x = 1\n", "klingon"),
        (("prune", "-", "-q", QUERY, "--keep", "9-3"), b"x = 1\n", "9-3"),
        (("prune", "-", "-q", QUERY, "--threshold", "7"), b"x = 1\n", "threshold"),
        (("prune", "-"), b"x = 1\n", "query"),
    ],
)
def test_bad_input_is_exit_2_and_names_the_cause(
    arguments: tuple[str, ...], stdin: bytes, message: str
) -> None:
    done = run_main(*arguments, stdin=stdin)
    assert done.returncode == 2, done.stderr
    assert message in done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr


def test_dead_server_is_exit_3_or_passthrough() -> None:
    prune = ("prune", FILE, "-q", QUERY, "--no-degrade")
    for command in (prune, ("status",)):
        refused = run_main(*command, "--server", DEAD)
        assert refused.returncode == 3
        assert DEAD in refused.stderr
    passed = run_main(*prune, "--server", DEAD, "--on-error", "passthrough")
    assert passed.returncode == 0
    assert passed.stdout.encode() == FILE.read_bytes()
    assert "passthrough" in passed.stderr


@pytest.mark.server
def test_server_option_and_status(server: TritonServer) -> None:
    done = run_main(*IN_FULL, "--server", server.addresses.grpc)
    assert done.returncode == 0, done.stderr
    assert done.stdout == run_main(*IN_FULL).stdout
    text = run_main("status", "--server", server.addresses.grpc).stdout
    assert "triton" in text
    assert "lamr-mini" in text
    assert json.loads(run_main("status", "--json").stdout)["model"] == "lamr-mini", "in process, too"


@pytest.mark.server
def test_serve_stops_cleanly() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "lamr_cli.main", "serve", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    ready = json.loads(process.stdout.readline())
    children = below(process.pid)
    segments = shared_memory(children)
    assert segments, "a tritonserver and its models' processes run below the command"
    assert run_main(*IN_FULL, "--server", ready["grpc"]).returncode == 0
    process.terminate()
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors.decode()
    assert all_end(children)
    assert not [path for path in segments if path.exists()]
