"""What a new user meets first: extras that aren't installed, options that are missing, rows that all fail."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import invoke, run_main

WITHOUT_EXTRAS = """
import sys
hidden = "fastapi jinja2 matplotlib mcp onnxruntime prometheus_client pyarrow ray torch tqdm transformers uvicorn"
for name in hidden.split():
    sys.modules[name] = None
from lamr_cli.main import main
main()
"""


@pytest.mark.parametrize(
    ("extra", "command"),
    [
        ("batch", "batch jobs.parquet -o out"),
        ("export", "export checkpoint -o out"),
        ("export", "research compress code.py -q x --model checkpoint"),
        ("front", "front check"),
        ("http", "http"),
        ("local", "eval --suite questions"),
        ("mcp", "mcp"),
        ("ray", "batch jobs.jsonl -o out --ray local"),
        ("train", "train lamr-mini -d records -o out"),
        ("train", "research lines -d records -o out"),
    ],
)
def test_an_extra_that_is_missing_is_named_with_its_command(
    extra: str, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("records", "checkpoint"):
        (tmp_path / name).mkdir()
    for name in ("jobs.jsonl", "jobs.parquet", "records/train.jsonl"):
        (tmp_path / name).write_text('{"id": 1, "query": "x", "code": "x = 1"}\n')
    (tmp_path / "code.py").write_text("x = 1\n")
    run_main("front", "key", "alice")
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_EXTRAS, *command.split()],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert f"pip install '.[{extra}]' in a clone of lamr" in done.stderr


@pytest.mark.parametrize(
    ("command", "missing", "example"),
    [
        ("prune queue.py", "--query", "lamr prune src/server.py -q"),
        ("pack .", "--query", "lamr pack ."),
        ("batch", "JOBS", "lamr batch jobs.jsonl --output"),
        ("export checkpoint", "--output", "lamr export runs/my-model"),
        ("research lines", "--data", "lamr research lines --data"),
    ],
)
def test_what_is_missing_comes_with_an_example(command: str, missing: str, example: str) -> None:
    done = run_main(*command.split())
    assert done.returncode == 2
    said = " ".join(done.stderr.replace("│", " ").split())
    assert f"{missing}'" in said
    assert f"For example: {example}" in said


def test_a_wish_that_no_line_fulfils_is_told(tmp_path: Path) -> None:
    file = tmp_path / "queue.py"
    file.write_text("".join(f"value_{n} = {n}\n" for n in range(326)))
    keep = ["--keep", "500-600", "--keep", "300-400", "--keep", "/no such/", "--effort", "instant"]
    for budget in ([], ["--max-tokens", "900"]):
        done = invoke("prune", file, "-q", "x", *keep, *budget)
        assert "keep 500-600, 'no such': in none of the 326 lines" in done.stderr


def test_a_batch_whose_rows_fail_names_the_causes_and_the_remedy(tmp_path: Path) -> None:
    rows = [{"id": str(n), "query": "x", "path": f"{tmp_path}/{n}.py"} for n in range(3)]
    (tmp_path / "jobs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in [*rows, {"id": "4"}]))
    asked = ("batch", tmp_path / "jobs.jsonl", "-o", tmp_path / "out", "--no-cache")
    first, again = run_main(*asked), run_main(*asked)
    assert (first.returncode, again.returncode) == (4, 4)
    assert "FileNotFoundError, 3 rows, the first: " in first.stderr
    assert "InvalidInputError, 1 rows, the first: " in first.stderr
    for done in (first, again):
        assert "--retry-errors runs rows with errors again" in done.stderr
