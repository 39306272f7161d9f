"""The `lamr` command as a process runs it, exit code and messages, without a process of its own."""

import gc
import io
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from unittest.mock import patch

import pytest
from lamr_cli.main import app, main
from typer.testing import CliRunner, Result


def run_main(*arguments: object, stdin: bytes = b"") -> subprocess.CompletedProcess[str]:
    """Run it. What ends a process with a traceback is raised, and what it changes in its process is undone."""
    command = ["lamr", *map(str, arguments)]
    streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="") for _ in range(2)]
    given = patch("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
    often = gc.get_threshold()
    as_before = (patch.dict(os.environ), patch.object(sys, "path", [*sys.path]))
    with redirect_stdout(streams[0]), redirect_stderr(streams[1]), patch("sys.argv", command), given:
        with as_before[0], as_before[1], pytest.raises(SystemExit) as caught:
            main()
        gc.set_threshold(*often)
        for stream in streams:
            stream.flush()
    told = [stream.buffer.getvalue().decode("utf-8") for stream in streams]
    return subprocess.CompletedProcess(command, int(caught.value.code or 0), *told)


def invoke(*arguments: object, stdin: str | bytes = "") -> Result:
    """What it answers without `main`, so that what it raises is the result's `exception`."""
    return CliRunner().invoke(app, [*map(str, arguments)], input=stdin)
