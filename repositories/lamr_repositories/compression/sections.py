"""Cuts a function into sections where its lines' perplexity jumps, as the paper's fine stage does.

A line's perplexity is that of its tokens after all lines before it. A section (the paper says *block*) ends with a line
that is harder to foresee than both lines around it, and than one of them by more than the usual spread.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from lamr_contract.arrays import Float64Array
from lamr_postprocess.lines import IntArray

from lamr_repositories.compression.perplexity import Perplexity

FALLBACK = 0.5
"""The jump that counts where fewer than three lines have a perplexity, in bits."""
_LEAST_LINES = 3
_ROBUST = 1.4826
"""What the median absolute deviation is multiplied with to estimate a standard deviation."""
_GAP = re.compile(r"\n{2,}")


def _deviation(values: Float64Array) -> float:
    return float(np.median(np.abs(values - np.median(values))))


def _quartile(values: Float64Array, weight: float) -> float:
    low, high = np.percentile(values, [25, 75])
    return float(high + weight * (high - low))


SPREADS: dict[str, Callable[[Float64Array, float], float]] = {
    "std": lambda values, weight: float(values.mean() + weight * values.std()),
    "robust_std": lambda values, weight: float(np.median(values)) + weight * _ROBUST * _deviation(values),
    "iqr": _quartile,
    "mad": lambda values, weight: float(np.median(values)) + weight * _deviation(values),
}
"""The published thresholds by name; the first is the default. Each gives the jump that counts from the perplexities of
a function's lines, in bits, and the weight of their spread."""


@dataclass(frozen=True, eq=False)
class Sections:
    """A function's N lines in n sections.

    Attributes:
        lines: the N lines as the model reads them, without line ends; some blank ones are a single space.
        bounds: int64 `[n + 1]`, the first line of each section, and N.
    """

    lines: tuple[str, ...]
    bounds: IntArray

    @property
    def texts(self) -> list[str]:
        """The sections' texts."""
        return ["\n".join(self.lines[a:b]) for a, b in itertools.pairwise(self.bounds.tolist())]


def lines_of(text: str) -> tuple[str, ...]:
    """Return a text's lines as the published code reads them: every second blank line is a single space."""

    def spaced(match: re.Match[str]) -> str:
        newlines = len(match[0])
        return "\n \n" * (newlines // 2) + "\n" * (newlines % 2)

    return tuple(_GAP.sub(spaced, text).split("\n"))


def cut_sections(text: str, model: Perplexity, spread: str, weight: float) -> Sections:
    """Cut a function into sections.

    Args:
        text: the function.
        model: gives perplexities.
        spread: a key of `SPREADS`.
        weight: of the spread.

    Raises:
        ServerError, ModelMismatchError: see `Perplexity.mean_losses`.
    """
    lines = lines_of(text)
    bits = _bits(lines, model)
    known = bits[np.isfinite(bits) & (bits > 0)]
    threshold = SPREADS[spread](known, weight) if len(known) >= _LEAST_LINES else FALLBACK
    ends = _jumps(bits, threshold) + 1
    bounds = np.concatenate([[0], ends, [len(lines)]]).astype(np.int64)
    return Sections(lines, bounds)


def _bits(lines: tuple[str, ...], model: Perplexity) -> Float64Array:
    """Return the binary logarithm of each line's perplexity; 0 if it is empty, infinite without a token of its own."""
    befores = ["", *(before + "\n" for before in itertools.accumulate(lines[:-1], lambda a, b: f"{a}\n{b}"))]
    inked = [place for place, line in enumerate(lines) if line]
    # The published code reads no context where all lines before are empty and there is only one of them.
    targets = [
        model.after(befores[place], lines[place])
        if befores[place] not in ("", "\n")
        else model.alone(lines[place])
        for place in inked
    ]
    bits = np.zeros(len(lines))
    losses = model.mean_losses(targets)
    bits[inked] = np.where(np.isnan(losses), np.inf, losses / math.log(2))
    return bits


def _jumps(bits: Float64Array, threshold: float) -> IntArray:
    """Return the lines at which perplexity jumps; neighbours without a known one don't count."""
    own, left, right = bits[1:-1], bits[:-2], bits[2:]
    with np.errstate(invalid="ignore"):
        rises = np.stack([np.where(np.isfinite(side), own - side, 0.0) for side in (left, right)])
        jumps = np.isfinite(own) & (rises >= 0).all(axis=0) & (rises >= threshold).any(axis=0)
    return np.flatnonzero(jumps) + 1
