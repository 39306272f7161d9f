"""Bootstrap over clusters: how far a figure could be another if other files, or other sessions, had been drawn.

Whole clusters are drawn, since what belongs together shares what is hard or dear about it. Figures that are computed
from the same draws can be compared in pairs."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lamr_base.records import dataclass

FloatArray = NDArray[np.float64]
INTERVAL = (2.5, 97.5)
"""Percentiles of the bounds: 95 % lie between them."""
LEAST = 5
"""Clusters below which there is no interval: so few say too little of how much they differ."""


@dataclass(frozen=True)
class Bootstrap:
    """How intervals are computed."""

    draws: int = 5_000
    seed: int = 0


BOOTSTRAP = Bootstrap()


@dataclass(frozen=True)
class Interval:
    """A figure and the bounds of its 95 % interval; NaN where there is nothing to compute it from."""

    value: float
    low: float
    high: float


def members(clusters: ArrayLike) -> tuple[NDArray[np.intp], int]:
    """The cluster of each item as a number from 0, and how many clusters there are."""
    _, member = np.unique(np.asarray(clusters), return_inverse=True)
    return member, int(member.max(initial=-1)) + 1


def drawn(groups: int, bootstrap: Bootstrap = BOOTSTRAP) -> NDArray[np.int64]:
    """How often each cluster is drawn, int `[draws, groups]`; the same for the same arguments."""
    rng = np.random.default_rng(bootstrap.seed)
    return rng.multinomial(groups, np.full(groups, 1 / groups), size=bootstrap.draws)


def ratio(
    parts: ArrayLike, wholes: ArrayLike, clusters: ArrayLike, bootstrap: Bootstrap = BOOTSTRAP
) -> Interval:
    """The share that the sum of parts has of the sum of wholes, with its interval.

    For two methods on the same items, the difference of their parts gives the paired difference of their shares. Fewer
    than `LEAST` clusters give no interval.

    Args:
        parts, wholes: float `[items]`.
        clusters: `[items]`, equal for items that are drawn together.
        bootstrap: draws and seed."""
    member, groups = members(clusters)
    if not groups:
        return Interval(np.nan, np.nan, np.nan)
    sums = np.zeros((groups, 2))
    np.add.at(sums, member, np.stack([np.asarray(parts, np.float64), np.asarray(wholes, np.float64)], axis=1))
    with np.errstate(invalid="ignore", divide="ignore"):
        part, whole = sums.sum(axis=0)
        value = float(part / whole) if whole else np.nan
        if groups < LEAST:
            return Interval(value, np.nan, np.nan)
        again = drawn(groups, bootstrap) @ sums
        shares = again[:, 0] / again[:, 1]
    shares = shares[np.isfinite(shares)]
    low, high = np.percentile(shares, INTERVAL) if shares.size else (np.nan, np.nan)
    return Interval(value, float(low), float(high))


def bootstrap_means(
    values: FloatArray, clusters: ArrayLike, bootstrap: Bootstrap
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Means of columns, and the bounds of their intervals, float64 `[columns]` each; see `metrics.summarize`.
    `values`: float `[items, columns]`, at least one item; NaN where undefined. `clusters`, `bootstrap`: as for
    `metrics.summarize`."""
    known = ~np.isnan(values)
    member, groups = members(clusters)
    sums, counts = np.zeros((groups, values.shape[1])), np.zeros((groups, values.shape[1]))
    np.add.at(sums, member, np.where(known, values, 0.0))
    np.add.at(counts, member, known.astype(np.float64))
    weights = drawn(groups, bootstrap)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = sums.sum(axis=0) / counts.sum(axis=0)
        resampled = (weights @ sums) / (weights @ counts)
    defined = ~np.isnan(resampled).all(axis=0)
    low, high = np.full_like(mean, np.nan), np.full_like(mean, np.nan)
    low[defined], high[defined] = np.nanpercentile(resampled[:, defined], INTERVAL, axis=0)
    return mean, low, high
