"""Cuts a record's file to a window, which is what an agent sees when it reads part of a file.

A window need not parse; paragraphs are all the structure that a cut respects.
"""

from __future__ import annotations

import random
from dataclasses import replace

from lamr_evaluation.records import Record
from lamr_postprocess.lines import split_lines

SHORTEST, LONGEST = 30, 200
"""How many lines a window has, about."""


def cut_window(record: Record, rng: random.Random) -> Record:
    """Part of a record: a run of paragraphs with at least one line of the answer, or any run if there is no answer.

    A file that is hardly longer than a window stays whole.
    """
    lines = split_lines(record.code)
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
    kept, frame = (
        tuple(n - first + 1 for n in numbers if first <= n <= last)
        for numbers in (record.kept_frags, record.frame)
    )
    return replace(record, code="".join(lines[first - 1 : last]), kept_frags=kept, frame=frame)
