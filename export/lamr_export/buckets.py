"""Attention on a CPU over groups of sequences of like length, so that there is little padding and scores stay in cache.

Training and checks use it. Serving uses an exported graph instead.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

_BUCKET_SCORES = 2**20
"""The most scores of one head in a bucket; those of 12 heads in bfloat16 stay within a CPU's cache."""


@dataclass(frozen=True)
class Buckets:
    """Sequences sorted by length and cut into groups, each padded to its own longest."""

    tokens: list[Tensor]  # int64 `[B_g, L_g]` for each group, the token of every slot
    masks: list[Tensor]  # bool `[B_g, 1, 1, L_g]` for each group, True where a slot holds a token
    to_packed: Tensor  # int64 `[T]`, the slot of each token; slots are numbered through all groups

    @classmethod
    def of(cls, starts: Tensor, ends: Tensor) -> Buckets:
        """Group sequences that cover all tokens, given their bounds `[B]`."""
        lengths = (ends - starts).clamp(min=0)
        order = torch.argsort(lengths, stable=True)
        tokens, masks, slots = [], [], 0
        to_packed = torch.zeros(int(lengths.sum()), dtype=torch.int64)
        for chosen in _groups_of_like_length(order[lengths[order] > 0], lengths):
            size = int(lengths[chosen].max())
            slot = torch.arange(size)
            held = slot[None, :] < lengths[chosen, None]
            places = torch.minimum(starts[chosen, None] + slot, ends[chosen, None] - 1)
            tokens.append(places)
            masks.append(held[:, None, None, :])
            to_packed[places[held]] = slots + torch.nonzero(held.flatten()).flatten()
            slots += held.numel()
        return cls(tokens, masks, to_packed)


def _groups_of_like_length(order: Tensor, lengths: Tensor) -> list[Tensor]:
    """Cut `order`, which ascends by length, where the next sequence is half as long again or scores get too many."""
    groups, first = [], 0
    ascending = lengths[order].tolist()
    for last, length in enumerate(ascending):
        few = (last + 1 - first) * length * length <= _BUCKET_SCORES
        if last > first and (length > 1.5 * ascending[first] or not few):
            groups.append(order[first:last])
            first = last
    return [*groups, order[first:]] if first < len(order) else groups


def attention_in_buckets(query: Tensor, key: Tensor, value: Tensor, buckets: Buckets, scale: float) -> Tensor:
    """Bidirectional attention within each sequence, group by group.

    Args:
        query: `[T, heads, d]`.
        key, value: `[T, key_heads, d]`, where key_heads divides heads.
        buckets: the batch in groups of like length.
        scale: the factor on the scores.

    Returns:
        `[T, heads * d]`.
    """
    attend = _products if query.dtype == torch.bfloat16 else _kernel
    rows = []
    for tokens, mask in zip(buckets.tokens, buckets.masks, strict=True):
        q, k, v = (
            x.flatten(1).index_select(0, tokens.flatten()).view(*tokens.shape, *x.shape[1:]).transpose(1, 2)
            for x in (query, key, value)
        )
        groups = q.shape[1] // k.shape[1]
        if groups > 1:
            k, v = (x.repeat_interleave(groups, dim=1) for x in (k, v))
        out = attend(q, k, v, mask, scale)
        rows.append(out.transpose(1, 2).reshape(tokens.numel(), -1))
    return torch.cat(rows).index_select(0, buckets.to_packed)


def _products(q: Tensor, k: Tensor, v: Tensor, mask: Tensor, scale: float) -> Tensor:
    """Attention as two plain products, for bfloat16.

    PyTorch's kernel for CPUs is made for float32 and takes twice as long with bfloat16. The mask goes into the first
    product as a component that is 1 in queries, because adding it would cost a pass over all scores.
    """
    ones = q.new_ones(()).expand(*q.shape[:-1], 1)
    padding = (~mask).to(k.dtype) * torch.finfo(k.dtype).min
    column = padding.transpose(-1, -2).expand(*k.shape[:-1], 1)
    scores = torch.cat([q * scale, ones], dim=-1) @ torch.cat([k, column], dim=-1).transpose(-1, -2)
    return scores.softmax(dim=-1) @ v


def _kernel(q: Tensor, k: Tensor, v: Tensor, mask: Tensor, scale: float) -> Tensor:
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=scale)
