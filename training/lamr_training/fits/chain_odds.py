"""The log-odds of a chain's marginals, for losses: torch can't differentiate the marginals of `lamr_decoding`.

The module knows `lamr_decoding`'s plainest form of a chain: fields and a coupling.
"""

from __future__ import annotations

import torch
from torch import Tensor


def marginal_log_odds(fields: Tensor, coupling: Tensor) -> Tensor:
    """Return the log-odds `[T]` that each of T tokens of one chain is kept; differentiable.

    Args:
        fields: `[T]`, h of `lamr_decoding.chain`.
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
