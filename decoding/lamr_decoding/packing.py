"""Packed batches: where sequences begin and end in an array of tokens, and sums over each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import array_api_compat
import numpy as np
import numpy.typing as npt

from lamr_decoding.namespaces import namespace_of

Array: TypeAlias = Any  # an array of any namespace that array-api-compat knows; numpy and torch are tested
Namespace: TypeAlias = Any


@dataclass(frozen=True)
class Packing:
    """Sequences that lie end to end.

    Attributes:
        cu_seqlens: int64 [B+1], starts at 0, strictly increasing, ends at T.
    """

    cu_seqlens: npt.NDArray[np.int64]

    @classmethod
    def of(cls, cu_seqlens: Any, tokens: int) -> Packing:
        """Check `cu_seqlens` (a list, or an array of any namespace and device) against T = `tokens`.

        Raises:
            ValueError: not integers of rank 1, doesn't run from 0 to T, or holds an empty sequence.
        """
        if array_api_compat.is_torch_array(cu_seqlens):
            cu_seqlens = array_api_compat.to_device(cu_seqlens, "cpu")
        ends = np.asarray(cu_seqlens)
        if ends.ndim != 1 or ends.size < 2 or not np.issubdtype(ends.dtype, np.integer):
            raise ValueError(
                f"cu_seqlens must be integers of shape [B+1] with B >= 1, not {ends.dtype} {list(ends.shape)}"
            )
        ends = ends.astype(np.int64)
        if ends[0] != 0 or ends[-1] != tokens:
            raise ValueError(
                f"cu_seqlens must run from 0 to the number of tokens, {tokens}, not from {ends[0]} to {ends[-1]}"
            )
        lengths = np.diff(ends)
        if lengths.min() < 1:
            at = int(np.argmax(lengths < 1))
            raise ValueError(
                f"cu_seqlens must increase strictly: sequence {at} has {lengths[at]} tokens; "
                "leave empty sequences out of the batch"
            )
        return cls(ends)

    @property
    def tokens(self) -> int:
        """T, over all sequences."""
        return int(self.cu_seqlens[-1])

    @cached_property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Tokens of each sequence, int64 [B]."""
        return np.diff(self.cu_seqlens)

    @cached_property
    def first(self) -> npt.NDArray[np.bool_]:
        """Whether a token opens its sequence, bool [T]."""
        mask = np.zeros(self.tokens, dtype=np.bool_)
        mask[self.cu_seqlens[:-1]] = True
        return mask

    @cached_property
    def last(self) -> npt.NDArray[np.bool_]:
        """Whether a token closes its sequence, bool [T]."""
        mask = np.zeros(self.tokens, dtype=np.bool_)
        mask[self.cu_seqlens[1:] - 1] = True
        return mask

    def sums(self, values: Array) -> Array:
        """Sum of `values` [T] over each sequence, [B]; differentiable for torch.

        Each sequence is summed by itself: differences of one running sum would leak the rounding of long or
        large sequences into their neighbours.
        """
        if array_api_compat.is_torch_array(values):
            xp = namespace_of(values)
            lengths = xp.asarray(self.lengths, device=array_api_compat.device(values))
            return xp.segment_reduce(values, "sum", lengths=lengths)
        return np.add.reduceat(values, self.cu_seqlens[:-1])

    def with_ends(self, values: Array, at_first: Array, at_last: Array) -> Array:
        """`values` [T] plus `at_first` on first tokens and `at_last` on last ones. numpy: in place."""
        if array_api_compat.is_numpy_array(values):
            values[self.cu_seqlens[:-1]] += at_first
            values[self.cu_seqlens[1:] - 1] += at_last
            return values
        xp = namespace_of(values)
        first, last = (xp.astype(like(mask, values), values.dtype) for mask in (self.first, self.last))
        return values + first * at_first + last * at_last


def like(values: Array, other: Array) -> Array:
    """`values` (numpy, or of the namespace of `other`) in the namespace and on the device of `other`."""
    if array_api_compat.is_numpy_array(other):
        return values
    device = array_api_compat.device(other)
    if array_api_compat.is_numpy_array(values):
        return namespace_of(other).asarray(values, device=device)
    return array_api_compat.to_device(values, device)
