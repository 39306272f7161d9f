"""Attention on a processor, over sequences of like length at a time: little padding, and scores that stay in cache.

Knows bounds of sequences; knows no model. Serving uses an exported graph instead; this is for training and for checks.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

_BUCKET_SCORES = 2**20
"""Scores of one head that a bucket may have; those of 12 heads in bfloat16 stay within a processor's cache."""


@dataclass(frozen=True)
class Buckets:
    """Sequences sorted by length and cut into groups, each padded to its own longest.

    Attributes:
        tokens: for every group, int64 `[B_g, L_g]`, the token of every slot.
        masks: for every group, bool `[B_g, 1, 1, L_g]`, True where a slot holds a token.
        to_packed: int64 `[T]`, the slot of each token, counted through all groups.
    """

    tokens: list[Tensor]
    masks: list[Tensor]
    to_packed: Tensor

    @classmethod
    def of(cls, starts: Tensor, ends: Tensor) -> Buckets:
        """From the bounds `[B]` of sequences that cover all tokens."""
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
    """Cut `order`, ascending by length, where the next sequence would be half as long again, or scores too many."""
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
        key, value: `[T, key_heads, d]`, key_heads a divisor of heads.
        buckets: of the batch.
        scale: factor on the scores.

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
    # PyTorch's kernel for processors is made for float32: bfloat16 takes it twice as long as two plain products. The
    # mask goes into the first one, as a component that is 1 in queries: adding it would cost a pass over all scores.
    ones = q.new_ones(()).expand(*q.shape[:-1], 1)
    padding = (~mask).to(k.dtype) * torch.finfo(k.dtype).min
    column = padding.transpose(-1, -2).expand(*k.shape[:-1], 1)
    scores = torch.cat([q * scale, ones], dim=-1) @ torch.cat([k, column], dim=-1).transpose(-1, -2)
    return scores.softmax(dim=-1) @ v


def _kernel(q: Tensor, k: Tensor, v: Tensor, mask: Tensor, scale: float) -> Tensor:
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=scale)
