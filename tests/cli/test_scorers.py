"""A model is told by what it is; what is missing, of another kind or ambiguous says so, and what to do."""

import json
import socket
from pathlib import Path

import numpy as np
import pytest
import typer
from lamr_cli.compress import scorer_of
from lamr_client import ServerUnavailableError
from lamr_export import CheckpointError, TorchScorer

from tests.client.endpoint_server import Script, serving
from tests.command import invoke
from tests.repositories.compression.causal_models import SAMPLE, write_causal

QUESTION = "How long does a retry wait?"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return write_causal("qwen2", tmp_path_factory.mktemp("scorers") / "coder")


def compress(model: str | Path) -> dict:
    options = ("--language", "python", "--rate", "0.3", "--rank-only", "--json", "--model", model)
    done = invoke("research", "compress", "-", "-q", QUESTION, *options, stdin=SAMPLE)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


@pytest.mark.parametrize("kind", ["prompt_logprobs", "echo", "llama.cpp"])
def test_an_endpoint_chooses_what_its_folder_does(folder, kind) -> None:
    with serving(Script(TorchScorer(folder), kind)) as url:
        found = compress(url)
    expected = compress(folder)
    assert [found[name] for name in ("order", "kept_lines", "text", "tokens")] == [
        expected[name] for name in ("order", "kept_lines", "text", "tokens")
    ]
    assert found["tokens"] < found["tokens_in"]


def test_an_id_is_found_in_the_cache_of_the_hub(folder, tmp_path, monkeypatch) -> None:
    import huggingface_hub.constants

    home = tmp_path / "models--owner--coder"
    (home / "snapshots").mkdir(parents=True)
    (home / "refs").mkdir()
    commit = "0123456789" * 4
    (home / "snapshots" / commit).symlink_to(folder, target_is_directory=True)
    (home / "refs" / "main").write_text(commit)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub._snapshot_download.constants.HF_HUB_CACHE", str(tmp_path))
    with scorer_of("owner/coder") as scorer:
        assert scorer.name == "coder"
        assert np.isfinite(scorer.log_probs([np.arange(9)])[0]).all()
    with pytest.raises(
        CheckpointError, match=r"owner/other isn't in the Hugging Face cache.*hf download owner/other"
    ):
        scorer_of("owner/other")


@pytest.mark.parametrize(
    ("name", "files", "message"),
    [
        ("none.gguf", [], "there is no file"),
        ("none", [], "there is no folder or file.*ends with /v1"),
        ("two", ["two/a.gguf", "two/b.gguf"], r"several GGUF files; name one of them: a\.gguf, b\.gguf"),
        ("weights.bin", ["weights.bin"], r"is a file, but no \.gguf file"),
    ],
)
def test_what_names_no_model_is_told(name, files, message, tmp_path, monkeypatch) -> None:
    for file in files:
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_bytes(b"GGUF")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(typer.BadParameter, match=message):
        scorer_of(name)


def test_an_exported_folder_is_to_be_served(tmp_path) -> None:
    (tmp_path / "lamr_perplexity" / "1").mkdir(parents=True)
    with pytest.raises(typer.BadParameter, match="run `lamr serve"):
        scorer_of(str(tmp_path))


def test_a_folder_without_a_model_is_told(tmp_path) -> None:
    with pytest.raises(CheckpointError, match=r"neither config\.json nor a single \.gguf file"):
        scorer_of(str(tmp_path))


def test_an_endpoint_is_told_from_a_server() -> None:
    with socket.socket() as held:  # bound, and nobody listens
        held.bind(("127.0.0.1", 0))
        with pytest.raises(ServerUnavailableError, match="nothing answers"):
            scorer_of(f"http://127.0.0.1:{held.getsockname()[1]}/v1")
