"""Attention over a packed batch in which sequences that begin alike have their common beginning once.

Each family of such sequences lies as one run of rows: the tokens that all share, then what each one goes on with. A row
sees the shared rows and its own sequence's rows before it. No row is padding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from lamr_contract.encoder.packed_batch import sequence_bounds
from lamr_contract.perplexity.causal_scorer import IntArray
from lamr_contract.perplexity.families import Family
from torch import Tensor
from torch.nn import functional as F


@dataclass(frozen=True)
class SharedLayout:
    """Where the tokens of a batch of families belong.

    Attributes:
        position: int64 `[T]`, each row's place in its sequence, from 0.
        runs: the rows of each family: its first row, its first row that isn't shared, and the row after its last.
        owner: int64 `[T]`, the sequence of each row; -1 for shared rows.
    """

    position: Tensor
    runs: tuple[tuple[int, int, int], ...]
    owner: Tensor

    @classmethod
    def of(cls, batch: Sequence[Family]) -> SharedLayout:
        """Lay out families one after another."""
        lengths = [length for family in batch for length in (family.shared, *family.rests)]
        begins = [at for family in batch for at in (0, *[family.shared] * len(family.rests))]
        owners = [at for family in batch for at in (-1, *family.places)]
        within = np.concatenate([np.arange(length) for length in lengths])
        bounds = sequence_bounds([family.tokens for family in batch]).tolist()
        return cls(
            position=torch.from_numpy(within + np.repeat(begins, lengths)),
            runs=tuple(
                (first, first + family.shared, first + family.tokens)
                for first, family in zip(bounds[:-1], batch, strict=True)
            ),
            owner=torch.from_numpy(np.repeat(owners, lengths)),
        )

    def to(self, device: str) -> SharedLayout:
        """The same layout with its tensors on a device."""
        return SharedLayout(self.position.to(device), self.runs, self.owner.to(device))


def laid_out(batch: Sequence[Family], sequences: Sequence[IntArray]) -> IntArray:
    """The rows' token ids, int64 `[T]`."""
    parts = []
    for family in batch:
        parts.append(sequences[family.places[0]][: family.shared])
        parts += [sequences[place][family.shared :] for place in family.places]
    return np.concatenate(parts)


def rows_of(batch: Sequence[Family]) -> dict[int, IntArray]:
    """The rows of each sequence's tokens in order, int64 `[t]`, by the sequence's place."""
    found: dict[int, IntArray] = {}
    first = 0
    for family in batch:
        shared = np.arange(first, first + family.shared)
        ends = first + family.shared + sequence_bounds(family.rests)
        for place, start, end in zip(family.places, ends[:-1], ends[1:], strict=True):
            found[place] = np.concatenate([shared, np.arange(start, end)])
        first += family.tokens
    return found


def shared_attention(  # noqa: PLR0913 - attention's own arguments
    query: Tensor, key: Tensor, value: Tensor, layout: SharedLayout, *, scale: float, window: int | None
) -> Tensor:
    """Causal attention within each sequence of a batch of families.

    Args:
        query: `[T, heads, d]`.
        key, value: `[T, key_heads, d]`, where key_heads divides heads.
        layout: of the batch.
        scale: the factor on the scores.
        window: how many tokens a token sees, itself among them; None sees all before it.

    Returns:
        `[T, heads * d]`.
    """
    out = torch.empty(*query.shape[:-1], value.shape[-1], dtype=query.dtype, device=query.device)
    grouped = query.shape[1] != key.shape[1]

    def attend(rows: slice, seen: slice, mask: Tensor | None) -> None:
        q, k, v = (x.transpose(0, 1)[None] for x in (query[rows], key[seen], value[seen]))
        found = F.scaled_dot_product_attention(
            q, k, v, attn_mask=mask, is_causal=mask is None, scale=scale, enable_gqa=grouped
        )
        out[rows] = found[0].transpose(0, 1)

    for first, parting, end in layout.runs:
        if window is None or parting - first <= window:
            attend(slice(first, parting), slice(first, parting), None)
        else:
            for start in range(first, parting, window):
                rows = slice(start, min(start + window, parting))
                seen = slice(max(start - window + 1, first), rows.stop)
                attend(rows, seen, _visible(layout, rows, seen, window))
        if end > parting:
            rows, seen = slice(parting, end), slice(first, end)
            attend(rows, seen, _visible(layout, rows, seen, window))
    return out.flatten(1)


def _visible(layout: SharedLayout, rows: slice, seen: slice, window: int | None) -> Tensor:
    """Which rows see which, bool `[R, S]`."""
    back = layout.position[rows, None] - layout.position[None, seen]
    owner = layout.owner[None, seen]
    visible = (back >= 0) & ((owner < 0) | (owner == layout.owner[rows, None]))
    return visible if window is None else visible & (back < window)
