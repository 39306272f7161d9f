"""Presents an ablation as a table like the paper's, and says whether its rows come in the paper's order."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from dataclasses import asdict

from lamr_training.ablation.judgement import Outcome
from lamr_training.ablation.variants import VARIANTS

_FIGURES = {"C-loss": "loss", "Acc.": "accuracy", "Prec.": "precision", "Rec.": "recall", "F1": "f1"}


def ablation_table(outcomes: Sequence[Outcome]) -> str:
    """The table with one row for each variant: means over seeds ± their standard deviation, and the paper's F1."""
    by_variant = {v.name: [o for o in outcomes if o.variant == v.name] for v in VARIANTS}
    rows = [("", *_FIGURES, "paper's F1")]
    for variant in VARIANTS:
        cells = (
            _spread([getattr(o, field) for o in by_variant[variant.name]]) for field in _FIGURES.values()
        )
        rows.append((variant.name, *cells, f"{variant.paper:.3f}"))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(
            cell.ljust(w) if n == 0 else cell.rjust(w)
            for n, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
    return "\n".join([*lines, "", order_text(outcomes)])


def order_text(outcomes: Sequence[Outcome]) -> str:
    """A sentence about how the rows' order by F1 compares with the paper's."""
    means = {v.name: statistics.mean([o.f1 for o in outcomes if o.variant == v.name]) for v in VARIANTS}
    ours = sorted(means, key=lambda name: -means[name])
    paper = [v.name for v in sorted(VARIANTS, key=lambda v: -v.paper)]
    if ours == paper:
        return "by F1 the rows come in the paper's order"
    pairs = [(a, b) for n, a in enumerate(paper) for b in paper[n + 1 :]]
    agreed = sum(means[a] > means[b] for a, b in pairs)
    return (
        f"by F1 the rows come in another order than the paper's ({agreed} of {len(pairs)} pairs agree)\n"
        f"  here:  {' > '.join(ours)}\n  paper: {' > '.join(paper)}"
    )


def ablation_json(outcomes: Sequence[Outcome]) -> str:
    """The figures of every run and the sentence about their order, as one JSON object."""
    return json.dumps({"runs": [asdict(o) for o in outcomes], "order": order_text(outcomes)}, indent=2)


def _spread(values: list[float]) -> str:
    mean = f"{statistics.mean(values):.3f}"
    return f"{mean} ± {statistics.stdev(values):.3f}" if len(values) > 1 else mean
