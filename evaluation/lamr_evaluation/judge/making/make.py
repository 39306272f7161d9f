"""Makes items and chooses among them: spread over projects, files and rules, by a seed, none too long or too short."""

from __future__ import annotations

import hashlib
import heapq
import itertools
from collections import Counter as Count
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from lamr_contract.counters import Counter
from lamr_contract.errors import InvalidInputError
from lamr_repositories.progress import OnProgress

from lamr_evaluation.judge.items import CHOICE, COMPLETION, PLACE, Item
from lamr_evaluation.judge.making.choices import choices_of
from lamr_evaluation.judge.making.completions import completions_of
from lamr_evaluation.judge.making.places import places_of
from lamr_evaluation.judge.making.sources import Sources
from lamr_evaluation.judge.making.windows import fitted

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
    sources: Sources, options: MakingOptions, count: Counter, progress: OnProgress = lambda *_: None
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
