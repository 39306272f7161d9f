"""The training objective (paper equations 7 and 11), and two-label chains that torch can differentiate.

Loss = chains · ((1 - λ) · NLL of the fused CRF + λ · Σ_k w_k · NLL of rubric k's CRF) + relevance · MSE(s, s*) +
listwise · CE(s over the chunks of one file) + ranking · CE(log-odds over the segments of one file) - balance · H(mean
gate). NLLs are means over code tokens, so that a batch of long chunks weighs as its tokens do. The paper has neither
the listwise nor the ranking term. A pruner needs the rank of a score in its file, and neither the squared error of
single chunks nor the likelihood of labels that are mostly 0 teaches that well."""

from dataclasses import dataclass

import torch
from lamr_export.model import HeadOutput, RubricHeads
from lamr_model.crf import LinearChainCrf
from lamr_model.crf.chain import Chain, Packing
from lamr_model.crf.crf import expectations
from torch import Tensor
from torch.nn import functional as F

from lamr_training.loop.examples import Batch

Potentials = tuple[Tensor, Tensor, Tensor]  # Transitions `[2, 2]`, start `[2]` and end `[2]`


def plain_form(emissions: Tensor, cu_seqlens: Tensor, crf: Potentials) -> tuple[Tensor, Tensor]:
    """Return the fields `[T]` and the coupling of packed chains, float64, from emissions `[T, 2]`; differentiable."""
    transitions, start, end = (part.double() for part in crf)
    after_prune = transitions[0, 1] - transitions[0, 0]
    before_prune = transitions[1, 0] - transitions[0, 0]
    margins = emissions[:, 1].double() - emissions[:, 0].double() + (after_prune + before_prune)
    first, last = cu_seqlens[:-1].long(), cu_seqlens[1:].long() - 1
    opening = (start[1] - start[0] - after_prune).expand(len(first))
    closing = (end[1] - end[0] - before_prune).expand(len(last))
    fields = margins.index_add(0, first, opening).index_add(0, last, closing)
    return fields, transitions[1, 1] - transitions[1, 0] - after_prune


def nll(emissions: Tensor, labels: Tensor, cu_seqlens: Tensor, crf: Potentials) -> Tensor:
    """Σ -log P(y | x) over packed sequences (paper, section 3.3), a scalar; torch may derive it once. Its derivatives
    are the expectations of what fields and coupling multiply less what y has of it, which forward-backward gives
    without a graph. Shapes: `emissions` float `[T, 2]`, `labels` `[T]`, `cu_seqlens` integers `[B + 1]`."""
    given = emissions.detach().double().cpu().numpy()
    packing = Packing.of(cu_seqlens.cpu().numpy(), len(given))
    potentials = LinearChainCrf(*(part.detach().double().cpu().numpy() for part in crf))
    growth, expected, pairs = expectations(Chain.of(given, packing, potentials))
    fields, coupling = plain_form(emissions, cu_seqlens, crf)
    kept = labels == 1
    both = kept[1:] & kept[:-1]
    both[cu_seqlens[1:-1].long() - 1] = False  # its two tokens are of two sequences
    score = fields[kept].sum() + coupling * both.sum()
    likely = torch.from_numpy(expected).to(fields.device)
    tilt = ((fields - fields.detach()) * likely).sum() + (coupling - coupling.detach()) * pairs
    return (growth + tilt - score).to(torch.float64 if emissions.dtype == torch.float64 else torch.float32)


def marginal_log_odds(fields: Tensor, coupling: Tensor) -> Tensor:
    """Return the log-odds `[T]` that each of T tokens of one chain is kept; differentiable."""
    before, after = _messages(fields, coupling), _messages(fields.flip(0), coupling).flip(0)
    return before + after - fields  # each has the token's own field


def _messages(fields: Tensor, coupling: Tensor) -> Tensor:
    """The log-odds `[T]` of each token by itself and all that stands before it. Each token is a map of 2 x 2 potentials
    from the label before it; maps are joined in log2 T rounds, after each of which every token has what twice as many
    tokens say. A map's entries differ by a field and two couplings at most, however many tokens it has."""
    nothing = torch.zeros_like(fields)
    maps = torch.stack([nothing, fields, nothing, fields + coupling], dim=-1).unflatten(-1, (2, 2))
    maps = (maps - maps.detach().amax(dim=(1, 2), keepdim=True)).exp()
    reach = 1
    while reach < len(maps):
        joined = maps[:-reach] @ maps[reach:]
        maps = torch.cat([maps[:reach], joined / joined.detach().amax(dim=(1, 2), keepdim=True)])
        reach *= 2
    return (maps[:, 0, 1] / maps[:, 0, 0]).log()


SEGMENT = 16  # How many code tokens, some two lines, are ranked as one
_LEAST_GOLD = 4
"""The fewest gold tokens that make a segment one to rank: a short line, which a commit's change often is."""


