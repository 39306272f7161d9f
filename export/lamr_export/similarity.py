"""How alike a query and its code are, by the states that a backbone gives each of them on its own.

A sentence encoder puts a question and what answers it near each other before any training of ours. To keep that, the
query and the code of a sequence are encoded apart (`Packing.split`), and compared here: the cosine of their mean
states is the chunk's relevance, and each code token learns how far it and its neighbours point the query's way. Only
the fusion blocks, after this, let code attend to the query. Knows states and segments; knows no tokens.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from lamr_export.attention import Packing
from lamr_export.lexical import running_sum

# Relevance starts as a probability that rises where cosines of questions and code differ, from 0.2 to 0.6.
_SCALE, _MIDDLE = 12.0, 0.4
# Cosines are small numbers; this brings them to the size of the features that they are added to.
_GAIN = 4.0


class Similarity(nn.Module):
    """Features of likeness, added to the fused ones by a projection that starts at zero; and relevance.

    Attributes:
        windows: half widths, in tokens, of the neighbourhoods that are compared with the query beside single tokens.
    """

    def __init__(self, windows: tuple[int, ...], hidden_size: int, fused_size: int) -> None:
        super().__init__()
        self.windows = windows
        self.projection = nn.Linear(2 + len(windows), fused_size, bias=False)
        nn.init.zeros_(self.projection.weight)
        self.scale = nn.Parameter(torch.tensor(_SCALE))
        self.prior = nn.Linear(hidden_size, 1)  # some code answers hardly any question
        nn.init.zeros_(self.prior.weight)
        nn.init.zeros_(self.prior.bias)

    def forward(self, states: Tensor, of_code: Tensor, packing: Packing) -> tuple[Tensor, Tensor]:
        """Compare.

        Args:
            states: `[T, hidden]`.
            of_code: int64 `[T]`, 1 for code and 0 for the query.
            packing: of whole sequences.

        Returns:
            What to add to the fused features `[T, fused]`, and to the log-odds of relevance `[B, 1]`.
        """
        states = states.nan_to_num()  # a refused sequence's; sums over all tokens would pass it on
        number = torch.arange(packing.starts.shape[0], device=states.device)
        own = packing.sequence[None, :] == number[:, None]
        # Double, because float32 sums would depend on what else is in the batch, and int8 makes much of little.
        code = (own & (of_code > 0)[None, :]).double()
        asked = (own & (of_code == 0)[None, :]).double()
        query = F.normalize((asked @ states.double()).to(states.dtype), dim=1)
        mean = (code @ states.double() / code.sum(dim=1, keepdim=True).clamp(min=1)).to(states.dtype)
        size = mean.norm(dim=1).clamp(min=1e-6)
        cosine = (mean * query).sum(dim=1) / size
        along = (states * query.index_select(0, packing.sequence)).sum(dim=1)
        along = along / size.index_select(0, packing.sequence)
        features = [along, cosine.index_select(0, packing.sequence), *self._means(along, of_code, packing)]
        added = self.projection(_GAIN * torch.stack(features, dim=1))
        return added, (self.scale * (cosine - _MIDDLE))[:, None] + self.prior(mean)

    def _means(self, along: Tensor, of_code: Tensor, packing: Packing) -> list[Tensor]:
        """For every window, the mean over its code tokens `[T]`."""
        sums, counts = running_sum(along * of_code), running_sum(of_code)
        place = torch.arange(along.shape[0], device=along.device)
        first = packing.starts.index_select(0, packing.sequence)
        end = packing.lasts.index_select(0, packing.sequence) + 1
        found = []
        for width in self.windows:
            low, high = torch.maximum(place - width, first), torch.minimum(place + width + 1, end)
            total, count = (
                values.index_select(0, high) - values.index_select(0, low) for values in (sums, counts)
            )
            found.append((total / count.clamp(min=1)).to(along.dtype))
        return found
