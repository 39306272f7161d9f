"""The log-odds that losses see are those of the marginals that are served, and torch can differentiate them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from lamr_decoding import LinearChainCrf, marginals
from lamr_training.fits.chain_odds import marginal_log_odds


@pytest.mark.parametrize("count", [1, 2, 3, 64, 1001])
@pytest.mark.parametrize("coupling", [-1.5, 0.0, 0.8, 4.0])
def test_they_are_those_of_the_decoder(count: int, coupling: float) -> None:
    fields = np.random.default_rng(count).normal(scale=3, size=count)
    emissions = np.stack([np.zeros(count), fields], axis=1)
    crf = LinearChainCrf(np.array([[0, 0], [0, coupling]]), np.zeros(2), np.zeros(2))
    keep = marginals(emissions, np.array([0, count]), crf)
    odds = marginal_log_odds(torch.from_numpy(fields), torch.tensor(coupling, dtype=torch.float64))
    np.testing.assert_allclose(torch.sigmoid(odds).numpy(), keep, atol=1e-12)


def test_a_chain_of_certain_lines_has_finite_log_odds() -> None:
    fields = torch.full((500,), -300.0, dtype=torch.float64)
    fields[::7] = 300.0
    odds = marginal_log_odds(fields, torch.tensor(8.0, dtype=torch.float64))
    assert torch.isfinite(odds).all()
    assert ((odds > 0) == (fields > 0)).all()


def test_they_can_be_differentiated() -> None:
    torch.manual_seed(0)
    fields = torch.randn(9, dtype=torch.float64, requires_grad=True)
    coupling = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(marginal_log_odds, (fields, coupling))
