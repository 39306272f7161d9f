"""`lamr batch` on a cluster that it starts itself, and on clusters that aren't there."""

import json
import subprocess
from pathlib import Path

import pytest
from lamr_cli.exits import SERVER_TROUBLE

from tests.repositories.batch.rows import answers, code_rows, command, wait_until, write_jobs

pytestmark = pytest.mark.timeout(600)  # a node that starts on a busy machine takes a minute


def test_the_command_is_killed_with_its_own_cluster_and_goes_on(tmp_path: Path) -> None:
    rows = code_rows(60)
    jobs = write_jobs(tmp_path / "jobs.jsonl", rows)
    out = tmp_path / "out"
    line = command(jobs, out, "--ray", "local", "--workers", "2", "--json")
    process = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(lambda: bool(answers(out)) or process.poll() is not None)
    process.kill()
    process.wait()
    done = {row["id"] for row in answers(out)}
    again = subprocess.run(line, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    count = json.loads(again.stdout)  # and nothing else is there, whatever Ray says
    assert count["before"] == len(done)
    assert sorted(str(row["id"]) for row in answers(out)) == sorted(str(row["id"]) for row in rows)


@pytest.mark.parametrize(
    ("address", "message"),
    [("127.0.0.1:1", "no Ray cluster at 127.0.0.1:1"), ("ray://127.0.0.1:1", "--ray auto")],
)
def test_a_cluster_that_is_not_there_is_an_error_of_one_line(
    address: str, message: str, tmp_path: Path
) -> None:
    jobs = write_jobs(tmp_path / "jobs.jsonl", code_rows(1))
    line = command(jobs, tmp_path / "out", "--ray", address)
    done = subprocess.run(line, check=False, capture_output=True, text=True, timeout=300)
    assert done.returncode == SERVER_TROUBLE
    assert message in done.stderr.splitlines()[-1]
