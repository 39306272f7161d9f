"""Attention over a packed batch: sequences end to end, each one attending to itself only.

Linear layers, norms and activations see the packed `[T, …]` rows, hence no padding; only here are q, k and v
laid out as `[B, heads, L, d]`, by one gather each, and the result is gathered back. The function is registered
with transformers' attention interface, so any backbone that takes it can be packed. This module knows cumulative
lengths and masks; it knows no model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import AttentionInterface

from lamr_export.errors import CheckpointError

PACKED_ATTENTION = "lamr_packed"


@dataclass(frozen=True)
class Packing:
    """Where the tokens of a packed batch belong; all indices int64.

    Attributes:
        sequence: `[T]`, the sequence of each token.
        position: `[T]`, its place in that sequence, from 0.
        starts: `[B]`, first token of each sequence.
        lasts: `[B]`, last token of each sequence.
        to_padded: `[B * L]`, the token of every padded slot; slots past a sequence's end repeat its last token, so
            that not even NaN gets from one sequence into another.
        to_packed: `[T]`, the padded slot of each token.
        key_mask: bool `[B, 1, 1, L]`, True where a slot holds a token of its sequence.
        key_bias: `[B, 1, 1, L]`, 0 there and the dtype's lowest number elsewhere.
        causal_bias: `[L, L]`, 0 at and before the diagonal and the dtype's lowest number after it.
    """

    sequence: Tensor
    position: Tensor
    starts: Tensor
    lasts: Tensor
    to_padded: Tensor
    to_packed: Tensor
    key_mask: Tensor
    key_bias: Tensor
    causal_bias: Tensor

    @classmethod
    def of(cls, cu_seqlens: Tensor, max_len: Tensor, tokens: int, limit: int | None = None) -> Packing:
        """Lay out a batch.

        Args:
            cu_seqlens: int `[B + 1]`, from 0 to T.
            max_len: `[L]`, L the longest sequence; the values are never read, the dtype is that of `key_bias`.
            tokens: T.
            limit: L is at most this much; what a longer sequence has beyond it shares the last slot.
        """
        bounds = cu_seqlens.to(torch.int64)
        slots = max_len.shape[0] if limit is None else torch.sym_min(max_len.shape[0], limit)
        return cls._laid_out(bounds[:-1], bounds[1:], slots, tokens, max_len.dtype)

    def split(self, counts: Tensor) -> Packing:
        """The same tokens with every sequence in two, which don't attend to each other and count their places anew.

        Args:
            counts: int64 `[B]`, tokens of the first part, at least 1; the second may be empty.

        Returns:
            Of 2B sequences, both parts of one after the other.
        """
        middle, ends = self.starts + counts, self.lasts + 1
        starts, ends = (
            torch.stack(pair, dim=1).reshape(-1) for pair in ((self.starts, middle), (middle, ends))
        )
        return self._laid_out(
            starts, ends, self.key_mask.shape[-1], self.sequence.shape[0], self.key_bias.dtype
        )

    @classmethod
    def _laid_out(
        cls, starts: Tensor, ends: Tensor, slots: int | torch.SymInt, tokens: int, dtype: torch.dtype
    ) -> Packing:
        token = torch.arange(tokens, device=starts.device)
        slot = torch.arange(slots, device=starts.device)
        sequence = (token[:, None] >= ends[None, :]).to(torch.int64).sum(dim=1)
        position = (token - starts.index_select(0, sequence)).clamp(max=slots - 1)
        key_mask = slot[None, :] < (ends - starts)[:, None]
        later = slot[None, :] > slot[:, None]
        lowest = torch.finfo(dtype).min
        return cls(
            sequence=sequence,
            position=position,
            starts=starts,
            lasts=ends - 1,
            to_padded=torch.minimum(starts[:, None] + slot[None, :], ends[:, None] - 1).reshape(-1),
            to_packed=sequence * slots + position,
            key_mask=key_mask[:, None, None, :],
            key_bias=((~key_mask).to(dtype) * lowest)[:, None, None, :],
            causal_bias=later.to(dtype) * lowest,
        )


def packed_attention(  # noqa: PLR0913 - attention's own arguments
    query: Tensor, key: Tensor, value: Tensor, packing: Packing, *, scale: float, causal: bool
) -> Tensor:
    """Attention within each sequence.

    Args:
        query: `[T, heads, d]`.
        key, value: `[T, key_heads, d]`, key_heads a divisor of heads (grouped-query attention).
        packing: the batch's layout.
        scale: factor on the scores.
        causal: whether a token sees only itself and what precedes it.

    Returns:
        `[T, heads * d]`.
    """
    batch, slots = packing.key_mask.shape[0], packing.key_mask.shape[-1]
    q, k, v = (
        x.flatten(1).index_select(0, packing.to_padded).view(batch, slots, *x.shape[1:]).transpose(1, 2)
        for x in (query, key, value)
    )
    attend = _written_out if torch.compiler.is_exporting() else _fused
    out = attend(q, k, v, packing, scale=scale, causal=causal)
    return out.transpose(1, 2).reshape(batch * slots, -1).index_select(0, packing.to_packed)


def _fused(q: Tensor, k: Tensor, v: Tensor, packing: Packing, *, scale: float, causal: bool) -> Tensor:  # noqa: PLR0913
    """PyTorch's own kernel. Causal rows can't see the padding behind them, so they need no mask of keys."""
    return F.scaled_dot_product_attention(
        q,
        k,
        v,
        attn_mask=None if causal else packing.key_mask,
        is_causal=causal,
        scale=scale,
        enable_gqa=q.shape[1] != k.shape[1],
    )


def _written_out(q: Tensor, k: Tensor, v: Tensor, packing: Packing, *, scale: float, causal: bool) -> Tensor:  # noqa: PLR0913
    """The same in four operations, for ONNX: the exporter's own translation guards against rows without keys,
    which costs two passes over all scores and can't happen here (slots past the end see their sequence's keys).
    """
    groups = q.shape[1] // k.shape[1]
    if groups > 1:
        k, v = (x.repeat_interleave(groups, dim=1) for x in (k, v))
    scores = (q * scale) @ k.transpose(-1, -2) + (packing.causal_bias if causal else packing.key_bias)
    return scores.softmax(dim=-1) @ v


def _interface(  # noqa: PLR0913 - the signature is transformers'
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    *,
    packing: Packing,
    scaling: float | None = None,
    sliding_window: int | None = None,
    **_: Any,
) -> tuple[Tensor, None]:
    """transformers' attention interface: `[1, heads, T, d]` in, `[1, T, heads, d]` out.

    The backbone's attention dropout is ignored: it would take SDPA off its fused path.
    """
    if attention_mask is not None:
        raise CheckpointError("packed attention makes its own mask; the backbone passed another one")
    if sliding_window is not None:
        raise CheckpointError("backbones with sliding-window attention aren't supported")
    q, k, v = (x.transpose(1, 2).squeeze(0) for x in (query, key, value))
    scale = scaling if scaling is not None else q.shape[-1] ** -0.5
    out = packed_attention(q, k, v, packing, scale=scale, causal=bool(getattr(module, "is_causal", False)))
    return out[None].unflatten(-1, q.shape[1:]), None


AttentionInterface.register(PACKED_ATTENTION, _interface)
