"""`lamr research judge` and its `items`: what docs/judge.md tells to type, against a scripted endpoint."""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from lamr_base import cpus
from lamr_cli.judge import PRUNERS_HELP
from lamr_evaluation.judge import PRUNERS

from tests.command import invoke
from tests.evaluation.judge.material import CODE, reader_of_shown_code
from tests.evaluation.judge.scripted import Scripted
from tests.repositories.compression.causal_models import write_causal
from tests.repositories.conftest import git

FEW = [word for name in ("whole", "none", "bm25", "lamr-instant", "oracle") for word in ("--pruner", name)]


@pytest.fixture
def server() -> Iterator[Scripted]:
    with Scripted(reader_of_shown_code) as scripted:
        yield scripted


@pytest.fixture(autouse=True)
def kept_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository of two commits, the second of which says what it is for."""
    root = tmp_path / "wire"
    root.mkdir()
    git(root, "init", "-q")
    (root / "client.py").write_text(CODE)
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "Begin with a client that knows how to wait")
    (root / "client.py").write_text(CODE.replace("RETRIES = 7", "RETRIES = 9"))
    git(root, "commit", "-q", "-am", "Try a little more often than before")
    return root


lamr = partial(invoke, "research", "judge")


def test_the_help_names_what_there_is() -> None:
    assert PRUNERS_HELP.split(", ") == list(PRUNERS)


def test_the_page_from_top_to_bottom(server: Scripted, project: Path, tmp_path: Path) -> None:
    data = tmp_path / "items.jsonl"
    made = lamr("items", project, "-o", data, "--min-tokens", "50", "--per-file", "9")
    assert made.exit_code == 0, made.output
    assert {json.loads(line)["task"] for line in data.read_text().splitlines()} == {
        "choice",
        "completion",
        "place",
    }
    reader = ("--reader", server.url, "--model", "scripted", "--limit", "2", *FEW)
    dry = lamr("-d", data, *reader, "--dry-run")
    assert dry.exit_code == 0, dry.output
    assert "asking costs at most" in dry.output
    assert "of the lines that the answer needs" in dry.stdout
    assert "1 point needs" in dry.output
    assert not server.requests
    picture = tmp_path / "judge.png"
    done = lamr("-d", data, *reader, "--plot", picture)
    assert done.exit_code == 0, done.output
    assert "the score is the share of items whose right choice" in done.output
    assert "lamr-instant minus" in done.output
    assert picture.read_bytes().startswith(b"\x89PNG")
    count = len(server.requests)
    again = lamr("-d", data, *reader, "--json")
    report = json.loads(again.stdout)
    assert len(server.requests) == count == report["known"]
    assert {each["task"] for each in report["tasks"]} == {"choice", "completion", "place"}


def test_a_question_of_ones_own(server: Scripted, project: Path) -> None:
    data = project / "items.jsonl"
    rows = [
        {"query": "How long is the pause?", "path": "client.py", "answer": "25"},
        {"query": "How?", "path": "gone.py", "answer": "x"},
    ]
    data.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    done = lamr("-d", data, "--reader", server.url, "--model", "scripted", *FEW, "--json")
    assert done.exit_code == 4
    [task] = json.loads(done.stdout)["tasks"]
    scores = {(each["pruner"], each["share"]): each["score"]["mean"] for each in task["figures"]}
    assert scores["whole", 1.0] == 1
    assert scores["none", 0.0] == 0
    assert f"{data}:2: gone.py can't be read" in done.stderr


def test_a_small_model_weighs_instead(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpus, "cpu_features", frozenset)
    data = tmp_path / "items.jsonl"
    assert lamr("items", project, "-o", data, "--min-tokens", "50", "--task", "choice").exit_code == 0
    model = write_causal("llama", tmp_path / "tiny")
    shares = ("--share", "0.5", "--pruner", "longcodezip")
    done = lamr("-d", data, "--likelihoods", model, *shares, *FEW, "--json")
    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)
    assert report["reader"] == "tiny"
    [task] = report["tasks"]
    assert "right choice" in task["says"]
    assert {each["pruner"] for each in task["figures"]} == {*FEW[1::2], "longcodezip"}
    assert all(0 <= each["grades"]["likelihood"] <= 1 for each in task["figures"])
    monkeypatch.setattr(cpus, "cpu_features", lambda: frozenset({"avx512_bf16"}))
    rounded = lamr("-d", data, "--likelihoods", model, *shares, *FEW, "--json")
    assert rounded.exit_code == 0, rounded.output
    assert not json.loads(rounded.stdout)["known"]  # answers in float32 are others


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ((), "give --data"),
        (("-d", "items.jsonl"), "one of --reader and --likelihoods"),
        (("-d", "items.jsonl", "--reader", "http://x/v1"), "needs --model"),
        (
            ("-d", "items.jsonl", "--reader", "http://x/v1", "--model", "m", "--pruner", "best"),
            "--pruner must be",
        ),
        (
            ("-d", "items.jsonl", "--reader", "http://x/v1", "--model", "m", "--pruner", "longcodezip"),
            "--likelihoods",
        ),
    ],
)
def test_what_is_missing_is_said(words: tuple[str, ...], why: str, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("items.jsonl").write_text(json.dumps({"query": "q", "code": "x = 1\n", "answer": "1"}) + "\n")
    done = lamr(*words)
    assert done.exit_code == 2
    assert why in " ".join(done.output.replace("│", " ").split())


def test_sources_that_give_nothing_are_said(tmp_path: Path) -> None:
    done = lamr("items", tmp_path, "-o", tmp_path / "items.jsonl")
    assert done.exit_code == 2
    assert not (tmp_path / "items.jsonl").exists()
