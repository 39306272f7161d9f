"""The model's answers are kept by what they depend on."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from lamr_client import Pruner
from lamr_client.mock_transport import MockTransport, uniform_answer
from lamr_contract.spec import ModelSpec, load_spec
from lamr_repositories.judging import model_key

from tests.tiny import BERT_PROMPT, make_spec, wordpiece, write_client_files


def key(folder: Path, spec: ModelSpec, server: str) -> str:
    repository = write_client_files(folder, spec, wordpiece())
    assert load_spec(repository) == spec
    with Pruner(model=repository, transport=MockTransport(uniform_answer)) as pruner:
        return model_key(pruner, repository, server)


def test_weights_of_one_version_that_were_trained_on_have_answers_of_their_own(tmp_path: Path) -> None:
    spec = make_spec(wordpiece(), BERT_PROMPT)
    first, second = (dataclasses.replace(spec, weights_sha256=digit * 64) for digit in "12")
    server = "127.0.0.1:8001"
    known = key(tmp_path / "first", first, server)
    assert known == key(tmp_path / "again", first, server)
    assert known != key(tmp_path / "second", second, server)
    assert known != key(tmp_path / "elsewhere", first, "127.0.0.1:8002")
