"""Attention over a packed batch in which sequences that begin alike have their common beginning once.

Each group of such sequences lies as one run of rows: the tokens that all share, then what each one goes on with. A row
sees the shared rows and its own sequence's rows before it. No row is padding."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from lamr_model.encoder.packed_batch import sequence_bounds
from lamr_model.perplexity.causal_scorer import IntArray
from torch import Tensor
from torch.nn import functional as F

# Tokens that sequences must share to be read together: a token that begins every text is no reason
LEAST_SHARED = 16


@dataclass(frozen=True)
class PrefixGroup:
    """Sequences with a common beginning."""

    places: tuple[int, ...]  # of the sequences among all, at least one
    shared: int  # the number of tokens that they all begin with. Each has at least one more
    rests: tuple[int, ...]  # how many more tokens each one has

    @property
    def tokens(self) -> int:
        """How many tokens are read for all of them."""
        return self.shared + sum(self.rests)


def prefix_groups(sequences: Sequence[IntArray], most_tokens: int) -> list[PrefixGroup]:
    """Group sequences so that few tokens are read. Shapes: `sequences` int64 `[t]`."""
    order = sorted(range(len(sequences)), key=lambda place: sequences[place].astype(">u4").tobytes())
    found: list[PrefixGroup] = []
    for place in order:
        joined = _joined(found[-1], place, sequences) if found else None
        if joined is not None and joined.tokens <= most_tokens:
            found[-1] = joined
        else:
            found.append(PrefixGroup((place,), len(sequences[place]), (0,)))
    return found


def _joined(group: PrefixGroup, place: int, sequences: Sequence[IntArray]) -> PrefixGroup | None:
    """The group with one sequence more; None where more tokens would be read than by themselves."""
    members = (*group.places, place)
    lengths = [len(sequences[member]) for member in members]
    common = _common(sequences[group.places[-1]], sequences[place])
    shared = min(common, group.shared, min(lengths) - 1)
    rests = tuple(length - shared for length in lengths)
    joined = PrefixGroup(members, shared, rests)
    return joined if shared >= LEAST_SHARED and joined.tokens < group.tokens + lengths[-1] else None


def _common(one: IntArray, other: IntArray) -> int:
    most = min(len(one), len(other))
    different = np.flatnonzero(one[:most] != other[:most])
    return int(different[0]) if len(different) else most


def fill(found: Iterable[PrefixGroup], most_tokens: int) -> list[list[PrefixGroup]]:
    """Put groups into batches of at most so many tokens, those of like length together; a larger one goes alone."""
    batches: list[list[PrefixGroup]] = []
    held = 0
    for group in sorted(found, key=lambda each: each.tokens):
        held += group.tokens
        if not batches or held > most_tokens:
            batches.append([])
            held = group.tokens
        batches[-1].append(group)
    return batches


@dataclass(frozen=True)
class SharedLayout:
    """Where the tokens of a batch of groups belong."""

    position: Tensor  # int64 `[T]`, each row's place in its sequence, from 0
    runs: tuple[tuple[int, int, int], ...]
    owner: Tensor  # int64 `[T]`, the sequence of each row; -1 for shared rows

    @classmethod
    def of(cls, batch: Sequence[PrefixGroup]) -> SharedLayout:
        """Lay out groups one after another."""
        lengths = [length for group in batch for length in (group.shared, *group.rests)]
        begins = [at for group in batch for at in (0, *[group.shared] * len(group.rests))]
        owners = [at for group in batch for at in (-1, *group.places)]
        within = np.concatenate([np.arange(length) for length in lengths])
        bounds = sequence_bounds([group.tokens for group in batch]).tolist()
        return cls(
            position=torch.from_numpy(within + np.repeat(begins, lengths)),
            runs=tuple(
                (first, first + group.shared, first + group.tokens)
                for first, group in zip(bounds[:-1], batch, strict=True)
            ),
            owner=torch.from_numpy(np.repeat(owners, lengths)),
        )

    def to(self, device: str) -> SharedLayout:
        """The same layout with its tensors on a device."""
        return SharedLayout(self.position.to(device), self.runs, self.owner.to(device))


def laid_out(batch: Sequence[PrefixGroup], sequences: Sequence[IntArray]) -> IntArray:
    """The rows' token ids, int64 `[T]`."""
    parts = []
    for group in batch:
        parts.append(sequences[group.places[0]][: group.shared])
        parts += [sequences[place][group.shared :] for place in group.places]
    return np.concatenate(parts)


def rows_of(batch: Sequence[PrefixGroup]) -> dict[int, IntArray]:
    """The rows of each sequence's tokens in order, int64 `[t]`, by the sequence's place."""
    found: dict[int, IntArray] = {}
    first = 0
    for group in batch:
        shared = np.arange(first, first + group.shared)
        ends = first + group.shared + sequence_bounds(group.rests)
        for place, start, end in zip(group.places, ends[:-1], ends[1:], strict=True):
            found[place] = np.concatenate([shared, np.arange(start, end)])
        first += group.tokens
    return found


def shared_attention(  # noqa: PLR0913 - attention's own arguments
    query: Tensor, key: Tensor, value: Tensor, layout: SharedLayout, *, scale: float, window: int | None
) -> Tensor:
    """Causal attention within each sequence of a batch of groups. Shapes: `query` `[T, heads, d]`, `key`, `value` `[T,
    key_heads, d]`; returns `[T, heads * d]`."""
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
