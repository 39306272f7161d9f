"""How many of the lines that answers need each pruner keeps: what is known without asking a reader."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from lamr_evaluation.judge.bench import Judgement
from lamr_evaluation.judge.items import TASK_NAMES
from lamr_evaluation.tables import align


def gold_table(judgement: Judgement) -> str:
    """Return a table for each task: the mean share of an item's gold lines that is kept, by pruner and share.

    Items whose gold lines nobody knows aren't in it.
    """
    parts = []
    for task in TASK_NAMES:
        kept: dict[tuple[str, float], list[tuple[float, int]]] = defaultdict(list)
        for place, rows in judgement.shown.items():
            item = judgement.items[place]
            for row in rows if item.task == task and item.gold else ():
                share = len(set(item.gold) & set(row.kept.lines)) / len(set(item.gold))
                kept[row.pruner, row.share].append((share, row.kept.tokens))
        if kept:
            parts.append(_table(task, kept))
    return "\n\n".join(parts)


def _table(task: str, kept: dict[tuple[str, float], list[tuple[float, int]]]) -> str:
    count = len(next(iter(kept.values())))
    rows = [(f"{task}: {count} items", "share", "tokens", "of the lines that the answer needs")]
    for (name, share), found in kept.items():
        mean, tokens = np.mean(found, axis=0)
        rows.append((name, f"{share:.3g}", f"{tokens:,.0f}", f"{100 * mean:.0f} %"))
    return align(rows)
