"""The CRF: against enumeration on short sequences, on long, ragged and extreme batches, and on bad input."""

import time
from typing import Any

import numpy as np
import pytest
import torch
from lamr_model.crf import LinearChainCrf, marginals, viterbi

from .reference import Draw, brute_force, padded, pytorch_crf, random_batch, random_crf, spans, viterbi_loop


def _draws(rng: np.random.Generator) -> dict[str, Draw]:
    return {
        "ties": lambda shape: rng.integers(-2, 3, shape).astype(np.float64),
        "all equal": np.zeros,
        "normal": lambda shape: rng.normal(size=shape) * 3,
        "large": lambda shape: rng.normal(size=shape) * 3000,
        "largest": lambda shape: rng.integers(-1, 2, shape) * 1e4,
    }


@pytest.mark.parametrize("kind", ["ties", "all equal", "normal", "large", "largest"])
def test_equals_enumeration(kind: str) -> None:
    rng = np.random.default_rng(0)
    draw = _draws(rng)[kind]
    for _ in range(3 if kind == "all equal" else 100):
        emissions, cu_seqlens = random_batch(rng, draw, longest=10)
        crf = random_crf(draw)
        _compare(emissions, cu_seqlens, crf, exact="t" in kind or kind == "all equal")


def _compare(emissions: np.ndarray, cu_seqlens: np.ndarray, crf: LinearChainCrf, exact: bool) -> None:
    labels, keep = viterbi(emissions, cu_seqlens, crf), marginals(emissions, cu_seqlens, crf)
    for span in spans(cu_seqlens):
        true = brute_force(emissions[span], crf)
        found = labels[span].tolist()
        assert true.scores[tuple(found)] == pytest.approx(true.score, abs=1e-7)
        if exact:
            assert found == true.labels
        np.testing.assert_allclose(keep[span], true.keep, atol=1e-9)


def test_marginals_of_rare_labels_keep_their_digits() -> None:
    emissions = np.array([[0.0, -200.0], [0.0, -30.0], [0.0, 0.0]])
    crf = LinearChainCrf(np.zeros((2, 2)), np.zeros(2), np.zeros(2))
    expected = np.exp([-200.0, -30.0, np.log(0.5)])
    np.testing.assert_allclose(marginals(emissions, [0, 3], crf), expected, rtol=1e-10)


ATTRACTS = LinearChainCrf(np.array([[1.5, -1.0], [-2.0, 0.5]]), np.array([0.3, -0.2]), np.array([0.0, 0.7]))
REPELS = LinearChainCrf(np.array([[-1.5, 1.0], [2.0, -0.5]]), np.array([0.3, -0.2]), np.array([0.0, 0.7]))


@pytest.mark.parametrize("crf", [ATTRACTS, REPELS], ids=["attracts", "repels"])
@pytest.mark.parametrize("scale", [0.3, 3.0])
def test_equals_pytorch_crf(crf: LinearChainCrf, scale: float) -> None:
    rng = np.random.default_rng(0)
    emissions, cu_seqlens = random_batch(rng, lambda shape: rng.normal(size=shape) * scale, longest=1200)
    other, (batch, mask) = pytorch_crf(crf), padded(emissions, cu_seqlens)
    with torch.no_grad():
        best = other.decode(batch, mask)
    assert viterbi(emissions, cu_seqlens, crf).tolist() == [y for labels in best for y in labels]


@pytest.mark.parametrize("crf", [ATTRACTS, REPELS], ids=["attracts", "repels"])
def test_marginals_are_the_gradient_of_the_partition(crf: LinearChainCrf) -> None:
    """An independent way to marginals: d log Z / d e_i[1], by pytorch-crf and autograd."""
    rng = np.random.default_rng(2)
    emissions, cu_seqlens = random_batch(rng, lambda shape: rng.normal(size=shape) * 2, longest=700)
    batch, mask = padded(emissions, cu_seqlens)
    batch.requires_grad_()
    pytorch_crf(crf)._compute_normalizer(batch.transpose(0, 1), mask.transpose(0, 1)).sum().backward()
    np.testing.assert_allclose(marginals(emissions, cu_seqlens, crf), batch.grad[mask][:, 1], atol=1e-10)