@dataclass(frozen=True, kw_only=True)
class LossWeights:
    """The coefficients of the objective; the defaults are the paper's (appendix D.4, D.5)."""

    chains: float = 1.0  # the weight of all chains' likelihoods together
    rubric: float = 0.6  # λ, which moves weight from the fused chain (0) to the rubrics' chains (1)
    rubrics: tuple[float, ...] = (1.0, 0.7)  # w_k, the weight of each rubric's chain
    relevance: float = 0.05  # the weight of the squared error of a chunk's relevance
    listwise: float = 0.0  # of a chunk with gold lines against its file's chunks without
    ranking: float = 0.0  # of segments of code, by the first rubric's emissions and lexical evidence
    evidence: float = 4.0  # how much lexical evidence counts there
    even: bool = False  # whether each file counts the same in both cross entropies, as it does in evaluations
    balance: float = 0.002  # the weight of the entropy of the mean gate, which keeps both rubrics in use


@dataclass(frozen=True, eq=False)
class LossTerms:
    """The value of each term, scalars: `total` is the loss, and the others are for the log."""

    total: Tensor
    fused: Tensor
    rubrics: Tensor
    relevance: Tensor
    listwise: Tensor
    ranking: Tensor


def lamr_loss(
    output: HeadOutput, relevance: Tensor, heads: RubricHeads, batch: Batch, weights: LossWeights
) -> LossTerms:
    """The objective on the code tokens of a batch. Shapes: `relevance` float `[B]`."""
    labels, groups, cu_seqlens = batch.labels, batch.groups, batch.code_cu_seqlens
    tokens = labels.shape[0]
    fused = nll(output.fused_emissions, labels.amax(dim=1), cu_seqlens, heads.fused_crf_tensors())
    own = heads.rubric_crf
    each = torch.stack(
        [
            nll(
                output.emissions[:, k],
                labels[:, k],
                cu_seqlens,
                (own.transitions[k], own.start[k], own.end[k]),
            )
            for k in range(labels.shape[1])
        ]
    )
    share = output.gate.mean(dim=0)
    entropy = -(share * share.clamp_min(1e-8).log()).sum()
    error = F.mse_loss(relevance.sigmoid(), batch.relevance)
    ranks = listwise_loss(relevance, batch.relevance > 0, batch.relevance <= 0, groups, even=weights.even)
    log_odds = output.emissions[:, 0, 1] - output.emissions[:, 0, 0] + weights.evidence * batch.evidence
    segments = ranking_loss(log_odds, labels[:, 0], groups, cu_seqlens, even=weights.even)
    scale = torch.tensor(weights.rubrics, dtype=each.dtype, device=each.device)
    chains = (1 - weights.rubric) * fused + weights.rubric * (scale * each).sum()
    ordered = weights.listwise * ranks + weights.ranking * segments
    total = weights.chains * chains / tokens + weights.relevance * error + ordered - weights.balance * entropy
    return LossTerms(
        total,
        fused.detach() / tokens,
        each.detach() / tokens,
        error.detach(),
        ranks.detach(),
        segments.detach(),
    )


def listwise_loss(
    scores: Tensor, positive: Tensor, negative: Tensor, groups: Tensor, *, even: bool = False
) -> Tensor:
    """The mean over positives of -log softmax against the negatives of their group. Shapes: `scores` float `[B]`,
    `positive`, `negative` bool `[B]`, `groups` int64 `[B]`."""
    same = groups[:, None] == groups[None, :]
    rivals = same & negative[None, :]
    counted = positive & rivals.any(dim=1)
    if not counted.any():
        return scores.sum() * 0
    against = scores[None, :].masked_fill(~rivals, -torch.inf)[counted]
    own = scores[counted]
    losses = torch.logsumexp(torch.cat([own[:, None], against], dim=1), dim=1) - own
    if not even:
        return losses.mean()
    shares = 1 / (same & counted[None, :])[counted].sum(dim=1)
    return (losses * shares).sum() / shares.sum()


def ranking_loss(
    log_odds: Tensor, labels: Tensor, groups: Tensor, cu_seqlens: Tensor, *, even: bool = False
) -> Tensor:
    """`listwise_loss` of the mean log-odds of segments: the gold tokens of a segment against segments without any gold.
    Shapes: `log_odds` float `[T]`, `labels` int64 `[T]`, `groups` int64 `[B]`, `cu_seqlens` int32 `[B + 1]`."""
    lengths = cu_seqlens.diff().long()
    sequence = torch.repeat_interleave(lengths)
    place = torch.arange(len(labels), device=labels.device) - cu_seqlens[:-1].long()[sequence]
    first = place % SEGMENT == 0
    segment = first.cumsum(dim=0) - 1
    count = int(segment[-1]) + 1 if len(segment) else 0
    zeros = log_odds.new_zeros(count)
    gold = zeros.index_add(0, segment, labels.to(zeros.dtype))
    # Of a segment with gold its gold tokens are ranked: its other tokens are neither wanted nor in the way.
    ranked = torch.where((gold > 0)[segment], labels.to(zeros.dtype), torch.ones_like(log_odds))
    size = zeros.index_add(0, segment, ranked)
    score = zeros.index_add(0, segment, log_odds * ranked) / size
    return listwise_loss(score, gold >= _LEAST_GOLD, gold == 0, groups[sequence[first]], even=even)
