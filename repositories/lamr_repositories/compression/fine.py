"""LongCodeZip's fine stage: functions are cut into sections where perplexity jumps, and some of these are kept.

A line's perplexity is that of its tokens after all lines before it. A section (the paper says *block*) ends with a line
that is harder to foresee than both lines around it, and than one of them by more than the usual spread. The more a
function tells about the question, the more of it is kept: its most valuable sections within its tokens (0/1
knapsack)."""

import itertools
import math
import re
from collections.abc import Collection, Sequence

import numpy as np
from lamr_base.arrays import Float64Array
from lamr_base.expressions import expression
from lamr_base.records import dataclass
from lamr_postprocess.lines import IntArray

from lamr_repositories.compression.perplexity import Perplexity

FALLBACK = 0.5
"""The jump that counts where fewer than three lines have a perplexity, in bits."""
_LEAST_LINES = 3
_SPREAD = 0.2  # how many standard deviations above the mean a jump must be
_GAP = expression(r"\n{2,}")


@dataclass(frozen=True, eq=False)
class Sections:
    """A function's N lines in n sections."""

    lines: tuple[str, ...]  # as the model reads them; some blank ones are a single space
    bounds: IntArray  # int64 `[n + 1]`, the first line of each section, and N

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


def cut_sections(text: str, model: Perplexity) -> Sections:
    """Cut a function into sections."""
    lines = lines_of(text)
    bits = _bits(lines, model)
    known = bits[np.isfinite(bits) & (bits > 0)]
    threshold = float(known.mean() + _SPREAD * known.std()) if len(known) >= _LEAST_LINES else FALLBACK
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


WHOLE = 0.999
"""A function with such a share is kept whole."""


def rates(
    scores: Sequence[float], lines: Sequence[int], ratio: float, beta: float, min_lines: int
) -> Float64Array:
    """Return the share of each of n functions that is kept, float64 `[n]`, from 0 to 1.

    Short functions are kept whole. The others share what remains of the lines: each gets the mean share times 1 - beta
    to 1 + beta, from the least to the best score, and all are scaled so that the sum fits."""
    count, value = np.asarray(lines, np.int64), np.asarray(scores, np.float64)
    large = count >= min_lines
    result = np.ones(len(count))
    target = max(0, int(count.sum() * ratio) - int(count[~large].sum()))
    whole = int(count[large].sum())
    if target >= whole:
        return result
    result[large] = _shared(value[large], count[large].astype(np.float64), target, beta)
    return result


def _shared(scores: Float64Array, lines: Float64Array, target: int, beta: float) -> Float64Array:
    """Return the shares of functions which have more lines together than is aimed at."""
    mean = target / lines.sum()
    finite = np.isfinite(scores)
    least, best = (scores[finite].min(), scores[finite].max()) if finite.any() else (0.0, 0.0)
    if least == best:
        return np.full(len(scores), mean)
    rank = np.where(finite, (np.where(finite, scores, least) - least) / (best - least), 0.0)
    shares: Float64Array = np.clip(mean * (1 + beta * (rank - 0.5) * 2), 0.0, 1.0)
    kept = float(shares @ lines)
    return np.clip(shares * (target / kept), 0.0, 1.0) if kept > 0 and abs(kept - target) > 1 else shares


MOST_ITEMS, MOST_CAPACITY = 100, 2000
"""Beyond so many sections or tokens sections are taken in falling order of value a token, as in the published code."""


def knapsack(values: Float64Array, weights: Sequence[int], capacity: int, kept: Collection[int]) -> set[int]:
    """Return the places of the sections that are kept within a capacity of tokens; those kept anyway may exceed it."""
    room = max(0, capacity - sum(weights[place] for place in kept))
    if not room:
        return set(kept)
    free = [place for place in range(len(weights)) if place not in kept]
    value = np.where(np.isfinite(values), values, 0.0)
    weight = np.asarray(weights, np.int64)
    density = value[free] / np.maximum(weight[free], 1)
    order = np.asarray(free, np.int64)[np.argsort(-density, kind="stable")]
    solve = _exact if len(order) <= MOST_ITEMS and room <= MOST_CAPACITY else _greedy
    return {*kept, *solve(order, value[order], weight[order], room)}


def _exact(order: IntArray, value: Float64Array, weight: IntArray, room: int) -> list[int]:
    """Return the most valuable set: the best value within each number of tokens grows by one section a step."""
    best = np.zeros(room + 1)
    taken = np.zeros((len(order), room + 1), np.bool_)
    for step, (own, tokens) in enumerate(zip(value.tolist(), weight.tolist(), strict=True)):
        if tokens <= room:
            with_it = best.copy()
            with_it[tokens:] = np.maximum(best[tokens:], best[: room + 1 - tokens] + own)
            taken[step] = with_it != best
            best = with_it
    chosen = []
    for step in reversed(range(len(order))):
        if taken[step, room]:
            chosen.append(int(order[step]))
            room -= int(weight[step])
    return chosen


def _greedy(order: IntArray, _value: Float64Array, weight: IntArray, room: int) -> list[int]:
    chosen = []
    for place, tokens in zip(order.tolist(), weight.tolist(), strict=True):
        if tokens <= room:
            chosen.append(place)
            room -= tokens
    return chosen
