"""A two-label chain in its plainest form: one field a token, one coupling.

With labels 0 and 1 any potential A[y, y'] is A[0,0] + (A[0,1] - A[0,0]) y' + (A[1,0] - A[0,0]) y + J y y', where
J = A[0,0] + A[1,1] - A[0,1] - A[1,0]. A linear-chain CRF is therefore

    score(y) = base + Σ_i h_i y_i + J Σ_{i>1} y_{i-1} y_i

and everything asked of it depends on the fields h and the coupling J; base, the score of pruning everything, is a
constant of the sequence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import array_api_compat
import numpy as np

from lamr_decoding.namespaces import namespace_of
from lamr_decoding.packing import Array, Packing, like


class Potentials(Protocol):
    """A CRF's parameters, arrays of any float dtype (`lamr_decoding.crf.LinearChainCrf`)."""

    @property
    def transitions(self) -> Array:
        """[2, 2], from row to column."""

    @property
    def start(self) -> Array:
        """[2]."""

    @property
    def end(self) -> Array:
        """[2]."""


@dataclass(frozen=True)
class Chain:
    """The chains of a packed batch.

    Attributes:
        fields: float64 [T], h.
        coupling: float64, 0-d, J. Positive where neighbours attract each other.
        packing: where the chains begin and end.
    """

    fields: Array
    coupling: Array
    packing: Packing

    @classmethod
    def of(cls, emissions: Array, packing: Packing, crf: Potentials) -> Chain:
        """From emissions [T, 2]; differentiable for torch.

        Raises:
            ValueError: an emission is NaN or infinite.
        """
        transitions, start, end = (_wide(part, emissions) for part in (crf.transitions, crf.start, crf.end))
        after_prune = transitions[0, 1] - transitions[0, 0]
        before_prune = transitions[1, 0] - transitions[0, 0]
        fields = packing.with_ends(
            _margins(emissions) + (after_prune + before_prune),
            start[1] - start[0] - after_prune,
            end[1] - end[0] - before_prune,
        )
        return cls(fields, transitions[1, 1] - transitions[1, 0] - after_prune, packing)

    @property
    def differentiable(self) -> bool:
        """Whether torch wants derivatives by these fields or this coupling."""
        return any(getattr(values, "requires_grad", False) for values in (self.fields, self.coupling))

    def plain(self) -> Chain:
        """The same chains without a graph: numpy arrays if they are in main memory, else where they are."""
        if array_api_compat.is_numpy_array(self.fields):
            return self
        fields, coupling = self.fields.detach(), self.coupling.detach()
        if fields.device.type == "cpu":
            fields, coupling = fields.numpy(), coupling.numpy()
        return Chain(fields, coupling, self.packing)

    def scores(self, keep: Array) -> Array:
        """Σ h_i y_i + J Σ y_{i-1} y_i over each sequence, float64 [B], for y = `keep` (bool [T])."""
        xp = namespace_of(self.fields)
        both = keep & xp.roll(keep, 1) & ~like(self.packing.first, keep)
        labels, pairs = (xp.astype(mask, xp.float64) for mask in (keep, both))
        return self.packing.sums(self.fields * labels + self.coupling * pairs)


def _wide(values: Array, other: Array) -> Array:
    """`values` in float64 beside `other`; keeps torch's graph."""
    xp = namespace_of(other)
    return xp.astype(like(values, other), xp.float64)


def _margins(emissions: Array) -> Array:
    """Emission of keep minus that of prune, float64 [T], checked to be finite."""
    if array_api_compat.is_numpy_array(emissions):
        margins = np.subtract(emissions[:, 1], emissions[:, 0], dtype=np.float64)
    else:
        margins = _wide(emissions[:, 1], emissions) - _wide(emissions[:, 0], emissions)
    xp = namespace_of(emissions)
    if not bool(xp.isfinite(xp.sum(margins))):
        finite = xp.isfinite(margins)
        if not bool(xp.all(finite)):
            at = int(xp.argmin(xp.astype(finite, xp.uint8)))
            raise ValueError(
                f"emissions must be finite; token {at} has {float(emissions[at, 0])} and {float(emissions[at, 1])}: "
                "look for overflow in the encoder (float16?) or broken weights"
            )
    return margins
