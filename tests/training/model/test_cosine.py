"""The untrained backbone as a baseline."""

from __future__ import annotations

import numpy as np
from lamr_evaluation import CosineOverFunctions
from lamr_training.model.cosine import minilm_embedder

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
