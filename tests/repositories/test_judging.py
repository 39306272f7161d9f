"""A pack asks about files as a client does, and keeps the model's answers by what they depend on."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from lamr_client import Pruner
from lamr_client.mock_transport import MockTransport, uniform_answer
from lamr_contract.cache import Cache
from lamr_contract.scoring.rules import Scoring, Usual
from lamr_contract.spec import ModelSpec, load_spec
from lamr_repositories.judging import Judge, Judged, model_key
from lamr_repositories.reading_time import JudgeCount

from tests.client.answers import answer
from tests.tiny import BERT_PROMPT, make_spec, program, wordpiece, write_client_files


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


def judged(folder: Path, text: str, scoring: Scoring) -> Judged:
    """What a mock of a model says of all lines of a file."""
    repository = write_client_files(folder, make_spec(wordpiece(), BERT_PROMPT, scoring=scoring), wordpiece())
    with Pruner(model=repository, transport=MockTransport(answer)) as pruner:
        judge = Judge(pruner, "area of a shape", Cache(None), "model")
        return judge.judge([text], [(0, 0, 10_000)], 99, JudgeCount())[0]


def test_encoded_data_of_a_file_is_not_judged(tmp_path: Path) -> None:
    lines = program(10).splitlines()
    data = [*lines[:20], "image = '" + "QUJD" * 300 + "'", *lines[20:]]
    plain, found = (
        judged(tmp_path / name, "\n".join(rows), Scoring()) for name, rows in (("a", lines), ("b", data))
    )
    assert found.judged.sum() == plain.judged.sum() + 1, "what stands before the data is read"
    assert len(found.keep) == len(data)


def test_opinions_are_compared_with_what_is_usual_for_the_model_or_with_each_other(tmp_path: Path) -> None:
    usual = Usual((-1.0, 2.0), (-3.0, 0.5))
    known, unknown = (
        judged(tmp_path / name, program(20), Scoring(usual=each))
        for name, each in (("known", usual), ("unknown", None))
    )
    assert known.usual == usual
    rows = unknown.judged
    assert unknown.usual.keep[0] == pytest.approx(unknown.keep[rows].mean())
    assert unknown.usual.relevance[1] == pytest.approx(unknown.relevance[rows].std() + 0.1)
    np.testing.assert_array_equal(known.keep, unknown.keep)
