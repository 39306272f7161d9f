"""What goes beside a backbone's states: lexical features, and how alike query and code are by states of their own.

Lexical features (which tokens occur in the query, how rare they are) are computed from ids and sequence bounds alone. A
sentence encoder puts a question near its answer before LaMR trains it. To keep that, query and code are encoded apart
(`PackedLayout.split`) and compared here; code attends to the query only in the fusion blocks, after this."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from lamr_export.attention import PackedLayout
from lamr_export.config import Lexical


class LexicalFeatures(nn.Module):
    """A learned embedding of (m, m·r): m = "occurs in this sequence's query", r = the token's rarity. With windows
    there are two more kinds of features: how dense m·r is around the token, d/(1 + d) for every window, and the
    rarity-weighted share of the query that occurs in the code of the sequence (what a BM25 over chunks would see). A
    second projection then takes all of them to the fused features. The projections start at zero, so untrained ones
    leave the model as it is."""

    rarity: Tensor

    def __init__(self, config: Lexical, vocab_size: int, hidden_size: int, fused_size: int = 0) -> None:
        super().__init__()
        self.separator_id, self.windows = config.separator_id, config.windows
        count = 2 + (len(config.windows) + 1 if config.windows else 0)
        self.projection = nn.Linear(count, hidden_size, bias=False)
        nn.init.zeros_(self.projection.weight)
        self.fused_projection = nn.Linear(count, fused_size, bias=False) if config.windows else None
        if self.fused_projection is not None:
            nn.init.zeros_(self.fused_projection.weight)
        rarity = torch.ones(vocab_size)
        rarity[list(config.excluded_ids)] = 0.0
        self.register_buffer("rarity", rarity)

    def set_rarity(self, rarity: Tensor) -> None:
        """Set the weight of every vocabulary entry: float `[V]` in [0, 1]. Weight 0 takes an entry out (stop list)."""
        if rarity.shape != self.rarity.shape:
            raise ValueError(f"rarity must have shape {tuple(self.rarity.shape)}, not {tuple(rarity.shape)}")
        self.rarity.copy_(rarity)

    def segments(self, input_ids: Tensor, packing: PackedLayout) -> tuple[Tensor, Tensor]:
        """Which tokens are the query, and each token's segment. Shapes: returns bool `[T]`, int64 `[T]`."""
        separator = (input_ids == self.separator_id).to(torch.int64)
        earlier = separator.cumsum(dim=0) - separator
        earlier_here = earlier - earlier.index_select(0, packing.starts.index_select(0, packing.sequence))
        return (earlier_here + separator) == 0, (earlier_here > 0).to(torch.int64)

    def occurs(self, input_ids: Tensor, among: Tensor, packing: PackedLayout) -> Tensor:
        """Float `[T]`, 1 where a token's id occurs among those tokens of its sequence that `among` (bool `[T]`) marks.
        A table with one entry for each (sequence, id) is written at the marked tokens and read at all tokens. Other
        tokens write to a last entry that nothing reads. That is T + B * V work; a comparison of all pairs would be T *
        L."""
        entry = packing.sequence * self.rarity.shape[0] + input_ids
        unread = packing.starts.shape[0] * self.rarity.shape[0]
        table = torch.zeros(unread + 1, device=input_ids.device, dtype=self.rarity.dtype)
        one = torch.ones_like(entry, dtype=self.rarity.dtype)
        return table.scatter(0, torch.where(among, entry, unread), one).index_select(0, entry)

    def matches(self, input_ids: Tensor, in_query: Tensor, packing: PackedLayout) -> Tensor:
        """Float `[T]`, 1 where a token's id occurs in the query of its sequence and has a weight."""
        occurring = self.occurs(input_ids, in_query, packing)
        return occurring * (self.rarity.index_select(0, input_ids) > 0).to(occurring.dtype)

    def densities(self, weighted: Tensor, token_types: Tensor, packing: PackedLayout) -> list[Tensor]:
        """For every window d/(1 + d), where d is the sum of `weighted` (float `[T]`) over the code tokens within it."""
        total = running_sum(weighted * token_types)
        place = torch.arange(weighted.shape[0], device=weighted.device)
        first = packing.starts.index_select(0, packing.sequence)
        end = packing.lasts.index_select(0, packing.sequence) + 1
        sums = [
            (
                total.index_select(0, torch.minimum(place + width + 1, end))
                - total.index_select(0, torch.maximum(place - width, first))
            ).to(weighted.dtype)
            for width in self.windows
        ]
        return [d / (1.0 + d) for d in sums]

    def coverage(self, input_ids: Tensor, in_query: Tensor, packing: PackedLayout) -> Tensor:
        """Float `[T]`, one value for each sequence: the share of its query's rarity whose tokens occur in its code."""
        queried = self.rarity.index_select(0, input_ids) * in_query.to(self.rarity.dtype)
        covered = queried * self.occurs(input_ids, ~in_query, packing)
        share = [
            (total.index_select(0, packing.lasts + 1) - total.index_select(0, packing.starts)).to(
                queried.dtype
            )
            for total in (running_sum(covered), running_sum(queried))
        ]
        return (share[0] / (share[1] + 1e-3)).index_select(0, packing.sequence)

    def forward(self, input_ids: Tensor, packing: PackedLayout) -> tuple[Tensor, Tensor, Tensor | None]:
        """Compute the features and project them. Shapes: returns `[T, hidden]`, int64 `[T]`, `[T, fused]`."""
        with torch.no_grad():
            in_query, token_types = self.segments(input_ids, packing)
            match = self.matches(input_ids, in_query, packing)
            weighted = match * self.rarity.index_select(0, input_ids)
            features = [match, weighted]
            if self.windows:
                features += self.densities(weighted, token_types, packing)
                features.append(self.coverage(input_ids, in_query, packing))
            stacked = torch.stack(features, dim=1)
        fused = None if self.fused_projection is None else self.fused_projection(stacked)
        return self.projection(stacked), token_types, fused


def running_sum(values: Tensor) -> Tensor:
    """The sums before each token, float64 `[T + 1]`. They are doubles, because differences of float32 sums would depend
    on what else is in the batch."""
    return F.pad(values.double().cumsum(dim=0), (1, 0))


# Relevance starts as a probability that rises between 0.2 and 0.6, where the cosines of questions and code differ.
_SCALE, _MIDDLE = 12.0, 0.4
# Cosines are small numbers. This factor brings them to the size of the features that they are added to.
_GAIN = 4.0


class Similarity(nn.Module):
    """Relevance, and features of likeness, which a projection that starts at zero adds to the fused ones."""

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
        """Compare the code of each sequence with its query. Shapes: `states` `[T, hidden]`, `of_code` int64 `[T]`;
        returns `[T, fused]`, `[B, 1]`."""
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
