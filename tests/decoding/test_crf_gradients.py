"""Gradients of the negative log-likelihood through torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from lamr_decoding import LinearChainCrf, nll

from .reference import as_torch, nll_loop, random_batch, random_crf


def _leaves(crf: LinearChainCrf) -> list[torch.Tensor]:
    return [part.requires_grad_() for part in (crf.transitions, crf.start, crf.end)]


@pytest.mark.parametrize("scale", [1.0, 8.0, 40.0], ids=["usual", "strong", "beyond odds"])
def test_gradients_equal_autograd_through_a_loop(scale: float) -> None:
    rng = np.random.default_rng(0)
    for _ in range(4):
        values, cu_seqlens = random_batch(rng, lambda shape: rng.normal(size=shape) * 3, longest=60)
        crf = as_torch(random_crf(lambda shape: rng.normal(size=shape) * scale))
        emissions = torch.as_tensor(values).requires_grad_()
        labels = torch.as_tensor(rng.integers(0, 2, len(values)))
        weights = torch.as_tensor(rng.normal(size=len(cu_seqlens) - 1))
        inputs = [emissions, *_leaves(crf)]
        found = nll(emissions, labels, cu_seqlens, crf)
        expected = nll_loop(emissions, labels, crf, cu_seqlens)
        torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-10)
        gradients = torch.autograd.grad((found * weights).sum(), inputs)
        for ours, theirs in zip(
            gradients, torch.autograd.grad((expected * weights).sum(), inputs), strict=True
        ):
            torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-8)


def test_gradients_at_zero_potentials() -> None:
    """A CRF often starts from zeros, where maxima tie."""
    crf = as_torch(random_crf(np.zeros))
    emissions = torch.zeros((9, 2), dtype=torch.float64, requires_grad=True)
    labels = torch.tensor([0, 1, 1, 0, 1, 0, 0, 1, 1])
    inputs = [emissions, *_leaves(crf)]
    ours = torch.autograd.grad(nll(emissions, labels, [0, 4, 9], crf).sum(), inputs)
    theirs = torch.autograd.grad(nll_loop(emissions, labels, crf, np.array([0, 4, 9])).sum(), inputs)
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-12)


@pytest.mark.parametrize("size", [1e4, 1e8])
def test_gradients_are_finite_for_large_potentials(size: float) -> None:
    rng = np.random.default_rng(1)
    emissions = torch.as_tensor(rng.normal(size=(300, 2)) * size).requires_grad_()
    crf = as_torch(random_crf(lambda shape: np.clip(rng.normal(size=shape) * size, -1e4, 1e4)))
    labels = torch.as_tensor(rng.integers(0, 2, 300))
    inputs = [emissions, *_leaves(crf)]
    for gradient in torch.autograd.grad(nll(emissions, labels, [0, 100, 300], crf).sum(), inputs):
        assert torch.isfinite(gradient).all()
        assert gradient.abs().max() <= 300


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_training_dtypes(dtype: torch.dtype) -> None:
    rng = np.random.default_rng(2)
    emissions = torch.as_tensor(rng.normal(size=(200, 2)), dtype=dtype).requires_grad_()
    crf = as_torch(random_crf(lambda shape: rng.normal(size=shape)), torch.float32)
    loss = nll(emissions, torch.zeros(200, dtype=torch.int64), torch.tensor([0, 50, 200]), crf)
    assert loss.dtype == torch.float32
    (gradient,) = torch.autograd.grad(loss.sum(), [emissions])
    assert gradient.dtype == dtype
    assert torch.isfinite(gradient).all()


def test_second_derivatives_are_refused() -> None:
    emissions = torch.zeros((5, 2), dtype=torch.float64, requires_grad=True)
    crf = as_torch(random_crf(np.zeros))
    (gradient,) = torch.autograd.grad(
        nll(emissions, torch.ones(5), [0, 5], crf).sum(), [emissions], create_graph=True
    )
    with pytest.raises(RuntimeError, match=r"not implemented|does not require grad"):
        gradient.sum().backward()