@pytest.mark.parametrize("crf", [ATTRACTS, REPELS], ids=["attracts", "repels"])
def test_a_sequence_does_not_see_its_neighbours(crf: LinearChainCrf) -> None:
    rng = np.random.default_rng(3)
    alone = rng.normal(size=(333, 2)).astype(np.float32)
    alone_result = [f(alone, [0, 333], crf) for f in (viterbi, marginals)]
    for before, after, scale in ((1, 1, 1.0), (17, 4000, 1e4), (4000, 2, 1e4), (63, 64, 1e30)):
        parts = [rng.normal(size=(before, 2)) * scale, alone, rng.normal(size=(after, 2)) * scale]
        cu_seqlens = np.cumsum([0, before, 333, after])
        batch = np.concatenate(parts).astype(np.float32)
        labels, keep = (f(batch, cu_seqlens, crf) for f in (viterbi, marginals))
        np.testing.assert_array_equal(labels[before : before + 333], alone_result[0])
        np.testing.assert_allclose(keep[before : before + 333], alone_result[1], atol=1e-6)


@pytest.mark.parametrize("seed", range(6))
def test_ties_on_long_sequences_follow_the_rule(seed: int) -> None:
    """Small whole potentials tie at almost every token; a token-by-token Viterbi applies the rule as stated."""
    rng = np.random.default_rng(seed)
    emissions, cu_seqlens = random_batch(rng, lambda s: rng.integers(-1, 2, s).astype(float), longest=3000)
    crf = random_crf(lambda shape: rng.integers(-1, 2, shape).astype(np.float64))
    expected = [y for span in spans(cu_seqlens) for y in viterbi_loop(emissions[span], crf)]
    assert viterbi(emissions, cu_seqlens, crf).tolist() == expected


@pytest.mark.parametrize("strength", [1e4, -1e4])
def test_labels_bound_together_are_decided_by_their_sum(strength: float) -> None:
    """Transitions of ±1e4 make one decision of 100,000 tokens: the sum of all margins, to the last unit."""
    n = 100_000
    rng = np.random.default_rng(4)
    margins = rng.integers(-8, 9, n) / 8.0
    turn = np.ones(n) if strength > 0 else (-1.0) ** np.arange(n)
    margins[7] -= turn[7] * (turn * margins).sum()  # now both labelings tie
    crf = LinearChainCrf(np.eye(2) * strength, np.zeros(2), np.zeros(2))
    for nudge in (-0.125, 0.125):
        emissions = np.stack([np.zeros(n), margins], axis=1)
        emissions[-1, 1] += nudge
        labels = viterbi(emissions, [0, n], crf)
        assert labels[-1] == (nudge > 0)
        assert (labels[1:] == labels[:-1]).all() == (strength > 0)
        keep = marginals(emissions, [0, n], crf)
        odds = np.exp(nudge)
        assert keep[-1] == pytest.approx(odds / (1 + odds), abs=1e-8)


@pytest.mark.parametrize("scale", [1e4, 1e30])
def test_large_emissions_settle_their_labels(scale: float) -> None:
    rng = np.random.default_rng(5)
    emissions = (rng.normal(size=(500, 2)) * scale).astype(np.float32)
    labels, keep = (f(emissions, [0, 100, 500], ATTRACTS) for f in (viterbi, marginals))
    expected = emissions[:, 1] > emissions[:, 0]
    near = np.abs(emissions[:, 1] - emissions[:, 0]) < 10
    np.testing.assert_array_equal(labels[~near], expected[~near])
    np.testing.assert_allclose(keep[~near], expected[~near], atol=1e-3)


def test_a_million_tokens() -> None:
    n = 1_000_000
    rng = np.random.default_rng(6)
    emissions = rng.normal(size=(n, 2)).astype(np.float32)
    started = time.process_time()
    labels = viterbi(emissions, [0, n], ATTRACTS)
    keep = marginals(emissions, [0, n], ATTRACTS)
    assert time.process_time() - started < 10
    np.testing.assert_array_equal(
        labels[-5000:], viterbi_loop(emissions[-6000:].astype(float), ATTRACTS)[-5000:]
    )
    np.testing.assert_allclose(
        keep[-500:], marginals(emissions[-2000:], [0, 2000], ATTRACTS)[-500:], atol=1e-6
    )


