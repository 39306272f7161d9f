"""Lexical evidence inside the graph: which tokens occur in the query, and how rare they are.

Computed from ids and sequence bounds alone, so the encoder's inputs stay the same with and without it. This
module knows one separator id and a weight per vocabulary entry; it doesn't know where the weights come from.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from lamr_export.attention import Packing
from lamr_export.config import Lexical


class LexicalEvidence(nn.Module):
    """A learned embedding of (m, m·r): m = "occurs in this sequence's query", r = the token's rarity.

    The projection starts at zero, so an untrained one leaves the backbone's input as it is.
    """

    rarity: Tensor

    def __init__(self, config: Lexical, vocab_size: int, hidden_size: int) -> None:
        super().__init__()
        self.separator_id = config.separator_id
        self.projection = nn.Linear(2, hidden_size, bias=False)
        nn.init.zeros_(self.projection.weight)
        rarity = torch.ones(vocab_size)
        rarity[list(config.excluded_ids)] = 0.0
        self.register_buffer("rarity", rarity)

    def set_rarity(self, rarity: Tensor) -> None:
        """Set the weight of every vocabulary entry: float `[V]` in [0, 1]; 0 takes an entry out (stop list)."""
        if rarity.shape != self.rarity.shape:
            raise ValueError(f"rarity must have shape {tuple(self.rarity.shape)}, not {tuple(rarity.shape)}")
        self.rarity.copy_(rarity)

    def segments(self, input_ids: Tensor, packing: Packing) -> tuple[Tensor, Tensor]:
        """Which tokens are the query, and each token's segment.

        Returns:
            bool `[T]`, True before a sequence's first separator; int64 `[T]`, 1 after it and 0 up to it.
        """
        separator = (input_ids == self.separator_id).to(torch.int64)
        earlier = separator.cumsum(dim=0) - separator
        earlier_here = earlier - earlier[packing.starts][packing.sequence]
        return (earlier_here + separator) == 0, (earlier_here > 0).to(torch.int64)

    def matches(self, input_ids: Tensor, in_query: Tensor, packing: Packing) -> Tensor:
        """float `[T]`: 1 where the token's id occurs in the query of its sequence and has a weight.

        A table with one entry per (sequence, id) is written at the query's tokens and read at all tokens; the
        writes of other tokens go to a last entry that nothing reads. That is T + B·V work; comparing all pairs
        would be T·L.
        """
        entry = packing.sequence * self.rarity.shape[0] + input_ids
        unread = packing.starts.shape[0] * self.rarity.shape[0]
        table = torch.zeros(unread + 1, device=input_ids.device, dtype=self.rarity.dtype)
        one = torch.ones_like(entry, dtype=self.rarity.dtype)
        table = table.scatter(0, torch.where(in_query, entry, unread), one)
        return table[entry] * (self.rarity[input_ids] > 0).to(table.dtype)

    def forward(self, input_ids: Tensor, packing: Packing) -> tuple[Tensor, Tensor]:
        """What to add to the input embeddings `[T, hidden]`, and the token types int64 `[T]`."""
        with torch.no_grad():
            in_query, token_types = self.segments(input_ids, packing)
            match = self.matches(input_ids, in_query, packing)
            features = torch.stack([match, match * self.rarity[input_ids]], dim=1)
        return self.projection(features), token_types
