"""How alike a query and its code are, by the states that a backbone gives each of them on its own.

A sentence encoder puts a question and its answer near each other before LaMR trains it. To keep that, the query and the
code of a sequence are encoded apart (`PackedLayout.split`) and compared here: the cosine of their mean states is the
chunk's relevance, and each code token learns how far it and its neighbours point the query's way. Code attends to the
query only in the fusion blocks, after this.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from lamr_export.attention import PackedLayout
from lamr_export.lexical_features import running_sum

# Relevance starts as a probability that rises between 0.2 and 0.6, where the cosines of questions and code differ.
_SCALE, _MIDDLE = 12.0, 0.4
# Cosines are small numbers. This factor brings them to the size of the features that they are added to.
_GAIN = 4.0


class Similarity(nn.Module):
    """Relevance, and features of likeness, which a projection that starts at zero adds to the fused ones.

    Attributes:
        windows: half widths, in tokens, of the neighbourhoods that are compared with the query beside single tokens.
    """

    def __init__(self, windows: tuple[int, ...], hidden_size: int, fused_size: int) -> None:
        super().__init__()
        self.windows = windows
        self.projection = nn.Linear(2 + len(windows), fused_size, bias=False)
        nn.init.zeros_(self.projection.weight)
        self.scale = nn.Parameter(torch.tensor(_SCALE))
        self.prior = nn.Linear(hidden_size, 1)  # some code hardly answers any question
        nn.init.zeros_(self.prior.weight)
        nn.init.zeros_(self.prior.bias)

    def forward(self, states: Tensor, of_code: Tensor, packing: PackedLayout) -> tuple[Tensor, Tensor]:
        """Compare the code of each sequence with its query.

        Args:
            states: `[T, hidden]`, the backbone's last ones.
            of_code: int64 `[T]`, 1 for code and 0 for the query.
            packing: the layout of whole sequences.

        Returns:
            what to add to the fused features `[T, fused]`, and to the log-odds of relevance `[B, 1]`.
        """
        states = states.nan_to_num()  # a refused sequence has NaN, which sums over all tokens would pass on
        number = torch.arange(packing.starts.shape[0], device=states.device)
        own = packing.sequence[None, :] == number[:, None]
        # These are doubles: float32 sums would depend on what else is in the batch, and int8 would amplify that.
        code = (own & (of_code > 0)[None, :]).double()
        queried = (own & (of_code == 0)[None, :]).double()
        query = F.normalize((queried @ states.double()).to(states.dtype), dim=1)
        mean = (code @ states.double() / code.sum(dim=1, keepdim=True).clamp(min=1)).to(states.dtype)
        size = mean.norm(dim=1).clamp(min=1e-6)
        cosine = (mean * query).sum(dim=1) / size
        along = (states * query.index_select(0, packing.sequence)).sum(dim=1)
        along = along / size.index_select(0, packing.sequence)
        features = [along, cosine.index_select(0, packing.sequence), *self._means(along, of_code, packing)]
        added = self.projection(_GAIN * torch.stack(features, dim=1))
        return added, (self.scale * (cosine - _MIDDLE))[:, None] + self.prior(mean)

    def _means(self, along: Tensor, of_code: Tensor, packing: PackedLayout) -> list[Tensor]:
        """For every window, the mean of `along` over its code tokens, `[T]` each."""
        sums, counts = running_sum(along * of_code), running_sum(of_code)
        place = torch.arange(along.shape[0], device=along.device)
        first = packing.starts.index_select(0, packing.sequence)
        end = packing.lasts.index_select(0, packing.sequence) + 1
        means = []
        for width in self.windows:
            low, high = torch.maximum(place - width, first), torch.minimum(place + width + 1, end)
            total, count = (
                values.index_select(0, high) - values.index_select(0, low) for values in (sums, counts)
            )
            means.append((total / count.clamp(min=1)).to(along.dtype))
        return means
