"""Files of jobs, their answers, and a git that kills whoever asks it about a poisoned repository."""

import json
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.repositories.conftest import POOL, QUERY

Rows = list[dict[str, object]]


def write_jobs(file: Path, rows: Rows) -> Path:
    """Write rows as JSONL."""
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def answers(folder: Path) -> Rows:
    """The answers of a folder."""
    files = sorted(folder.glob("answers-*.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def code_rows(count: int) -> Rows:
    """Rows with code, each with another budget."""
    return [
        {"id": f"row-{n}", "query": QUERY, "code": POOL, "path": "pool.py", "max_tokens": 120 + n}
        for n in range(count)
    ]


def command(jobs: Path, output: Path, *more: str) -> list[str]:
    """`lamr batch`'s command line."""
    return [sys.executable, "-m", "lamr_cli.main", "batch", str(jobs), "-o", str(output), "--no-cache", *more]


def wait_until(holds: Callable[[], bool], seconds: float = 120) -> None:
    """Wait for something to come about."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it didn't come about"
        time.sleep(0.02)


def poison(folder: Path) -> tuple[Path, dict[str, object]]:
    """A folder for `PATH` with a git that kills whoever calls it, and a row that calls it."""
    programs, repository = folder / "programs", folder / "poisoned"
    programs.mkdir()
    repository.mkdir()
    (repository / "pool.py").write_text(POOL)
    git = programs / "git"
    git.write_text(
        f'#!/bin/sh\ncase "$*" in *poisoned*) kill -9 $PPID ;; esac\nexec {shutil.which("git")} "$@"\n'
    )
    git.chmod(0o755)
    row = {"id": "poison", "query": QUERY, "repo": str(repository), "max_tokens": 500}
    return programs, row