def test_very_ragged_batch() -> None:
    rng = np.random.default_rng(7)
    lengths = rng.permutation(np.r_[np.ones(5000, int), rng.integers(2, 40, 500), [30_000]])
    cu_seqlens = np.r_[0, np.cumsum(lengths)]
    emissions = rng.normal(size=(cu_seqlens[-1], 2))
    labels = viterbi(emissions, cu_seqlens, ATTRACTS)
    keep = marginals(emissions, cu_seqlens, ATTRACTS)
    for span in spans(cu_seqlens)[::50]:
        alone = emissions[span]
        assert labels[span].tolist() == viterbi_loop(alone, ATTRACTS)
        np.testing.assert_allclose(keep[span], marginals(alone, [0, len(alone)], ATTRACTS), atol=1e-9)


def test_single_tokens() -> None:
    emissions = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 0.5]])
    crf = LinearChainCrf(np.full((2, 2), 50.0), np.array([0.0, -1.0]), np.array([0.0, 0.25]))
    assert viterbi(emissions, [0, 1, 2, 3], crf).tolist() == [1, 0, 0]
    odds = np.exp([0.25, -1.75, -0.25])
    np.testing.assert_allclose(marginals(emissions, [0, 1, 2, 3], crf), odds / (1 + odds), rtol=1e-12)


CRF = LinearChainCrf(np.zeros((2, 2)), np.zeros(2), np.zeros(2))
FUNCTIONS = [viterbi, marginals]


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize(
    ("cu_seqlens", "message"),
    [
        ([0, 2, 2, 4], "sequence 1 has 0 tokens"),
        ([0, 3, 2, 4], "sequence 1 has -1 tokens"),
        ([0, 3], "from 0 to the number of tokens, 4, not from 0 to 3"),
        ([1, 4], "not from 1 to 4"),
        ([0], "shape"),
        ([], "shape"),
        ([[0, 4]], "shape"),
        ([0.0, 4.0], "integers"),
        (np.array([0, 5]), "not from 0 to 5"),
    ],
)
def test_packing(function: Any, cu_seqlens: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        function(np.zeros((4, 2)), cu_seqlens, CRF)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_emissions_that_are_not_finite(function: Any, bad: float) -> None:
    emissions = np.zeros((6, 2), dtype=np.float32)
    emissions[4, 1] = bad
    with pytest.raises(ValueError, match=r"token 4 has 0.0 and (nan|-?inf)"):
        function(emissions, [0, 6], CRF)


@pytest.mark.parametrize(
    ("emissions", "message"),
    [
        *((np.zeros(shape), r"shape \[T, 2\]") for shape in ((4,), (4, 3), (4, 2, 1), (2, 4))),
        *(
            (np.zeros((4, 2)).astype(dtype), "must be real numbers")
            for dtype in (np.complex64, np.bool_, object, "U1")
        ),
        ([[0.0, 1.0]] * 4, "must be an array, not list"),
    ],
)
def test_emissions_of_another_kind(emissions: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        viterbi(emissions, [0, 4], CRF)


@pytest.mark.parametrize("name", ["transitions", "start", "end"])
def test_crf_potentials(name: str) -> None:
    parts: dict[str, Any] = {"transitions": np.zeros((2, 2)), "start": np.zeros(2), "end": np.zeros(2)}
    wrong: list[tuple[Any, str]] = [(np.zeros(3), "have shape"), (None, "be an array")]
    for bad in (np.nan, np.inf, -1e9):
        values = parts[name].copy()
        values.reshape(-1)[1] = bad
        wrong.append((values, "be finite"))
    for values, message in wrong:
        with pytest.raises(ValueError, match=f"CRF {name} must {message}"):
            LinearChainCrf(**(parts | {name: values}))


def test_dtypes_of_results() -> None:
    narrow, wide = np.zeros((3, 2), dtype=np.float16), np.zeros((3, 2))
    assert viterbi(narrow, [0, 3], CRF).dtype == np.uint8
    assert marginals(narrow, np.array([0, 3], dtype=np.int32), CRF).dtype == np.float32
    assert marginals(wide, [0, 3], CRF).dtype == np.float64
