"""Packed batches: where sequences begin and end in an array of tokens."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]


@dataclass(frozen=True)
class Packing:
    """Sequences that lie end to end.

    Attributes:
        cu_seqlens: int64 [B+1], starts at 0, strictly increasing, ends at T.
    """

    cu_seqlens: npt.NDArray[np.int64]

    @classmethod
    def of(cls, cu_seqlens: npt.ArrayLike, tokens: int) -> Packing:
        """Check `cu_seqlens` against T = `tokens`.

        Raises:
            ValueError: not integers of rank 1, doesn't run from 0 to T, or holds an empty sequence.
        """
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
