"""Attention over a packed batch, whose sequences lie end to end: each sequence attends only to itself.

Linear layers, norms and activations see the packed `[T, …]` rows and hence no padding. Only here q, k and v are
gathered into `[B, heads, L, d]`, and the result is gathered back. On a CPU, in training and checks, sequences of like
length form groups, so that there is little padding and scores stay in cache. The function is registered with
transformers' attention interface, so any backbone that takes it can be packed."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import AttentionInterface

from lamr_export.errors import CheckpointError
from lamr_export.shared_prefixes import SharedLayout, shared_attention

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
    groups, first = [], 0
    ascending = lengths[order].tolist()
    for last, length in enumerate(ascending):
        few = (last + 1 - first) * length * length <= _BUCKET_SCORES
        if last > first and (length > 1.5 * ascending[first] or not few):
            groups.append(order[first:last])
            first = last
    return [*groups, order[first:]] if first < len(order) else groups


def attention_in_buckets(query: Tensor, key: Tensor, value: Tensor, buckets: Buckets, scale: float) -> Tensor:
    """Bidirectional attention within each sequence, group by group. Shapes: `query` `[T, heads, d]`, `key`, `value`
    `[T, key_heads, d]`; returns `[T, heads * d]`."""
    attend: Any = _products if query.dtype == torch.bfloat16 else F.scaled_dot_product_attention
    rows = []
    for tokens, mask in zip(buckets.tokens, buckets.masks, strict=True):
        q, k, v = (
            x.flatten(1).index_select(0, tokens.flatten()).view(*tokens.shape, *x.shape[1:]).transpose(1, 2)
            for x in (query, key, value)
        )
        groups = q.shape[1] // k.shape[1]
        if groups > 1:
            k, v = (x.repeat_interleave(groups, dim=1) for x in (k, v))
        out = attend(q, k, v, attn_mask=mask, scale=scale)
        rows.append(out.transpose(1, 2).reshape(tokens.numel(), -1))
    return torch.cat(rows).index_select(0, buckets.to_packed)


def _products(q: Tensor, k: Tensor, v: Tensor, attn_mask: Tensor, scale: float) -> Tensor:
    """Attention as two plain products, for bfloat16. PyTorch's kernel for CPUs is made for float32 and takes twice as
    long with bfloat16. The mask goes into the first product as a component that is 1 in queries, because adding it
    would cost a pass over all scores."""
    ones = q.new_ones(()).expand(*q.shape[:-1], 1)
    padding = (~attn_mask).to(k.dtype) * torch.finfo(k.dtype).min
    column = padding.transpose(-1, -2).expand(*k.shape[:-1], 1)
    scores = torch.cat([q * scale, ones], dim=-1) @ torch.cat([k, column], dim=-1).transpose(-1, -2)
    return scores.softmax(dim=-1) @ v


PACKED_ATTENTION = "lamr_packed"


@dataclass(frozen=True)
class PackedLayout:
    """Where the tokens of a packed batch belong. All indices are int64.

    The mask hides padding and tokens that don't attend to each other. It is a product of a few components that are
    appended to queries and keys, which costs less than a mask that is added to all scores."""

    sequence: Tensor  # `[T]`, the sequence of each token
    position: Tensor  # `[T]`, each token's place in its sequence, or in its part of the sequence, from 0
    starts: Tensor  # `[B]`, the first token of each sequence
    lasts: Tensor  # `[B]`, the last token of each sequence
    to_padded: Tensor  # `[B * L]`, the token of every padded slot
    to_packed: Tensor  # `[T]`, the padded slot of each token
    mask: Tensor  # bool `[B, 1, 1 or L, L]`, True where a slot sees the token of another
    query_mask: Tensor  # `[B, L, 1, c]`
    key_mask: Tensor
    causal_bias: Tensor  # `[L, L]`, 0 at and before the diagonal and the dtype's lowest number after it
    parts: tuple[Tensor, Tensor]

    @classmethod
    def of(cls, cu_seqlens: Tensor, max_len: Tensor, tokens: int, limit: int | None = None) -> PackedLayout:
        """Lay out a batch.

        Args:
            cu_seqlens: int `[B + 1]`, from 0 to T.
            max_len: `[L]`, L the longest sequence; the values are never read, the dtype is that of the masks.
            tokens: T.
            limit: the most that L can be; tokens beyond it share the last slot of their sequence."""
        bounds = cu_seqlens.to(torch.int64)
        starts, ends = bounds[:-1], bounds[1:]
        slots = max_len.shape[0] if limit is None else torch.sym_min(max_len.shape[0], limit)
        slot = torch.arange(slots, device=starts.device)
        token = torch.arange(tokens, device=starts.device)
        sequence = (token[:, None] >= ends[None, :]).to(torch.int64).sum(dim=1)
        position = (token - starts.index_select(0, sequence)).clamp(max=slots - 1)
        held = slot[None, :] < (ends - starts)[:, None]
        lowest = torch.finfo(max_len.dtype).min
        padding = ((~held).to(max_len.dtype) * lowest)[:, :, None, None]
        return cls(
            sequence=sequence,
            position=position,
            starts=starts,
            lasts=ends - 1,
            to_padded=torch.minimum(starts[:, None] + slot[None, :], ends[:, None] - 1).reshape(-1),
            to_packed=sequence * slots + position,
            mask=held[:, None, None, :],
            query_mask=padding * 0 + 1,
            key_mask=padding,
            causal_bias=(slot[None, :] > slot[:, None]).to(max_len.dtype) * lowest,
            parts=(starts, ends),
        )

    def split(self, counts: Tensor) -> PackedLayout:
        """The same batch with each sequence in two parts, which don't attend to each other and count positions from 0.
        The first parts have `counts` tokens, int64 `[B]`, at least 1 each; a second part may be empty."""
        middle, dtype = self.starts + counts, self.key_mask.dtype
        token = torch.arange(self.sequence.shape[0], device=counts.device)
        beyond = token - middle.index_select(0, self.sequence)
        later = beyond >= 0
        # A slot past the end belongs to its last token's part, so that it sees a token and its row isn't NaN.
        second = later.to(dtype).index_select(0, self.to_padded).view(*self.key_mask.shape[:2], 1, 1)
        sides = torch.cat([1 - second, second], dim=-1)
        lowest = torch.finfo(dtype).min
        side = second[:, None, :, :, 0] > 0
        return dataclasses.replace(
            self,
            position=torch.where(later, beyond.clamp(max=self.key_mask.shape[1] - 1), self.position),
            mask=self.mask & (side == side.transpose(2, 3)),
            query_mask=sides,
            key_mask=torch.minimum((1 - sides) * lowest, self.key_mask),
            parts=(
                torch.stack([self.starts, middle], dim=1).reshape(-1),
                torch.stack([middle, self.lasts + 1], dim=1).reshape(-1),
            ),
        )

    @cached_property
    def buckets(self) -> Buckets:
        """The same parts in groups of like length, for attention on a CPU."""
        return Buckets.of(*self.parts)


def packed_attention(  # noqa: PLR0913 - attention's own arguments
    query: Tensor, key: Tensor, value: Tensor, packing: PackedLayout, *, scale: float, causal: bool
) -> Tensor:
    """Attention within each sequence. Shapes: `query` `[T, heads, d]`, `key`, `value` `[T, key_heads, d]`; returns `[T,
    heads * d]`."""
    if causal and packing.query_mask.shape[-1] > 1:
        raise CheckpointError("a causal backbone can't encode query and code apart; leave out `similarity`")
    if torch.compiler.is_exporting():
        return _written_out(query, key, value, packing, scale=scale, causal=causal)
    if query.device.type == "cpu" and not causal:
        return attention_in_buckets(query, key, value, packing.buckets, scale)
    return _by_kernel(query, key, value, packing, scale=scale, causal=causal)


def _padded(query: Tensor, key: Tensor, value: Tensor, packing: PackedLayout) -> list[Tensor]:
    """`[T, heads, d]` each to `[B, L, heads, d]`."""
    return [
        x.flatten(1).index_select(0, packing.to_padded).view(*packing.key_mask.shape[:2], *x.shape[1:])
        for x in (query, key, value)
    ]


def _packed(out: Tensor, packing: PackedLayout) -> Tensor:
    """`[B, heads, L, d]` to `[T, heads * d]`."""
    return out.transpose(1, 2).reshape(packing.to_padded.shape[0], -1).index_select(0, packing.to_packed)


def _by_kernel(  # noqa: PLR0913 - attention's own arguments
    query: Tensor, key: Tensor, value: Tensor, packing: PackedLayout, *, scale: float, causal: bool
) -> Tensor:
    """Attention by PyTorch's own kernel. Causal rows can't see the padding behind them, so they need no mask."""
    q, k, v = (x.transpose(1, 2) for x in _padded(query, key, value, packing))
    out = F.scaled_dot_product_attention(
        q,
        k,
        v,
        attn_mask=None if causal else packing.mask,
        is_causal=causal,
        scale=scale,
        enable_gqa=q.shape[1] != k.shape[1],
    )
    return _packed(out, packing)


def _written_out(  # noqa: PLR0913 - attention's own arguments
    query: Tensor, key: Tensor, value: Tensor, packing: PackedLayout, *, scale: float, causal: bool
) -> Tensor:
    """Attention in plain operations, for ONNX. The exporter's own translation guards against rows without keys, which
    costs two passes over all scores. Such rows can't happen here, because slots past the end see what their last token
    sees."""
    q, k, v = _padded(query, key, value, packing)
    groups = q.shape[2] // k.shape[2]
    if groups > 1:
        k, v = (x.repeat_interleave(groups, dim=2) for x in (k, v))
    q = q * scale
    if not causal:
        q, k = (
            torch.cat([x, mask.expand(-1, -1, x.shape[2], -1)], dim=-1)
            for x, mask in ((q, packing.query_mask), (k, packing.key_mask))
        )
    scores = q.transpose(1, 2) @ k.permute(0, 2, 3, 1)
    scores = scores + packing.causal_bias if causal else scores
    return _packed(scores.softmax(dim=-1) @ v.transpose(1, 2), packing)


def _interface(  # noqa: PLR0913 - the signature is transformers'
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    *,
    packing: PackedLayout | SharedLayout,
    scaling: float | None = None,
    sliding_window: int | None = None,
    **options: Any,
) -> tuple[Tensor, None]:
    """Packed attention behind transformers' interface: from `[1, heads, T, d]` to `[1, T, heads, d]`. The option
    `within_window` says that no sequence is longer than a sliding window, which then hides nothing. The backbone's
    attention dropout is ignored, because it would take PyTorch's kernel off its fused path."""
    if attention_mask is not None:
        raise CheckpointError("packed attention makes its own mask; the backbone passed another one")
    q, k, v = (x.transpose(1, 2).squeeze(0) for x in (query, key, value))
    scale = scaling if scaling is not None else q.shape[-1] ** -0.5
    if isinstance(packing, SharedLayout):
        out = shared_attention(q, k, v, packing, scale=scale, window=sliding_window)
    elif sliding_window is not None and not options.get("within_window"):
        raise CheckpointError("backbones with sliding-window attention aren't supported")
    else:
        causal = bool(getattr(module, "is_causal", False))
        out = packed_attention(q, k, v, packing, scale=scale, causal=causal)
    return out[None].unflatten(-1, q.shape[1:]), None


AttentionInterface.register(PACKED_ATTENTION, _interface)
