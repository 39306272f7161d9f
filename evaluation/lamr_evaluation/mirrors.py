"""Public repositories as git holds them: found in a folder of bare repositories or cloned, and read.

Files are read by hash. Each question about commits is one process that answers for many commits at once. A mirror is
someone else's folder: no configuration, hook or filter of it runs."""

import io
import re
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lamr_repositories import git
from lamr_repositories.errors import RepositoryError
from lamr_repositories.revisions import LIST_TREE, is_bare, read_object, read_tree

from lamr_evaluation.errors import DataError

_CLONE_FROM = "https://github.com/{}.git"
_LAYOUTS = ("{}", "{}.git", "{}/.git", "{}/repo", "{}/repo/.git")
"""Where a repository's git directory can lie in a folder of mirrors, by the repository's folder name."""


def folder_name(repository: str) -> str:
    """The name of a repository's folder among mirrors: `owner+name`."""
    return repository.replace("/", "+")


def locate(repository: str, folder: Path) -> Path:
    """The git directory of `owner/name` in a folder of mirrors. Raises `DataError`: it isn't there."""
    for layout in _LAYOUTS:
        place = folder / layout.format(folder_name(repository))
        if is_bare(place):
            return place
    raise DataError(
        f"{repository}: no bare repository at {folder / folder_name(repository)}; clone it there, or name no mirror"
    )


def clone(repository: str, folder: Path) -> Path:
    """The git directory of `owner/name`, cloned with all its branches when it isn't in the folder yet. Raises
    `DataError`: git can't clone it."""
    place = folder / folder_name(repository)
    if not place.exists():
        folder.mkdir(parents=True, exist_ok=True)
        part = folder / f"{folder_name(repository)}.part"
        url = _CLONE_FROM.format(repository)
        options = ("--quiet", "--bare", "--template=", *git.served_with(url))
        done = run_git("clone", *options, "--", url, str(part), url=url, check=False)
        if done.returncode:
            said = git.first_trouble(done.stderr)
            raise DataError(f"{repository}: git couldn't clone it ({said}); remove {part} and try again")
        part.rename(place)
    return locate(repository, folder)


def run_git(
    *arguments: str, place: Path | None = None, url: str | None = None, send: bytes = b"", check: bool = True
) -> subprocess.CompletedProcess[bytes]:
    """Run git with nothing of the repository's configuration that could run programs, however long it takes. Raises
    `DataError`: git isn't installed, or the command failed and `check` is set."""
    try:
        return git.run_git(*arguments, place=place, url=url, send=send, check=check, seconds=None)
    except RepositoryError as error:
        raise DataError(f"{error}; fetch the repository again" if place else str(error)) from error


class Mirrors:
    """Files of public repositories, read by the hash that git names them by."""

    def __init__(self, folder: Path, *, cloning: bool = False) -> None:
        self._folder = folder
        self._find = clone if cloning else locate
        self._places: dict[str, Path] = {}

    def read(self, repository: str, blob: str) -> str:
        """The text of a blob; git's hash of it proves that it is the pinned one."""
        try:
            return self.read_bytes(repository, blob).decode("utf-8")
        except UnicodeDecodeError as error:
            place = self._places[repository]
            raise DataError(f"{place}: blob {blob} of {repository} isn't UTF-8 ({error.reason})") from error

    def read_bytes(self, repository: str, blob: str) -> bytes:
        if repository not in self._places:
            self._places[repository] = self._find(repository, self._folder)
        place = self._places[repository]
        done = run_git("cat-file", "blob", blob, place=place, check=False)
        if done.returncode:
            raise DataError(f"{place}: lacks blob {blob} of {repository}; fetch all its branches there")
        return done.stdout


_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_SHA = re.compile(rb"[0-9a-f]{40}")


@dataclass(frozen=True)
class ChangedFile:
    """One file of a commit: what happened to it (`A`, `D`, `M`, …) and the blob that it was before."""

    status: str
    path: str
    before: str


@dataclass(frozen=True)
class Commit:
    """A commit that isn't a merge."""

    sha: str
    author: str
    message: str
    changes: tuple[ChangedFile, ...]


@dataclass(frozen=True)
class Hunk:
    """A run of lines that changed: `removed` stood from `line` on; without any, `added` came after `line`."""

    line: int
    removed: tuple[str, ...]
    added: tuple[str, ...]


