"""Losses of chains: the likelihood, its gradients, and the log-odds of marginals, against loops and the decoder."""

import numpy as np
import pytest
import torch
from lamr_model.crf import LinearChainCrf, marginals
from lamr_training.loop.losses import Potentials, marginal_log_odds, nll
from torch import Tensor

from tests.model.crf.reference import Draw, padded, pytorch_crf, random_batch, random_crf, spans


def _potentials(draw: Draw, dtype: torch.dtype = torch.float64) -> Potentials:
    crf = random_crf(draw)
    transitions, start, end = (
        torch.as_tensor(part, dtype=dtype).requires_grad_() for part in (crf.transitions, crf.start, crf.end)
    )
    return transitions, start, end


def _nll_loop(emissions: Tensor, labels: Tensor, bounds: Tensor, crf: Potentials) -> Tensor:
    """The negative log-likelihood, one token after the other."""
    (transitions, start, end), total = crf, emissions.new_zeros(())
    for span in spans(bounds.numpy()):
        e, y = emissions[span], labels[span]
        alpha, score = start + e[0], start[y[0]] + e[0, y[0]]
        for i in range(1, len(e)):
            alpha = torch.logsumexp(alpha[:, None] + transitions, dim=0) + e[i]
            score = score + transitions[y[i - 1], y[i]] + e[i, y[i]]
        total = total + torch.logsumexp(alpha + end, dim=0) - score - end[y[-1]]
    return total


@pytest.mark.parametrize("coupling", [1.0, -1.0, 40.0])
def test_the_likelihood_equals_pytorch_crf(coupling: float) -> None:
    rng = np.random.default_rng(0)
    emissions, cu_seqlens = random_batch(rng, lambda shape: rng.normal(size=shape) * 2, longest=1200)
    crf = LinearChainCrf(coupling * (np.eye(2) - 0.3), np.array([0.3, -0.2]), np.array([0.0, 0.7]))
    batch, mask = padded(emissions, cu_seqlens)
    y, _ = padded(rng.integers(0, 2, len(emissions)), cu_seqlens)
    with torch.no_grad():
        expected = -pytorch_crf(crf)(batch, y, mask, reduction="sum")
    parts = (torch.as_tensor(crf.transitions), torch.as_tensor(crf.start), torch.as_tensor(crf.end))
    found = nll(torch.as_tensor(emissions), y[mask], torch.as_tensor(cu_seqlens), parts)
    torch.testing.assert_close(found, expected, rtol=1e-11, atol=0)


@pytest.mark.parametrize("scale", [1.0, 8.0, 40.0], ids=["usual", "strong", "beyond odds"])
def test_gradients_equal_autograd_through_a_loop(scale: float) -> None:
    rng = np.random.default_rng(0)
    for _ in range(4):
        values, cu_seqlens = random_batch(rng, lambda shape: rng.normal(size=shape) * 3, longest=60)
        crf, bounds = _potentials(lambda shape: rng.normal(size=shape) * scale), torch.as_tensor(cu_seqlens)
        emissions = torch.as_tensor(values).requires_grad_()
        labels = torch.as_tensor(rng.integers(0, 2, len(values)))
        found = nll(emissions, labels, bounds, crf)
        expected = _nll_loop(emissions, labels, bounds, crf)
        torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-10)
        gradients = (torch.autograd.grad(loss, [emissions, *crf]) for loss in (found, expected))
        for ours, theirs in zip(*gradients, strict=True):
            torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-8)


def test_gradients_at_zero_potentials() -> None:
    """A CRF often starts from zeros, where maxima tie."""
    crf, bounds = _potentials(np.zeros), torch.tensor([0, 4, 9])
    emissions = torch.zeros((9, 2), dtype=torch.float64, requires_grad=True)
    labels = torch.tensor([0, 1, 1, 0, 1, 0, 0, 1, 1])
    losses = (nll(emissions, labels, bounds, crf), _nll_loop(emissions, labels, bounds, crf))
    gradients = (torch.autograd.grad(loss, [emissions, *crf]) for loss in losses)
    for ours, theirs in zip(*gradients, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)


@pytest.mark.parametrize("size", [1e4, 1e8])
def test_gradients_are_finite_for_large_potentials(size: float) -> None:
    rng = np.random.default_rng(1)
    emissions = torch.as_tensor(rng.normal(size=(300, 2)) * size).requires_grad_()
    crf = _potentials(lambda shape: np.clip(rng.normal(size=shape) * size, -1e4, 1e4))
    labels = torch.as_tensor(rng.integers(0, 2, 300))
    loss = nll(emissions, labels, torch.tensor([0, 100, 300]), crf)
    for gradient in torch.autograd.grad(loss, [emissions, *crf]):
        assert torch.isfinite(gradient).all()
        assert gradient.abs().max() <= 300


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_training_dtypes(dtype: torch.dtype) -> None:
    rng = np.random.default_rng(2)
    emissions = torch.as_tensor(rng.normal(size=(200, 2)), dtype=dtype).requires_grad_()
    crf = _potentials(lambda shape: rng.normal(size=shape), torch.float32)
    loss = nll(emissions, torch.zeros(200, dtype=torch.int64), torch.tensor([0, 50, 200]), crf)
    assert loss.dtype == torch.float32
    (gradient,) = torch.autograd.grad(loss, [emissions])
    assert gradient.dtype == dtype
    assert torch.isfinite(gradient).all()


def test_emissions_that_are_not_finite() -> None:
    emissions = torch.zeros((6, 2))
    emissions[4, 1] = torch.nan
    with pytest.raises(ValueError, match=r"token 4 has 0\.0 and nan"):
        nll(emissions, torch.zeros(6), torch.tensor([0, 6]), _potentials(np.zeros))


@pytest.mark.parametrize("count", [1, 2, 3, 64, 1001])
@pytest.mark.parametrize("coupling", [-1.5, 0.0, 0.8, 4.0])
def test_they_are_those_of_the_decoder(count: int, coupling: float) -> None:
    fields = np.random.default_rng(count).normal(scale=3, size=count)
    emissions = np.stack([np.zeros(count), fields], axis=1)
    crf = LinearChainCrf(np.array([[0, 0], [0, coupling]]), np.zeros(2), np.zeros(2))
    keep = marginals(emissions, np.array([0, count]), crf)
    odds = marginal_log_odds(torch.from_numpy(fields), torch.tensor(coupling, dtype=torch.float64))
    np.testing.assert_allclose(torch.sigmoid(odds).numpy(), keep, atol=1e-12)


def test_log_odds_of_certain_lines_are_finite_and_can_be_differentiated() -> None:
    fields = torch.full((500,), -300.0, dtype=torch.float64)
    fields[::7] = 300.0
    odds = marginal_log_odds(fields, torch.tensor(8.0, dtype=torch.float64))
    assert torch.isfinite(odds).all()
    assert ((odds > 0) == (fields > 0)).all()
    torch.manual_seed(0)
    fields = torch.randn(9, dtype=torch.float64, requires_grad=True)
    coupling = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(marginal_log_odds, (fields, coupling))
