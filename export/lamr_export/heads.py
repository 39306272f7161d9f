"""Rubric heads: they turn fused token features into each rubric's emissions and a gate, and hold the CRFs' parameters.

The serving side runs the same mathematics in `lamr_model.crf`. The parameters have the names of `decoder.npz`, so the
two can't drift apart unnoticed.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class HeadOutput(NamedTuple):
    """What the heads say about T tokens: `emissions [T, K, 2]`, `gate [T, K]` (sums to 1), `fused_emissions [T, 2]`."""

    emissions: Tensor
    gate: Tensor
    fused_emissions: Tensor


class CrfParameters(nn.Module):
    """Transitions `[…, 2, 2]` (from, to), start `[…, 2]` and end `[…, 2]` of linear-chain CRFs. Label 1 means keep."""

    def __init__(self, *leading: int) -> None:
        super().__init__()
        # Chains that prefer to stay from the start multiply every emission by the length of the run, and emissions
        # then learn nothing but the base rate.
        self.transitions = nn.Parameter(torch.zeros(*leading, 2, 2))
        self.start = nn.Parameter(torch.zeros(*leading, 2))
        self.end = nn.Parameter(torch.zeros(*leading, 2))


class RubricHeads(nn.Module):
    """Shared MLP, softmax gate and CRFs of K rubrics (paper equations 4 to 6).

    With K = 1 there is no gate to learn and no second chain: the fused emissions are the rubric's own.
    """

    def __init__(self, width: int, hidden: int, rubrics: int, dropout: float) -> None:
        super().__init__()
        self.rubrics = rubrics
        self.norm = nn.LayerNorm(width)
        self.hidden = nn.Linear(width, hidden)
        self.dropout = nn.Dropout(dropout)
        self.emission = nn.Linear(hidden, 2 * rubrics)
        self.rubric_crf = CrfParameters(rubrics)
        self.gate = nn.Linear(width, rubrics) if rubrics > 1 else None
        self.fused_crf = CrfParameters() if rubrics > 1 else None

    def forward(self, fused: Tensor) -> HeadOutput:
        """Emissions and gate of packed features `[T, D]`."""
        hidden = self.dropout(F.gelu(self.hidden(self.norm(fused))))
        emissions = self.emission(hidden).unflatten(-1, (self.rubrics, 2))
        gate = torch.ones_like(emissions[..., 0]) if self.gate is None else self.gate(fused).softmax(dim=-1)
        return HeadOutput(emissions, gate, (gate[..., None] * emissions).sum(dim=-2))

    def fused_crf_tensors(self) -> tuple[Tensor, Tensor, Tensor]:
        """Transitions `[2, 2]`, start `[2]` and end `[2]` of the chain that decodes the fused emissions."""
        if self.fused_crf is None:
            own = self.rubric_crf
            return own.transitions[0], own.start[0], own.end[0]
        return self.fused_crf.transitions, self.fused_crf.start, self.fused_crf.end

    def arrays(self) -> dict[str, Tensor]:
        """Every parameter by its name in `decoder.npz`, as detached float32."""
        arrays = {name: value.detach().float().clone() for name, value in self.state_dict().items()}
        if self.gate is None:
            width = self.norm.normalized_shape[0]
            arrays["gate.weight"], arrays["gate.bias"] = torch.zeros(1, width), torch.zeros(1)
            for name, value in zip(("transitions", "start", "end"), self.fused_crf_tensors(), strict=True):
                arrays[f"fused_crf.{name}"] = value.detach().float().clone()
        return arrays
