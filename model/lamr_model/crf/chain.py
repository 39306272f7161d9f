"""The parameters of a CRF, and a two-label chain in its plainest form: one field a token, one coupling.

With labels 0 and 1 any potential A[y, y'] is A[0,0] + (A[0,1] - A[0,0]) y' + (A[1,0] - A[0,0]) y + J y y', where
J = A[0,0] + A[1,1] - A[0,1] - A[1,0]. A linear-chain CRF is therefore

    score(y) = base + Σ_i h_i y_i + J Σ_{i>1} y_{i-1} y_i

and everything asked of it depends on the fields h and the coupling J; base, the score of pruning everything, is a
constant of the sequence."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt
from lamr_base.records import dataclass

from lamr_model.crf.layers import Array
from lamr_model.crf.maps import MOST_POTENTIAL


@dataclass(frozen=True)
class Packing:
    """Sequences that lie end to end."""

    cu_seqlens: npt.NDArray[np.int64]  # [B+1], starts at 0, strictly increasing, ends at T

    @classmethod
    def of(cls, cu_seqlens: npt.ArrayLike, tokens: int) -> Packing:
        """Check `cu_seqlens` against T = `tokens`. Raises `ValueError`: not integers of rank 1, doesn't run from 0 to
        T, or holds an empty sequence."""
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


@dataclass(frozen=True)
class LinearChainCrf:
    """Log-potentials that don't depend on the token.

    Attributes:
        transitions: [2, 2], from label (row) to label (column).
        start: [2], of the first token's label.
        end: [2], of the last token's label.

    Raises:
        ValueError: a wrong shape, or a potential that isn't finite or exceeds ±32768: a broken
            checkpoint."""

    transitions: Array
    start: Array
    end: Array

    def __post_init__(self) -> None:
        for name, shape in (("transitions", (2, 2)), ("start", (2,)), ("end", (2,))):
            values = getattr(self, name)
            if not isinstance(values, np.ndarray):
                raise ValueError(f"CRF {name} must be an array, not {type(values).__name__}")
            if values.shape != shape:
                raise ValueError(f"CRF {name} must have shape {list(shape)}, not {list(values.shape)}")
            # A comparison with NaN is false, so this catches NaN and infinities as well.
            if not (np.abs(values) <= MOST_POTENTIAL).all():
                raise ValueError(
                    f"CRF {name} must be finite and within ±{MOST_POTENTIAL:.0f}; retrain or re-export"
                )


@dataclass(frozen=True)
class Chain:
    """The chains of a packed batch."""

    fields: npt.NDArray[np.float64]  # [T], h
    coupling: float  # J. Positive where neighbours attract each other.
    packing: Packing  # where the chains begin and end

    @classmethod
    def of(cls, emissions: Array, packing: Packing, crf: LinearChainCrf) -> Chain:
        """From emissions [T, 2]. Raises `ValueError`: an emission is NaN or infinite."""
        transitions, start, end = (part.astype(np.float64) for part in (crf.transitions, crf.start, crf.end))
        after_prune = transitions[0, 1] - transitions[0, 0]
        before_prune = transitions[1, 0] - transitions[0, 0]
        fields = _margins(emissions) + (after_prune + before_prune)
        fields[packing.cu_seqlens[:-1]] += start[1] - start[0] - after_prune
        fields[packing.cu_seqlens[1:] - 1] += end[1] - end[0] - before_prune
        return cls(fields, float(transitions[1, 1] - transitions[1, 0] - after_prune), packing)


def _margins(emissions: Array) -> npt.NDArray[np.float64]:
    """Emission of keep minus that of prune, float64 [T], checked to be finite."""
    margins = np.subtract(emissions[:, 1], emissions[:, 0], dtype=np.float64)
    if not np.isfinite(margins.sum()) and not (finite := np.isfinite(margins)).all():
        at = int(finite.argmin())
        raise ValueError(
            f"emissions must be finite; token {at} has {float(emissions[at, 0])} and {float(emissions[at, 1])}: "
            "look for overflow in the encoder (float16?) or broken weights"
        )
    return margins