def commits(place: Path, commit: str, most: int | None = None) -> Iterator[Commit]:
    """Every ancestor that isn't a merge, newest first, with its changed files; renames show as `D` and `A`."""
    form = "--format=%x01%H%x00%ae%x00%B%x02"
    options = [
        "--no-merges",
        "--raw",
        "--no-renames",
        "--no-abbrev",
        "--no-ext-diff",
        "-z",
        "--encoding=UTF-8",
    ]
    options += [form] if most is None else [form, f"--max-count={most}"]
    log = run_git("log", *options, commit, place=place).stdout.decode("utf-8", "replace")
    for part in log.split("\x01")[1:]:
        head, found, rest = part.partition("\x02")
        fields = head.split("\0", 2)
        if found and len(fields) == 3:
            yield Commit(fields[0], fields[1], fields[2].strip(), tuple(_changes(rest)))


def _changes(raw: str) -> Iterator[ChangedFile]:
    tokens = iter(raw.split("\0"))
    for token in tokens:
        if token.lstrip("\n").startswith(":"):
            _, _, before, _, status = token.split()
            yield ChangedFile(status, next(tokens, ""), before)


def diffs(place: Path, shas: Sequence[str]) -> dict[str, dict[str, list[Hunk]]]:
    """For each commit, its modified files and their hunks without context; without commits that git can't read whole. A
    mirror may lack its largest files. git ends at the first that it misses, so the rest is asked in halves."""
    options = ("--stdin", "-r", "-p", "-U0", "--diff-filter=M", "--no-renames", "--no-color", "--no-ext-diff")
    more = ("--no-textconv", "--histogram")
    done = run_git("diff-tree", *options, *more, place=place, send=_rows(shas), check=False)
    if not done.returncode:
        return _hunks(done.stdout)
    if len(shas) <= 1:
        return {}
    half = len(shas) // 2
    return {**diffs(place, shas[:half]), **diffs(place, shas[half:])}


def _hunks(output: bytes) -> dict[str, dict[str, list[Hunk]]]:
    hunks_of: dict[str, dict[str, list[Hunk]]] = {}
    files: dict[str, list[Hunk]] = {}
    hunks: list[Hunk] = []
    lines = iter(output.split(b"\n"))
    for line in lines:
        header = _HUNK.match(line)
        if header:
            first, removed, added = int(header[1]), int(header[2] or 1), int(header[3] or 1)
            hunks.append(Hunk(first, _take(lines, removed), _take(lines, added)))
        elif line.startswith(b"--- a/"):
            hunks = files.setdefault(line[6:].rstrip(b"\t").decode("utf-8", "replace"), [])
        elif _SHA.fullmatch(line):
            files = hunks_of.setdefault(line.decode(), {})
    return hunks_of


def _take(lines: Iterator[bytes], count: int) -> tuple[str, ...]:
    taken: list[str] = []
    while len(taken) < count:
        line = next(lines)
        if not line.startswith(b"\\"):  # "\ No newline at end of file"
            taken.append(line[1:].decode("utf-8", "replace"))
    return tuple(taken)


def files(place: Path, commit: str) -> list[tuple[str, str, int]]:
    """Path, blob and bytes of every file of a commit, by path."""
    entries = read_tree(run_git(*LIST_TREE, commit, place=place).stdout.split(b"\0")[:-1])
    return [
        (each.path.decode("utf-8", "replace"), each.name, each.size)
        for each in entries
        if each.size is not None
    ]


def sizes(place: Path, names: Iterable[str]) -> dict[str, int]:
    """Bytes of blobs by name; what isn't there is left out."""
    done = run_git("cat-file", "--batch-check", place=place, send=_rows(sorted(set(names))))
    rows = done.stdout.decode().splitlines()
    return {row.split()[0]: int(row.split()[2]) for row in rows if not row.endswith("missing")}


def blobs(place: Path, names: Iterable[str]) -> dict[str, bytes]:
    """Contents by blob name; what isn't there is left out."""
    stream = io.BytesIO(run_git("cat-file", "--batch", place=place, send=_rows(sorted(set(names)))).stdout)
    answers = iter(lambda: read_object(stream), None)
    return {name: data for name, data in answers if data is not None}


def _rows(names: Iterable[str]) -> bytes:
    return "".join(f"{name}\n" for name in names).encode()
