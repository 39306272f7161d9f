"""Heads, gate and fused decoding against the same layers in torch."""

import numpy as np
import pytest
import torch
from lamr_model.crf import Decoder, DecoderWeights, marginals, viterbi
from torch.nn import functional as F

from .reference import random_weights


def _twin(weights: DecoderWeights, fused: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Emissions [T, K, 2] and gate [T, K], written as the paper writes them."""
    w = {name: torch.as_tensor(values) for name, values in vars(weights).items()}
    normed = F.layer_norm(fused, (weights.fused_size,), w["norm_weight"], w["norm_bias"], eps=1e-5)
    hidden = F.gelu(F.linear(normed, w["hidden_weight"], w["hidden_bias"]))
    emissions = F.linear(hidden, w["emission_weight"], w["emission_bias"]).reshape(-1, weights.rubrics, 2)
    return emissions, F.linear(fused, w["gate_weight"], w["gate_bias"]).softmax(-1)


@pytest.mark.parametrize("offset", [0.0, 1.0, -50.0])
@pytest.mark.parametrize("rubrics", [1, 2, 3])
def test_heads_equal_torch(rubrics: int, offset: float) -> None:
    weights = random_weights(96, 32, rubrics, seed=rubrics)
    fused = torch.as_tensor(np.random.default_rng(0).normal(size=(700, 96)) * 2 + offset, dtype=torch.float32)
    emissions, gate = Decoder(weights).emissions(fused.numpy())
    expected, expected_gate = _twin(weights, fused)
    np.testing.assert_allclose(emissions, expected, atol=1e-5)
    np.testing.assert_allclose(gate, expected_gate, atol=1e-5)


def test_decode_is_gate_then_crf() -> None:
    weights = random_weights(48, 16, 2)
    fused = np.random.default_rng(1).normal(size=(1000, 48)).astype(np.float32)
    cu_seqlens = np.array([0, 1, 400, 1000], dtype=np.int32)
    decoded = Decoder(weights).decode(fused, cu_seqlens, want_rubrics=True)
    emissions, gate = (part.numpy() for part in _twin(weights, torch.as_tensor(fused)))
    mixed = (emissions * gate[:, :, None]).sum(1)
    np.testing.assert_array_equal(decoded.keep, viterbi(mixed, cu_seqlens, weights.fused_crf))
    np.testing.assert_allclose(decoded.keep_prob, marginals(mixed, cu_seqlens, weights.fused_crf), atol=1e-5)
    np.testing.assert_allclose(decoded.gate, gate, atol=1e-5)
    for k, crf in enumerate(weights.rubric_crfs):
        expected = marginals(emissions[:, k], cu_seqlens, crf)
        np.testing.assert_allclose(decoded.rubric_prob[:, k], expected, atol=1e-5)
    expected = 1 / (1 + np.exp(mixed[:, 0] - mixed[:, 1]))
    np.testing.assert_allclose(1 / (1 + np.exp(-decoded.margin)), expected, atol=1e-5)


def test_types_and_what_was_not_asked_for() -> None:
    decoded = Decoder(random_weights(12, 8, 2)).decode(np.zeros((3, 12), dtype=np.float16), [0, 3])
    assert decoded.rubric_prob is None
    assert decoded.gate is None
    assert (decoded.keep.dtype, decoded.keep_prob.dtype) == (np.uint8, np.float32)
    assert decoded.margin.dtype == np.float32
    asked = Decoder(random_weights(12, 8, 2)).decode(
        np.ones((3, 12), dtype=np.float32), [0, 3], want_rubrics=True
    )
    assert (asked.rubric_prob.shape, asked.gate.shape) == ((3, 2), (3, 2))
    assert (asked.rubric_prob.dtype, asked.gate.dtype) == (np.float32, np.float32)


def test_one_rubric_has_a_constant_gate() -> None:
    weights = random_weights(12, 8, 1)
    fused = np.random.default_rng(2).normal(size=(50, 12)).astype(np.float32)
    decoded = Decoder(weights).decode(fused, [0, 50], want_rubrics=True)
    np.testing.assert_array_equal(decoded.gate, np.ones((50, 1)))
    expected = viterbi(_twin(weights, torch.as_tensor(fused))[0][:, 0].numpy(), [0, 50], weights.fused_crf)
    np.testing.assert_array_equal(decoded.keep, expected)


def test_what_is_decoded_is_left_alone_and_has_the_marginals_of_its_emissions() -> None:
    decoder = Decoder(random_weights(48, 16, 2))
    fused = np.random.default_rng(4).normal(size=(300, 48)).astype(np.float32)
    decoded = decoder.decode(fused, [0, 300], want_rubrics=True)
    keep, rubrics = decoder.marginals(*decoder.emissions(fused))
    np.testing.assert_array_equal(keep, decoded.keep_prob)
    np.testing.assert_array_equal(rubrics, decoded.rubric_prob)
    fused = np.random.default_rng(4).normal(size=(9, 12)).astype(np.float32)
    before = fused.copy()
    fused.flags.writeable = False
    Decoder(random_weights(12, 8, 2)).decode(fused, [0, 9], want_rubrics=True)
    np.testing.assert_array_equal(fused, before)


@pytest.mark.parametrize("shape", [(9, 13), (9,), (9, 12, 1)])
def test_fused_of_another_shape(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"shape \[T, 12\].*different models"):
        Decoder(random_weights(12, 8, 2)).decode(np.zeros(shape, dtype=np.float32), [0, 9])


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_fused_that_is_not_finite_and_empty_sequences(bad: float) -> None:
    fused = np.zeros((9, 12), dtype=np.float32)
    with pytest.raises(ValueError, match="leave empty sequences out"):
        Decoder(random_weights(12, 8, 2)).decode(fused, [0, 9, 9])
    fused[5, 3] = bad
    with pytest.raises(ValueError, match="token 5"):
        Decoder(random_weights(12, 8, 2)).decode(fused, [0, 9])
