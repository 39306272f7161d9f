"""Where the files come from: bare repositories of other people's projects, the small set, this repository itself.

Files of a mirror are chosen so that every format has its share: the formats take turns, and each takes a file of the
project that it has taken the fewest from. Nothing of a mirror is written anywhere but into a temporary
folder."""

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from lamr_evaluation.errors import DataError
from lamr_evaluation.mirrors import locate, run_git

from benchmarks.world.formats import SCRIPT, format_named, format_of, read_as

ROOT = Path(__file__).resolve().parents[2]
SMALL = Path(__file__).parent / "files"
_FOLDERS = ("agents", "base", "cli", "client", "docker", "docs", "evaluation", "model", "tests")
LEAST_BYTES, MOST_BYTES = 40, 300_000
_LINK = "120000"
_SCRIPTS_READ = 40  # names without an ending that are looked into in a project: only some begin with `#!`


@dataclass(frozen=True)
class Place:
    """A file that may be taken: `project/path` is its id, `blob` git's name of it or nothing for a file on disk."""

    project: str
    path: str
    format: str
    blob: str = ""

    @property
    def id(self) -> str:
        """What `--file` takes."""
        return f"{self.project}/{self.path}"


@dataclass(frozen=True)
class Item:
    """A file with its bytes, and by which damage these came about; nothing where the file is as its author left it."""

    id: str
    path: str
    format: str
    data: bytes
    damage: str = ""

    @property
    def label(self) -> str:
        """Its id, with the damage."""
        return f"{self.id} ({self.damage})" if self.damage else self.id


def places_of(project: str, mirror: Path) -> list[Place]:
    """The files of a project's last revision that have a known format and a usual size. Raises `DataError`: the project
    isn't there, or git can't list it."""
    listed = run_git(
        "ls-tree", "-r", "-l", "-z", "HEAD", place=locate(project.replace("+", "/"), mirror)
    ).stdout
    places: list[Place] = []
    seen: set[str] = set()
    scripts = 0
    for row in listed.decode("utf-8", "replace").split("\0"):
        facts, _, path = row.partition("\t")
        mode, kind, blob, size = (*facts.split(), "", "", "", "")[:4]
        if kind != "blob" or mode == _LINK or not size.isdigit() or blob in seen:
            continue
        form = format_of(path)
        if form is None or not LEAST_BYTES <= int(size) <= MOST_BYTES:
            continue
        scripts += form is SCRIPT
        if form is not SCRIPT or scripts <= _SCRIPTS_READ:
            seen.add(blob)
            places.append(Place(project, path, form.name, blob))
    return places


def chosen_projects(by_project: dict[str, list[Place]], most: int, seed: int) -> list[str]:
    """At most so many projects that together have every format often: rare formats choose first."""
    order = sorted(by_project)
    random.Random(seed).shuffle(order)
    with_format: dict[str, list[str]] = defaultdict(list)
    for project in order:
        for name in {place.format for place in by_project[project]}:
            with_format[name].append(project)
    chosen: dict[str, None] = {}
    for rank in range(most):
        for name in sorted(with_format, key=lambda each: len(with_format[each])):
            if rank < len(with_format[name]) and len(chosen) < most:
                chosen[with_format[name][rank]] = None
    return list(chosen)


def chosen_files(places: Iterable[Place], most: int, seed: int) -> list[Place]:
    """At most so many files; formats take turns, and in a format the projects do."""
    chance = random.Random(seed)
    queues: dict[str, dict[str, list[Place]]] = defaultdict(lambda: defaultdict(list))
    for place in sorted(places, key=lambda each: each.id):
        queues[place.format][place.project].append(place)
    for projects in queues.values():
        for queue in projects.values():
            chance.shuffle(queue)
    taken: Counter[tuple[str, str]] = Counter()
    chosen: list[Place] = []
    while len(chosen) < most and queues:
        for name in sorted(queues):
            project = min(queues[name], key=lambda each: (taken[name, each], each))
            taken[name, project] += 1
            chosen.append(queues[name][project].pop())
            queues[name] = {key: queue for key, queue in queues[name].items() if queue}  # type: ignore[assignment]
        queues = defaultdict(queues.default_factory, {key: each for key, each in queues.items() if each})
    return chosen[:most]


def read_places(places: Iterable[Place], mirror: Path) -> Iterator[Item]:
    """The files with their bytes, project after project; binary ones and names without a `#!` are left out."""
    by_project: dict[str, list[Place]] = defaultdict(list)
    for place in places:
        by_project[place.project].append(place)
    for project, several in sorted(by_project.items()):
        git = locate(project.replace("+", "/"), mirror)
        asked = "".join(f"{place.blob}\n" for place in several).encode()
        answer = run_git("cat-file", "--batch", place=git, send=asked).stdout
        at = 0
        for place in several:
            end = answer.index(b"\n", at)
            words = answer[at:end].split()
            if len(words) != 3:  # a blob that the snapshot lacks
                at = end + 1
                continue
            data = answer[end + 1 : end + 1 + int(words[2])]
            at = end + 2 + len(data)
            if _is_text(data) and read_as(format_named(place.format), data) is not None:
                yield Item(place.id, place.path, place.format, data)


def own_files(most: int, seed: int) -> Iterator[Item]:
    """The small set whole, and files of this repository up to a number of all."""
    small = [path for path in sorted(SMALL.rglob("*")) if path.is_file()]
    own = [path for folder in _FOLDERS for path in sorted((ROOT / folder).rglob("*")) if path.is_file()]
    places = [
        Place("own", path.relative_to(ROOT).as_posix(), form.name)
        for path in own
        if "__pycache__" not in path.parts and (form := format_of(path.name)) is not None
    ]
    places = [
        *(
            Place("small", path.relative_to(SMALL).as_posix(), form.name)
            for path in small
            if (form := format_of(path.name))
        ),
        *chosen_files(places, max(most - len(small), 0), seed),
    ][:most]
    for place in places:
        data = ((SMALL if place.project == "small" else ROOT) / place.path).read_bytes()
        if (
            LEAST_BYTES <= len(data) <= MOST_BYTES
            and _is_text(data)
            and read_as(format_named(place.format), data)
        ):
            yield Item(place.id, place.path, place.format, data)


def mirrored_projects(mirror: Path) -> list[str]:
    """The projects of a folder of bare repositories, by the names of their folders. Raises `DataError`: the folder
    holds none."""
    found = sorted(each.name for each in mirror.iterdir() if "+" in each.name)
    if not found:
        raise DataError(
            f"{mirror}: no folder named owner+name; name the folder that holds the bare repositories"
        )
    return found


def _is_text(data: bytes) -> bool:
    """Whether the bytes are no binary file: as git judges, with UTF-16 besides."""
    if data.startswith((b"version https://git-lfs", b"%PDF")):
        return False
    return b"\0" not in data[:8_000] or data.startswith((b"\xff\xfe", b"\xfe\xff"))
