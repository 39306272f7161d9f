"""What was learned for the scoring of lines reads back, and a damaged file is named with the remedy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from lamr_contract.errors import ModelMismatchError
from lamr_contract.scoring.weights import LineWeights, load_weights

from tests.contract.scoring.test_associations import KNOWN, WORDS, made
from tests.tiny import line_weights


@pytest.fixture
def weights() -> LineWeights:
    return LineWeights(line_weights(own=1.0, associated=2.0).network, made())


def test_the_file_gives_them_back_within_a_step_of_int8(weights: LineWeights, tmp_path: Path) -> None:
    path = tmp_path / "scoring.npz"
    path.write_bytes(weights.to_bytes())
    both = load_weights(path)
    read, given = both.associations, weights.associations
    assert read is not None
    assert given is not None
    assert (read.words, read.known) == (WORDS, KNOWN)
    assert both.network.features == ("own", "associated")
    for own, other in ((weights.network, both.network), (given.network, read.network)):
        np.testing.assert_array_equal(own.weights, other.weights)
    for name in ("query", "line"):
        own, other = getattr(given, name), getattr(read, name)
        assert np.all(np.abs(own - other) <= np.abs(own).max(axis=1, keepdims=True) / 254 + 1e-6)
    for name in ("views", "key", "block_prior"):
        np.testing.assert_array_equal(getattr(read, name), getattr(given, name))
    np.testing.assert_allclose(read.importance, given.importance, atol=2e-3)


def test_a_network_may_stand_alone(tmp_path: Path) -> None:
    path = tmp_path / "scoring.npz"
    path.write_bytes(line_weights(own=1.0).to_bytes())
    assert load_weights(path).associations is None


@pytest.mark.parametrize("content", [b"", b"not an archive", None])
def test_damaged_files_are_named_with_the_remedy(
    weights: LineWeights, tmp_path: Path, content: bytes | None
) -> None:
    path = tmp_path / "scoring.npz"
    path.write_bytes(weights.to_bytes()[:-200] if content is None else content)
    with pytest.raises(ModelMismatchError, match=r"scoring\.npz can't be read .*; export the model again"):
        load_weights(path)


def test_a_file_without_an_array_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "scoring.npz"
    np.savez(path, **{"network.features": np.zeros(1, np.uint8)})
    with pytest.raises(ModelMismatchError, match="can't be read"):
        load_weights(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelMismatchError, match="is missing, but the model's scoring needs it"):
        load_weights(tmp_path / "scoring.npz")
