"""The training objective (paper equations 7 and 11), term by term.

Loss = (1 - λ) · NLL of the fused CRF + λ · Σ_k w_k · NLL of rubric k's CRF + relevance · MSE(s, s*)
+ listwise · CE(s over the chunks of one file) - balance · H(mean gate). NLLs are means over code tokens, so that a
batch of long chunks weighs as its tokens do. The listwise term isn't the paper's: what a pruner needs of a chunk's
relevance is its rank in the file, and the squared error of single chunks hardly teaches it. This module knows a
model's outputs and labels; it knows no optimizer and no data.
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
        listwise: of the cross entropy that a chunk with evidence wins against its file's chunks without.
        balance: of the entropy of the mean gate, which keeps both rubrics in use.
    """

    rubric: float = 0.6
    rubrics: tuple[float, ...] = (1.0, 0.7)
    relevance: float = 0.05
    listwise: float = 0.0
    balance: float = 0.002


@dataclass(frozen=True, eq=False)
class LossTerms:
    """Scalars: `total` to descend, the rest to log."""

    total: Tensor
    fused: Tensor
    rubrics: Tensor
    relevance: Tensor
    listwise: Tensor
    gate_entropy: Tensor


def lamr_loss(  # noqa: PLR0913, PLR0917 - one argument per input of the objective
    output: HeadOutput,
    relevance: Tensor,
    heads: RubricHeads,
    labels: Tensor,
    wanted: Tensor,
    groups: Tensor,
    cu_seqlens: Tensor,
    weights: LossWeights,
    aggregate: Tensor | None = None,
) -> LossTerms:
    """The objective on one packed batch of code tokens.

    Args:
        output: emissions and gate of T code tokens.
        relevance: float `[B]`, log-odds.
        heads: whose CRF parameters are trained.
        labels: int64 `[T, K]`, 1 = keep.
        wanted: float `[B]`, s*.
        groups: int64 `[B]`, chunks of one file and query have the same.
        cu_seqlens: int32 `[B + 1]` over the code tokens.
        weights: coefficients.
        aggregate: int64 `[T]`, the fused chain's label; the union of `labels` by default.
    """
    tokens = labels.shape[0]
    kept = labels.amax(dim=1) if aggregate is None else aggregate
    fused = nll(output.fused_emissions, kept, cu_seqlens, LinearChainCrf(*heads.fused_crf_tensors())).sum()
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
    error = F.mse_loss(relevance.sigmoid(), wanted)
    ranks = listwise_loss(relevance, wanted, groups)
    scale = torch.tensor(weights.rubrics, dtype=each.dtype, device=each.device)
    chains = (1 - weights.rubric) * fused + weights.rubric * (scale * each).sum()
    total = chains / tokens + weights.relevance * error + weights.listwise * ranks - weights.balance * entropy
    return LossTerms(
        total,
        fused.detach() / tokens,
        each.detach() / tokens,
        error.detach(),
        ranks.detach(),
        entropy.detach(),
    )


def listwise_loss(relevance: Tensor, wanted: Tensor, groups: Tensor) -> Tensor:
    """Mean over chunks with evidence of -log softmax against the chunks of their group without any.

    Args:
        relevance: float `[B]`, log-odds.
        wanted: float `[B]`; evidence is where it's positive.
        groups: int64 `[B]`.

    Returns:
        A scalar; 0 where no group has both kinds.
    """
    positive = wanted > 0
    rivals = (groups[:, None] == groups[None, :]) & ~positive[None, :]
    counted = positive & rivals.any(dim=1)
    if not counted.any():
        return relevance.sum() * 0
    against = relevance[None, :].masked_fill(~rivals, -torch.inf)[counted]
    own = relevance[counted]
    return (torch.logsumexp(torch.cat([own[:, None], against], dim=1), dim=1) - own).mean()
