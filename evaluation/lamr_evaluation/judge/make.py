"""Makes items of folders, wheels and repositories, and chooses among them: spread over projects, files and rules.

What `lamr pack` leaves out is left out, and so are tests and very long files. Of files that are longer than a reader
takes a window is shown, a run of lines around what the answer needs. A question with choices keeps only windows in
which every choice stands, because otherwise the one that stands there would be the truth."""

import bisect
import hashlib
import heapq
import itertools
import zipfile
from collections import Counter as Count
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from lamr_base.errors import InvalidInputError
from lamr_model.counters import Counter
from lamr_postprocess import detect_language
from lamr_repositories.errors import RepositoryError
from lamr_repositories.folders import Folder
from lamr_repositories.git import run_git
from lamr_repositories.kinds import is_code, is_test, left_out_by_path
from lamr_repositories.options import OnProgress
from lamr_repositories.revisions import Revision, is_bare
from lamr_repositories.sources import MOST_BYTES
from lamr_repositories.walk import WalkCount, WalkOptions, look_at, walk
from numpy.typing import NDArray

from lamr_evaluation.errors import DataError
from lamr_evaluation.judge.items import CHOICE, COMPLETION, PLACE, Item
from lamr_evaluation.judge.rules import (
    MOST_CHARACTERS,
    History,
    ProjectFile,
    choices_of,
    completions_of,
    places_of,
)
from lamr_evaluation.records import bare_lines

_BARE_NAMES = ("repo", ".git", "repo.git")


@dataclass(frozen=True)
class ItemSources:
    """The folders and wheels, as a caller named them."""

    paths: Sequence[Path]

    def files(self) -> Iterator[ProjectFile]:
        """Yield their source files, in the order of sources and paths."""
        for path in self.paths:
            yield from _of_wheel(path) if path.is_file() else _of_folder(path)

    def histories(self) -> Iterator[History]:
        """Yield the histories of those folders that are the root of a repository."""
        for path in self.paths:
            try:
                if is_bare(path):
                    yield History(_name(path), path)
                elif path.is_dir():
                    said = run_git("rev-parse", "--absolute-git-dir", "--show-prefix", folder=path).stdout
                    place, _, prefix = said.decode().partition("\n")
                    if not prefix.strip():
                        yield History(_name(path), Path(place))
            except RepositoryError:
                continue  # no repository, or one that git doesn't trust: its files are asked about all the same


def _of_folder(root: Path) -> Iterator[ProjectFile]:
    source = Revision(root, "HEAD") if is_bare(root) else Folder(root)
    for listed, _, text in walk(source, WalkOptions(), WalkCount()):
        yield from _wanted(_name(root), listed.path, text)


def _name(root: Path) -> str:
    """Return a folder's name; that of the one around it for a bare repository in a folder of its own."""
    place = root.resolve()
    return place.parent.name if place.name in _BARE_NAMES else place.name.removesuffix(".git")


def _of_wheel(path: Path) -> Iterator[ProjectFile]:
    project = "-".join(path.name.split("-")[:2]) if path.suffix == ".whl" else path.stem
    try:
        with zipfile.ZipFile(path) as archive:
            for info in sorted(archive.infolist(), key=lambda each: each.filename):
                if info.is_dir() or info.file_size > MOST_BYTES or left_out_by_path(info.filename):
                    continue
                with archive.open(info) as stream:
                    text, problem = look_at(info.filename, stream.read(MOST_BYTES))
                if text is not None and problem is None:
                    yield from _wanted(project, info.filename, text)
    except (OSError, zipfile.BadZipFile, RuntimeError, NotImplementedError) as error:
        raise DataError(
            f"{path} can't be read as a wheel ({error}); name a folder or a whole wheel"
        ) from error


def _wanted(project: str, path: str, text: str) -> Iterator[ProjectFile]:
    if len(text) > MOST_CHARACTERS or is_test(path):
        return
    language = detect_language(text, path).name
    if is_code(language):
        yield ProjectFile(project, path, text.replace("\r\n", "\n").replace("\r", "\n"), language)


MADE = (CHOICE, COMPLETION, PLACE)
_CANDIDATES = 4  # for each item of a file that is wanted, since not all fit
_OF_FILES = {CHOICE: choices_of, COMPLETION: completions_of}


@dataclass(frozen=True)
class MakingOptions:
    """Which items are made. Raises `InvalidInputError`: a task can't be made, or the bounds exclude each other."""

    tasks: tuple[str, ...] = ()  # of `MADE`; none stands for all
    count: int = 100  # most items of a task
    per_file: int = 2  # most items of a task from one file
    min_tokens: int = 800  # of an item's code; of a longer file, a window is taken
    max_tokens: int = 24_000
    seed: int = 0  # another one chooses others

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
        DataError, RepositoryError: a source can't be read."""
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
    most = _CANDIDATES * options.per_file
    kept: dict[tuple[str, str], list[Item]] = defaultdict(list)

    def first(group: list[Item]) -> list[Item]:
        return heapq.nsmallest(most, group, key=lambda each: _chance(each, options.seed))

    for item in items:
        group = kept[item.path, _rule(item)]
        group.append(item)
        if len(group) > 2 * most:
            group[:] = first(group)
    return [item for group in kept.values() for item in first(group)]


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
    for batch in itertools.zip_longest(*rows):
        yield from (each for each in batch if each is not None)


def _chance(item: Item, seed: int) -> bytes:
    parts = (str(seed), item.project, item.path, item.query, item.answer)
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).digest()


_NEAR = 12  # rows in which a blank line is looked for


def fitted(item: Item, least: int, most: int, count: Counter) -> Item | None:
    """Return an item with `least` to `most` tokens of code: itself, or with a window of its code; None for neither."""
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
    # Lines by themselves are a little cheaper or dearer.
    room = int(0.95 * most) - int(costs[last] - costs[first])
    if room <= 0:
        return None
    digest = hashlib.sha256(f"{item.path}\0{item.query}".encode("utf-8", "surrogatepass")).digest()
    before = room if item.task == COMPLETION else int(room * (digest[0] / 255))
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
