"""The `lamr` command as a person or a script runs it: output streams, exit codes, JSON."""

import json
import os
import subprocess
import sys
from dataclasses import fields

import pytest
from lamr_client import PruneResult
from lamr_serving import TritonServer

from tests.integration.conftest import STDLIB
from tests.processes import all_end, below, shared_memory

QUERY = "How is the compiled pattern cached between calls?"
FILE = STDLIB / "glob.py"
IN_FULL = ("prune", str(FILE), "-q", QUERY, "--effort", "full", "--no-degrade", "--quiet")
DEAD = "127.0.0.1:9"  # the discard port: nothing listens


def lamr(
    *arguments: str, stdin: bytes = b"", environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "lamr_cli.main", *arguments],
        input=stdin,
        capture_output=True,
        timeout=120,
        check=False,
        env={**os.environ, **(environment or {})},
    )


def test_prunes_a_file_to_stdout_and_tells_the_rest_on_stderr() -> None:
    done = lamr("prune", str(FILE), "-q", QUERY)
    assert done.returncode == 0, done.stderr.decode()
    compile(done.stdout, "pruned.py", "exec")
    assert b" pruned" in done.stdout
    assert "tokens" in done.stderr.decode()
    original = iter(FILE.read_bytes().splitlines())
    kept = [line for line in done.stdout.splitlines() if b" pruned" not in line]
    assert kept
    assert all(line in original for line in kept), "kept lines come unchanged and in order"


def test_stdin_and_quiet() -> None:
    done = lamr("prune", "-", "-q", QUERY, "--language", "python", "--quiet", stdin=FILE.read_bytes())
    assert done.returncode == 0
    assert done.stderr == b""
    assert done.stdout


def test_json_is_exactly_the_result() -> None:
    done = lamr("prune", str(FILE), "-q", QUERY, "--json", "--quiet")
    data = json.loads(done.stdout)
    assert set(data) == {field.name for field in fields(PruneResult)}
    assert data["status"] == "pruned"
    assert data["tokens_out"] < data["tokens_in"]


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
    done = lamr(*arguments, stdin=stdin)
    assert done.returncode == 2, done.stderr.decode()
    assert message in done.stderr.decode()
    assert done.stdout == b""
    assert b"Traceback" not in done.stderr


def test_dead_server_is_exit_3_or_passthrough() -> None:
    refused = lamr("prune", str(FILE), "-q", QUERY, "--server", DEAD, "--no-degrade")
    assert refused.returncode == 3
    assert DEAD in refused.stderr.decode()
    passed = lamr(
        *("prune", str(FILE), "-q", QUERY, "--server", DEAD, "--no-degrade", "--on-error", "passthrough")
    )
    assert passed.returncode == 0
    assert passed.stdout == FILE.read_bytes()
    assert "passthrough" in passed.stderr.decode()


def test_status_of_a_dead_server_is_exit_3() -> None:
    done = lamr("status", "--server", DEAD)
    assert done.returncode == 3
    assert DEAD in done.stderr.decode()


def test_status_in_process_tells_the_model() -> None:
    data = json.loads(lamr("status", "--json").stdout)
    assert data["model"] == "lamr-mini"


@pytest.mark.server
def test_server_option_and_status(server: TritonServer) -> None:
    done = lamr(*IN_FULL, "--server", server.addresses.grpc)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout == lamr(*IN_FULL).stdout
    text = lamr("status", "--server", server.addresses.grpc).stdout.decode()
    assert "triton" in text
    assert "lamr-mini" in text


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
    assert lamr(*IN_FULL, "--server", ready["grpc"]).returncode == 0
    process.terminate()
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors.decode()
    assert all_end(children)
    assert not [path for path in segments if path.exists()]
