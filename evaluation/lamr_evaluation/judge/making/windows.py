"""Windows of files that are longer than a reader takes: a run of lines around what the answer needs.

A window begins and ends at blank lines where it can. A question with choices keeps only windows in which every choice
stands, because otherwise the one that stands there would be the truth.
"""

from __future__ import annotations

import bisect
import hashlib
from dataclasses import replace

import numpy as np
from lamr_contract.counters import Counter
from numpy.typing import NDArray

from lamr_evaluation.judge.items import CHOICE, COMPLETION, Item
from lamr_evaluation.records import bare_lines

_NEAR = 12  # rows in which a blank line is looked for


def fitted(item: Item, least: int, most: int, count: Counter) -> Item | None:
    """Return an item whose code has `least` to `most` tokens: itself, or with a window of its code; None for neither.

    Args:
        item: any.
        least, most: tokens.
        count: counts them.
    """
    lines = bare_lines(item.code)
    each = count.count_each([f"{line}\n" for line in lines])
    if int(each.sum()) > most:
        return _window(item, lines, np.append(0, np.cumsum(each)), least, most, count)
    return item if least <= count.count_tokens(item.code) <= most else None


def _window(  # noqa: PLR0913, PLR0917  # an item, its lines and their costs, and the bounds
    item: Item, lines: list[str], costs: NDArray[np.int64], least: int, most: int, count: Counter
) -> Item | None:
    first, last = min(item.gold) - 1, max(item.gold)
    if item.task == COMPLETION:
        first = last = len(lines)
    room = int(0.95 * most) - int(
        costs[last] - costs[first]
    )  # lines by themselves are a little cheaper or dearer
    if room <= 0:
        return None
    before = int(room * _chance(item)) if item.task != COMPLETION else room
    start = bisect.bisect_left(costs.tolist(), int(costs[first]) - before)
    stop = bisect.bisect_right(costs.tolist(), int(costs[last]) + room - before) - 1
    start = next(
        (row for row in range(start, min(start + _NEAR, first)) if not lines[row - 1].strip()), start
    )
    stop = next((row for row in range(stop, max(stop - _NEAR, last), -1) if not lines[row - 1].strip()), stop)
    code = "\n".join(lines[start:stop]) + "\n"
    gold = tuple(number - start for number in item.gold if start < number <= stop)
    told = item.task != CHOICE or all(choice in code for choice in item.choices)
    if not gold or not told or not least <= count.count_tokens(code) <= most:
        return None
    return replace(item, code=code, gold=gold)


def _chance(item: Item) -> float:
    """Return a number from 0 to 1 that is the same for the same item: where in its window the answer lies."""
    digest = hashlib.sha256(f"{item.path}\0{item.query}".encode("utf-8", "surrogatepass")).digest()
    return digest[0] / 255
