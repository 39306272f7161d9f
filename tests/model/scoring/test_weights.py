"""The file of a line model gives it back, and a damaged one is named with the remedy."""

from pathlib import Path

import numpy as np
import pytest
from lamr_base.errors import ModelMismatchError
from lamr_model.scoring.weights import LineWeights, load_weights, weights_bytes, word_table

from tests.model.scoring.line_models import random_model
from tests.tiny import line_weights


@pytest.fixture(scope="module")
def weights() -> LineWeights:
    return LineWeights(random_model(), line_weights(keep_prob=0.5).fusion)


def test_the_file_gives_it_back(weights: LineWeights, tmp_path: Path) -> None:
    path = tmp_path / "scoring.npz"
    path.write_bytes(weights_bytes(weights))
    given, model = load_weights(path), weights.model
    read = given.model
    assert read.words == model.words
    assert [layer.stride for layer in read.layers.layers] == [layer.stride for layer in model.layers.layers]
    pairs = [(read.query, model.query), (read.line, model.line), (read.matching, model.matching)]
    pairs += [(read.decoder, model.decoder), *zip(read.layers.layers, model.layers.layers, strict=True)]
    for own, other in pairs:
        for name, values in vars(other).items():
            np.testing.assert_allclose(getattr(own, name), values, atol=4e-3, err_msg=name)
    for name in ("first", "bias", "last", "last_bias"):
        np.testing.assert_allclose(getattr(read.layers, name), getattr(model.layers, name), atol=4e-3)
    np.testing.assert_array_equal(given.fusion.weights, weights.fusion.weights)


def test_vectors_come_back_within_a_step_of_int8() -> None:
    vectors = np.random.default_rng(0).normal(size=(9, 5))
    vectors[3] = 0
    table = word_table(vectors, np.arange(9.0))
    given = table[np.array([3, 0, 8])]
    steps = np.abs(vectors[[3, 0, 8]]).max(axis=1, keepdims=True) / 254
    assert (np.abs(given - vectors[[3, 0, 8]]) <= steps + 1e-6).all()
    assert table.alone.tolist() == list(range(9))


@pytest.mark.parametrize("content", [b"", b"not an archive", None])
def test_damaged_files_are_named_with_the_remedy(
    weights: LineWeights, tmp_path: Path, content: bytes | None
) -> None:
    path = tmp_path / "scoring.npz"
    path.write_bytes(weights_bytes(weights)[:-200] if content is None else content)
    with pytest.raises(ModelMismatchError, match=r"scoring\.npz can't be read .*; export the model again"):
        load_weights(path)


@pytest.mark.parametrize(
    "change",
    [
        {"words": np.frombuffer(b"one", np.uint8)},
        {"layers.first": np.zeros((3, 4), np.float16)},
        {"layers.bias": np.full(4, np.nan, np.float16)},
        {"strides": np.zeros(9, np.int64)},
        {"matching.hidden": np.zeros((2, 3), np.float16)},
        {"decoder.gate_bias": np.array([np.inf, 0], np.float32)},
        {"words": None},
        {"reader.features": np.frombuffer(b"one", np.uint8)},
        {"line.vectors": np.array(["a"])},
    ],
)
def test_arrays_that_dont_fit_are_damage(weights: LineWeights, tmp_path: Path, change: dict) -> None:
    path = tmp_path / "scoring.npz"
    path.write_bytes(weights_bytes(weights))
    arrays = {**np.load(path), **change}
    np.savez(path, **{name: values for name, values in arrays.items() if values is not None})
    with pytest.raises(ModelMismatchError, match="can't be read"):
        load_weights(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelMismatchError, match="is missing, but the model's scoring needs it"):
        load_weights(tmp_path / "scoring.npz")
