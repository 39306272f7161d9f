"""Presents an ablation as a table like the paper's: each variant's figures, and how far it is from the whole model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

import numpy as np
from lamr_evaluation.resampling import BOOTSTRAP
from numpy.typing import NDArray

from benchmarks.ablation.judgement import KEPT, Outcome
from benchmarks.ablation.variants import VARIANTS, WHOLE

_NOTHING = 1e-9  # what rounding makes of a difference that is 0
_FIGURES = {"recall": f"R@{KEPT:.0%}", "f1": f"F1@{KEPT:.0%}", "area": "area"}


def ablation_table(outcomes: Sequence[Outcome]) -> str:
    """The table with one row for each variant.

    A figure is the mean over seeds and judged records. Below it stands the difference from the whole model with its
    95 % interval, by bootstrap over files and seeds; one that doesn't hold 0 has a star.
    """
    names = [variant.name for variant in VARIANTS if any(o.variant == variant.name for o in outcomes)]
    paper = {variant.name: variant.paper for variant in VARIANTS}
    whole = {field: _values(outcomes, WHOLE.name, field) for field in _FIGURES}
    rows = [("", "loss", *_FIGURES.values(), "paper's F1")]
    for name in names:
        values = {field: _values(outcomes, name, field) for field in _FIGURES}
        loss = float(np.mean([o.loss for o in outcomes if o.variant == name]))
        figures = (f"{each.mean():.3f}" for each in values.values())
        rows.append((name, f"{loss:.3f}", *figures, f"{paper[name]:.3f}"))
        if name != WHOLE.name and WHOLE.name in names:
            files = [each.file for each in next(o for o in outcomes if o.variant == name).files]
            changes = (_change(values[field], whole[field], files) for field in _FIGURES)
            rows.append(("", "", *changes, f"{paper[name] - WHOLE.paper:+.3f}"))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(w) if n == 0 else cell.rjust(w)
            for n, (cell, w) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def ablation_json(outcomes: Sequence[Outcome]) -> str:
    """The figures of every run, as one JSON object."""
    return json.dumps({"kept": KEPT, "runs": [asdict(o) for o in outcomes]}, indent=2)


def _values(outcomes: Sequence[Outcome], name: str, field: str) -> NDArray[np.float64]:
    """A figure of a variant, float64 [seeds, records]."""
    return np.array([[getattr(each, field) for each in o.files] for o in outcomes if o.variant == name])


def _change(one: NDArray[np.float64], other: NDArray[np.float64], files: Sequence[str]) -> str:
    """The difference of two figures [S, R] with its interval. Seeds and files are both drawn again, files as clusters.

    Args:
        one, other: the figures of as many seeds each for the same records.
        files: [R], the file of each record; records of one file are drawn together.
    """
    rng = np.random.default_rng(BOOTSTRAP.seed)
    _, member = np.unique(files, return_inverse=True)
    clusters = int(member.max()) + 1
    counts = np.bincount(member, minlength=clusters)
    sums = [np.stack([np.bincount(member, row, clusters) for row in each]) for each in (one, other)]
    drawn = rng.multinomial(clusters, np.full(clusters, 1 / clusters), size=BOOTSTRAP.draws)
    means = []
    for each in sums:
        seeds = rng.multinomial(len(each), np.full(len(each), 1 / len(each)), size=BOOTSTRAP.draws)
        means.append(np.einsum("ds,sc,dc->d", seeds / len(each), each, drawn) / (drawn @ counts))
    low, high = np.percentile(means[0] - means[1], [2.5, 97.5])
    star = "*" if low > _NOTHING or high < -_NOTHING else ""
    return f"{_signed(one.mean() - other.mean())} ({_signed(low)} to {_signed(high)}){star}"


def _signed(value: float) -> str:
    return f"{round(float(value), 3) + 0.0:+.3f}"  # 0.0 takes the sign from a zero
