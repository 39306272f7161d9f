"""`lamr export --perplexity` and `lamr research compress`, in process and by a server of what was exported."""

import json
from pathlib import Path

import pytest
from lamr_serving import TritonServer
from typer.testing import Result

from tests.command import invoke as lamr
from tests.repositories.compression.causal_models import SAMPLE, write_causal
from tests.traces import traced_once

QUESTION = "How long does a retry wait?"


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory) -> Path:
    return write_causal("qwen2", tmp_path_factory.mktemp("causal") / "coder")


def compress(*arguments: str | Path, stdin: str = SAMPLE) -> Result:
    return lamr("research", "compress", "-", "-q", QUESTION, "--language", "python", *arguments, stdin=stdin)


def test_a_server_chooses_what_the_model_in_process_does(checkpoint, tmp_path, tmp_path_factory) -> None:
    with traced_once(tmp_path_factory):
        written = lamr(
            "export", "--perplexity", checkpoint, "--output", tmp_path / "served", "--max-tokens", "1024"
        )
    assert written.exit_code == 0, written.output
    assert "log-probabilities differ by at most" in written.stdout
    options = ("--fine-ratio", "0.5", "--min-lines", "2")
    with TritonServer(tmp_path / "served") as server:
        served = compress("--perplexity", server.addresses.grpc, *options)
    local = compress("--perplexity", checkpoint, *options)
    assert local.exit_code == served.exit_code == 0, served.output
    assert served.stdout == local.stdout != SAMPLE
    compile(served.stdout, "sample.py", "exec")
    assert "functions" in served.stderr
    assert "tokens" in served.stderr


def test_json_and_a_file(checkpoint, tmp_path) -> None:
    file = tmp_path / "queue.py"
    file.write_text(SAMPLE)
    done = lamr(
        "research",
        "compress",
        file,
        "-q",
        QUESTION,
        "--perplexity",
        checkpoint,
        "--rank-only",
        "--json",
        "--quiet",
    )
    assert done.exit_code == 0
    assert done.stderr == ""
    data = json.loads(done.stdout)
    assert data["tokens"] < data["tokens_in"]
    assert sorted(data["order"]) == list(range(len(data["chunks"])))
    assert any(chunk["taken"] for chunk in data["chunks"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--perplexity", "no-such-folder"], "there is no folder or file no-such-folder"),
        (["--perplexity", ".", "--rate", "3"], "rate"),
        ([], "perplexity"),
    ],
)
def test_what_is_asked_wrongly_is_told(arguments, words) -> None:
    done = compress(*arguments)
    assert done.exit_code == 2
    assert words in done.output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "name a checkpoint"),
        (["a", "--perplexity", "b"], "name a checkpoint"),
        (["a", "--max-tokens", "9"], "goes with --perplexity"),
        (["--perplexity", "b", "--precision", "int8"], "--precision goes with"),
    ],
)
def test_exports_that_are_asked_wrongly_are_told(arguments, words, tmp_path) -> None:
    done = lamr("export", *arguments, "--output", tmp_path / "out")
    assert done.exit_code == 2
    assert words in done.output
    assert not (tmp_path / "out").exists()
