"""Two-label chains that torch can differentiate; `lamr_model.crf` computes with numpy.

Both losses know the plainest form of a chain (`lamr_model.crf.chain`): fields and a coupling.
"""

from __future__ import annotations

import torch
from lamr_model.crf import LinearChainCrf
from lamr_model.crf.chain import Chain, Packing
from lamr_model.crf.crf import expectations
from torch import Tensor

Potentials = tuple[Tensor, Tensor, Tensor]
"""Transitions `[2, 2]`, start `[2]` and end `[2]`."""


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
    """Σ -log P(y | x) over packed sequences (paper, section 3.3), a scalar; torch may derive it once.

    Its derivatives are the expectations of what fields and coupling multiply less what y has of it, which
    forward-backward gives without a graph.

    Args:
        emissions: float `[T, 2]`.
        labels: `[T]`, y, 0 or 1.
        cu_seqlens: integers `[B + 1]`, on the device of the others.
        crf: the potentials.

    Raises:
        ValueError: emissions or potentials that aren't finite, or an empty sequence.
    """
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
    """Return the log-odds `[T]` that each of T tokens of one chain is kept; differentiable.

    Args:
        fields: `[T]`, h of `lamr_model.crf.chain`.
        coupling: 0-d, J.
    """
    before, after = _messages(fields, coupling), _messages(fields.flip(0), coupling).flip(0)
    return before + after - fields  # each has the token's own field


def _messages(fields: Tensor, coupling: Tensor) -> Tensor:
    """The log-odds `[T]` of each token by itself and all that stands before it.

    Each token is a map of 2 x 2 potentials from the label before it; maps are joined in log2 T rounds, after each of
    which every token has what twice as many tokens say. A map's entries differ by a field and two couplings at most,
    however many tokens it has.
    """
    nothing = torch.zeros_like(fields)
    maps = torch.stack([nothing, fields, nothing, fields + coupling], dim=-1).unflatten(-1, (2, 2))
    maps = (maps - maps.detach().amax(dim=(1, 2), keepdim=True)).exp()
    reach = 1
    while reach < len(maps):
        joined = maps[:-reach] @ maps[reach:]
        maps = torch.cat([maps[:reach], joined / joined.detach().amax(dim=(1, 2), keepdim=True)])
        reach *= 2
    return (maps[:, 0, 1] / maps[:, 0, 0]).log()
