"""Makes items and chooses among them: spread over projects, files and rules, by a seed, none too long or too short.

Of files that are longer than a reader takes a window is shown: a run of lines around what the answer needs, from blank
line to blank line where it can. A question with choices keeps only windows in which every choice stands, because
otherwise the one that stands there would be the truth.
"""

from __future__ import annotations

import bisect
import hashlib
import heapq
import itertools
from collections import Counter as Count
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from lamr_base.errors import InvalidInputError
from lamr_model.counters import Counter
from lamr_repositories.options import OnProgress
from numpy.typing import NDArray

from lamr_evaluation.judge.items import CHOICE, COMPLETION, PLACE, Item
from lamr_evaluation.judge.making.choices import choices_of
from lamr_evaluation.judge.making.completions import completions_of
from lamr_evaluation.judge.making.places import places_of
from lamr_evaluation.judge.making.sources import ItemSources
from lamr_evaluation.records import bare_lines

MADE = (CHOICE, COMPLETION, PLACE)
_CANDIDATES = 4  # for each item of a file that is wanted, since not all fit
_OF_FILES = {CHOICE: choices_of, COMPLETION: completions_of}


@dataclass(frozen=True)
class MakingOptions:
    """Which items are made.

    Attributes:
        tasks: of `MADE`; none stands for all.
        count: most items of a task.
        per_file: most items of a task from one file.
        min_tokens, max_tokens: of an item's code; of a longer file, a window is taken.
        seed: another one chooses others.

    Raises:
        InvalidInputError: a task can't be made, or the bounds exclude each other.
    """

    tasks: tuple[str, ...] = ()
    count: int = 100
    per_file: int = 2
    min_tokens: int = 800
    max_tokens: int = 24_000
    seed: int = 0

    def __post_init__(self) -> None:
        unknown = [task for task in self.tasks if task not in MADE]
        if unknown:
            raise InvalidInputError(
                f"items are made for {', '.join(MADE)}, not for {', '.join(unknown)}", argument="task"
            )
        if self.min_tokens > self.max_tokens:
            raise InvalidInputError(
                f"min_tokens is {self.min_tokens} and max_tokens {self.max_tokens}; swap them",
                argument="min_tokens",
            )


def make_items(
    sources: ItemSources, options: MakingOptions, count: Counter, progress: OnProgress = lambda *_: None
) -> list[Item]:
    """Return items of sources, those of a task together, each with an id.

    Args:
        sources: see `open_sources`.
        options: see `MakingOptions`.
        count: counts the reader's tokens.
        progress: is told how many files were read.

    Raises:
        DataError, RepositoryError: a source can't be read.
    """
    wanted = options.tasks or MADE
    found: dict[str, list[Item]] = {task: [] for task in wanted}
    if _OF_FILES.keys() & found.keys():
        for number, source in enumerate(sources.files(), 1):
            for task in _OF_FILES.keys() & found.keys():
                found[task] += _few(_OF_FILES[task](source), options)
            progress("files", number, number)
    if PLACE in wanted:
        for history in sources.histories():
            found[PLACE] += _few(places_of(history), options)
    chosen = (_chosen(found[task], options, count) for task in wanted)
    return [replace(item, id=f"{item.task}-{n}") for items in chosen for n, item in enumerate(items, 1)]


def _few(items: Iterable[Item], options: MakingOptions) -> list[Item]:
    """Return a few items of each file and rule, those that come first by chance: each holds its code."""
    most = _CANDIDATES * options.per_file
    kept: dict[tuple[str, str], list[Item]] = defaultdict(list)
    for item in items:
        group = kept[item.path, _rule(item)]
        group.append(item)
        if len(group) > 2 * most:
            group[:] = heapq.nsmallest(most, group, key=lambda each: _chance(each, options.seed))
    return [
        item
        for group in kept.values()
        for item in heapq.nsmallest(most, group, key=lambda each: _chance(each, options.seed))
    ]


def _rule(item: Item) -> str:
    return item.made.split(" ")[0]


def _chosen(items: Iterable[Item], options: MakingOptions, count: Counter) -> list[Item]:
    """Return the first items that fit or have a window that does; projects take turns, and in each its rules do."""
    per_file: Count[tuple[str, str]] = Count()
    kept = []
    for item in _in_turn(items, options):
        file = (item.project, item.path)
        if per_file[file] < options.per_file and (
            fitting := fitted(item, options.min_tokens, options.max_tokens, count)
        ):
            per_file[file] += 1
            kept.append(fitting)
        if len(kept) == options.count:
            break
    return kept


def _in_turn(items: Iterable[Item], options: MakingOptions) -> Iterator[Item]:
    groups: dict[str, dict[str, list[Item]]] = defaultdict(lambda: defaultdict(list))
    for item in sorted(items, key=lambda each: _chance(each, options.seed)):
        groups[item.project][_rule(item)].append(item)
    return _turns(_turns(rules.values()) for _, rules in sorted(groups.items()))


def _turns(rows: Iterable[Iterable[Item]]) -> Iterator[Item]:
    """Yield the first of each row, then the second of each, and so on."""
    for batch in itertools.zip_longest(*rows):
        yield from (each for each in batch if each is not None)


def _chance(item: Item, seed: int) -> bytes:
    parts = (str(seed), item.project, item.path, item.query, item.answer)
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).digest()


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
    before = int(room * _share(item)) if item.task != COMPLETION else room
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


def _share(item: Item) -> float:
    """Return a number from 0 to 1 that is the same for the same item: where in its window the answer lies."""
    digest = hashlib.sha256(f"{item.path}\0{item.query}".encode("utf-8", "surrogatepass")).digest()
    return digest[0] / 255
