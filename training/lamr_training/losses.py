"""The training objective (paper equations 7 and 11), term by term.

Loss = (1 - λ) · NLL of the fused CRF + λ · Σ_k w_k · NLL of rubric k's CRF + relevance · MSE(s, s*)
- balance · H(mean gate). NLLs are means over code tokens, so that a batch of long chunks weighs as its tokens do.
This module knows a model's outputs and labels; it knows no optimizer and no data.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from lamr_decoding import LinearChainCrf, nll
from lamr_export.heads import HeadOutput, RubricHeads
from torch import Tensor
from torch.nn import functional as F


@dataclass(frozen=True)
class LossWeights:
    """Coefficients; the defaults are the paper's (appendix D.4, D.5).

    Attributes:
        rubric: λ, between the fused chain (0) and the rubrics' chains (1).
        rubrics: w_k, in the order of the rubrics.
        relevance: of the squared error of the chunk's relevance.
        balance: of the entropy of the mean gate, which keeps both rubrics in use.
    """

    rubric: float = 0.6
    rubrics: tuple[float, ...] = (1.0, 0.7)
    relevance: float = 0.05
    balance: float = 0.002


@dataclass(frozen=True, eq=False)
class LossTerms:
    """Scalars: `total` to descend, the rest to log."""

    total: Tensor
    fused: Tensor
    rubrics: Tensor
    relevance: Tensor
    gate_entropy: Tensor


def lamr_loss(  # noqa: PLR0913, PLR0917 - one argument per input of the objective
    output: HeadOutput,
    relevance: Tensor,
    heads: RubricHeads,
    labels: Tensor,
    wanted: Tensor,
    cu_seqlens: Tensor,
    weights: LossWeights,
) -> LossTerms:
    """The objective on one packed batch of code tokens.

    Args:
        output: emissions and gate of T code tokens.
        relevance: float `[B]`, probabilities.
        heads: whose CRF parameters are trained.
        labels: int64 `[T, K]`, 1 = keep; the fused label is their union.
        wanted: float `[B]`, s*.
        cu_seqlens: int32 `[B + 1]` over the code tokens.
        weights: coefficients.
    """
    tokens = labels.shape[0]
    fused = nll(
        output.fused_emissions, labels.amax(dim=1), cu_seqlens, LinearChainCrf(*heads.fused_crf_tensors())
    ).sum()
    own = heads.rubric_crf
    each = torch.stack(
        [
            nll(
                output.emissions[:, k],
                labels[:, k],
                cu_seqlens,
                LinearChainCrf(own.transitions[k], own.start[k], own.end[k]),
            ).sum()
            for k in range(labels.shape[1])
        ]
    )
    share = output.gate.mean(dim=0)
    entropy = -(share * share.clamp_min(1e-8).log()).sum()
    error = F.mse_loss(relevance, wanted)
    scale = torch.tensor(weights.rubrics, dtype=each.dtype, device=each.device)
    chains = (1 - weights.rubric) * fused + weights.rubric * (scale * each).sum()
    total = chains / tokens + weights.relevance * error - weights.balance * entropy
    return LossTerms(total, fused.detach() / tokens, each.detach() / tokens, error.detach(), entropy.detach())
