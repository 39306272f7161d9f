"""The decoder's weights file: round trip, and every way in which it can be broken."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from lamr_model.crf import Decoder, DecoderWeights, DecoderWeightsError

from .reference import random_weights

RUBRIC, FUSED = (
    [f"{kind}.{part}" for part in ("transitions", "start", "end")] for kind in ("rubric_crf", "fused_crf")
)
DENSE = [f"{layer}.{part}" for layer in ("norm", "hidden", "emission", "gate") for part in ("weight", "bias")]
NAMES = [*DENSE, *RUBRIC, *FUSED]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    target = tmp_path / "decoder.npz"
    random_weights(12, 8, 2).save(target)
    return target


def _rewrite(path: Path, **changes: np.ndarray | None) -> None:
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files} | changes
    np.savez(path, **{name: values for name, values in arrays.items() if values is not None})


def test_round_trip(path: Path) -> None:
    with np.load(path, allow_pickle=False) as file:
        assert set(file.files) == set(NAMES)
        assert {file[name].dtype for name in NAMES} == {np.dtype(np.float32)}
    expected, found = random_weights(12, 8, 2), DecoderWeights.load(path)
    for field in dataclasses.fields(DecoderWeights):
        np.testing.assert_array_equal(getattr(found, field.name), getattr(expected, field.name))
    assert (found.fused_size, found.rubrics) == (12, 2)
    assert [p.name for p in path.parent.iterdir()] == ["decoder.npz"]


@pytest.mark.parametrize("name", NAMES)
def test_a_missing_misshapen_or_infinite_array_is_named(path: Path, name: str) -> None:
    with np.load(path) as file:
        own = file[name]
    damages = [(None, "missing; .*lamr export"), (np.zeros((5, 5, 5), np.float32), "(has shape|must be)")]
    for bad in (np.nan, np.inf):
        values = own.copy()
        values.reshape(-1)[-1] = bad
        damages.append((values, "holds NaN or infinity"))
    for values, message in damages:
        _rewrite(path, **{name: values})
        with pytest.raises(DecoderWeightsError, match=f"decoder.npz: {name} {message}"):
            DecoderWeights.load(path)
        _rewrite(path, **{name: own})


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("gate.bias", np.zeros(2, np.int32), r"gate\.bias has dtype int32"),
        ("surprise", np.zeros(2, np.float32), "unknown array surprise"),
        ("rubric_crf.end", np.full((2, 2), 1e9, np.float32), "CRF end must be finite and within"),
        ("gate.bias", np.array([{}, {}], dtype=object), "not a readable"),  # a pickle
    ],
)
def test_arrays_that_dont_fit_are_named(path: Path, name: str, values: np.ndarray, message: str) -> None:
    _rewrite(path, **{name: values})
    with pytest.raises(DecoderWeightsError, match=message):
        DecoderWeights.load(path)


def test_what_is_no_archive_is_named(path: Path) -> None:
    with path.open("wb") as file:
        np.save(file, np.zeros(3))
    with pytest.raises(DecoderWeightsError, match="one bare array"):
        DecoderWeights.load(path)
    path.write_text("version https://git-lfs.github.com/spec/v1\n")
    for place, message in ((path, "not a readable"), (path.parent, "not a readable")):
        with pytest.raises(DecoderWeightsError, match=message):
            DecoderWeights.load(place)
    path.unlink()
    with pytest.raises(DecoderWeightsError, match=r"decoder.npz is missing; .*lamr export"):
        DecoderWeights.load(path)


def test_truncated_anywhere(path: Path) -> None:
    whole = path.read_bytes()
    for size in [*range(0, len(whole), 97), len(whole) - 1]:
        path.write_bytes(whole[:size])
        with pytest.raises(DecoderWeightsError, match=r"decoder.npz: not a readable \.npz"):
            DecoderWeights.load(path)


def test_damaged_bytes_are_found_or_harmless(path: Path) -> None:
    """One flipped byte: an error naming the file, unless it lies in what zip never checks."""
    whole, expected = path.read_bytes(), random_weights(12, 8, 2)
    for at in range(0, len(whole), 41):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        try:
            found = DecoderWeights.load(path)
        except DecoderWeightsError as error:
            assert "decoder.npz" in str(error)  # noqa: PT017
        else:
            np.testing.assert_array_equal(found.hidden_weight, expected.hidden_weight)


def test_failed_save_leaves_the_old_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = path.read_bytes()

    def full(*args: object, **kwargs: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez_compressed", full)
    with pytest.raises(OSError, match="No space"):
        random_weights(12, 8, 2, seed=1).save(path)
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == ["decoder.npz"]


def test_half_precision_is_widened() -> None:
    weights = random_weights(6, 4, 1)
    narrow = DecoderWeights(**{name: values.astype(np.float16) for name, values in vars(weights).items()})
    assert narrow.hidden_weight.dtype == np.float32


def test_without_a_chain_keep_prob_is_the_emissions() -> None:
    weights = random_weights(12, 8, 2)
    fused = np.random.default_rng(0).normal(size=(30, 12)).astype(np.float32)
    bounds = np.array([0, 11, 30])
    chained, free = (Decoder(each).decode(fused, bounds) for each in (weights, weights.without_chain()))
    assert weights.chained
    assert not weights.without_chain().chained
    np.testing.assert_allclose(free.keep_prob, 1 / (1 + np.exp(-chained.margin)), atol=1e-6)
    np.testing.assert_array_equal(free.keep, chained.margin > 0)
    assert np.abs(chained.keep_prob - free.keep_prob).max() > 0.01
