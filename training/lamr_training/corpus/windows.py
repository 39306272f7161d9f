"""Cuts a record's file to a window: what an agent sees that reads part of a file.

Knows a record's lines; a window need not parse, and paragraphs are all the structure it respects.
"""

from __future__ import annotations

import random
from dataclasses import replace

from lamr_evaluation.records import Record

SHORTEST, LONGEST = 30, 200
"""Lines of a window, about."""


def cut_window(record: Record, rng: random.Random) -> Record:
    """Part of a record: a run of paragraphs with at least one line of the answer, or any run if there is no answer.

    A file that is hardly longer than a window stays whole.
    """
    lines = record.code.split("\n")
    size = rng.randint(SHORTEST, LONGEST)
    if len(lines) < 1.5 * size:
        return record
    anchor = rng.choice(record.kept_frags) if record.kept_frags else rng.randint(1, len(lines))
    starts = [n for n, line in enumerate(lines, 1) if line.strip() and (n == 1 or not lines[n - 2].strip())]
    wanted = anchor - rng.randrange(size)
    first = max((n for n in starts if n <= max(wanted, starts[0])), default=1)
    least = min(max(first + size - 1, anchor), len(lines))
    last = min(n - 1 for n in (*starts, len(lines) + 1) if n > least)
    while last > max(first, anchor) and not lines[last - 1].strip():
        last -= 1
    kept = tuple(n - first + 1 for n in record.kept_frags if first <= n <= last)
    return replace(record, code="\n".join(lines[first - 1 : last]) + "\n", kept_frags=kept)
