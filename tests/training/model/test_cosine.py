"""The untrained backbone as a baseline."""

from __future__ import annotations

import json

import numpy as np
import pytest
from lamr_evaluation import CosineOverFunctions
from lamr_training.errors import RunError
from lamr_training.model.backbone import minilm_folder
from lamr_training.model.cosine import folder_embedder, minilm_embedder

from tests.training.samples import CACHE


def test_the_backbone_ranks_functions_by_meaning() -> None:
    embed = minilm_embedder(batch=2)
    scores = CosineOverFunctions(embed)("delete entries that are too old", CACHE)
    lines = CACHE.splitlines()
    best = lines[int(np.argmax(scores))]
    assert best == "def clear_old_entries(cache, age):"
    assert len(np.unique(scores)) > 4


def test_batches_and_padding_change_nothing() -> None:
    texts = ["a", "write the answer to a file", "x = 1\n" * 400, ""]
    together = minilm_embedder(batch=4)(texts)
    np.testing.assert_allclose(together, minilm_embedder(batch=1)(texts), atol=1e-5)
    assert together.shape == (4, 384)


def test_the_backbones_own_folder_gives_its_vectors() -> None:
    texts = ["write the answer to a file", "x = 1\n" * 400]
    np.testing.assert_allclose(folder_embedder(minilm_folder())(texts), minilm_embedder()(texts), atol=1e-5)


def test_pooling_and_length_are_the_folders(tmp_path) -> None:
    for file in minilm_folder().iterdir():
        if file.is_file() and file.name != "sentence_bert_config.json":
            (tmp_path / file.name).symlink_to(file)
    (tmp_path / "1_Pooling").mkdir()
    (tmp_path / "sentence_bert_config.json").write_text('{"max_seq_length": 4}')
    found = []
    for pooling in ("mean_tokens", "cls_token", "lasttoken"):
        (tmp_path / "1_Pooling/config.json").write_text(
            json.dumps({"pooling_mode_max_tokens": False, f"pooling_mode_{pooling}": True})
        )
        short, same, other = folder_embedder(tmp_path)(["write the answer", "write the question", "read it"])
        np.testing.assert_allclose(short, same, atol=1e-5)  # [CLS] write the [SEP]
        assert np.abs(short - other).max() > 0.01
        found.append(short.tobytes())
    assert len(set(found)) == 3
    (tmp_path / "1_Pooling/config.json").write_text('{"pooling_mode_max_tokens": true}')
    with pytest.raises(RunError, match="pooling_mode_max_tokens"):
        folder_embedder(tmp_path)


def test_a_folder_without_an_encoder_is_refused(tmp_path) -> None:
    with pytest.raises(RunError, match="not an encoder"):
        folder_embedder(tmp_path)
