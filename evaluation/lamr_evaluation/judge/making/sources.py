"""What items are made from: the source files of folders and wheels, and the git directories of repositories among them.

Tests and very long files are left out, and so is what `lamr pack` leaves out: generated, vendored and minified files,
and those with secrets.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lamr_postprocess import detect_language
from lamr_repositories.errors import RepositoryError
from lamr_repositories.folders import Folder
from lamr_repositories.git import run_git
from lamr_repositories.kinds import is_code, is_test, left_out_by_path
from lamr_repositories.revisions import Revision, is_bare
from lamr_repositories.sources import MOST_BYTES
from lamr_repositories.walk import WalkCount, WalkOptions, look_at, walk

from lamr_evaluation.errors import DataError

MOST_CHARACTERS = 200_000
"""Of a file; a longer one is seldom written by hand."""
_BARE_NAMES = ("repo", ".git", "repo.git")


@dataclass(frozen=True)
class ProjectFile:
    """One file.

    Attributes:
        project: the folder's name, or the wheel's name and version.
        path: in the folder or wheel.
        text: its text, with lines ended by `\\n`.
        language: its language's usual name.
    """

    project: str
    path: str
    text: str
    language: str


@dataclass(frozen=True)
class History:
    """A repository's git directory."""

    project: str
    place: Path


@dataclass(frozen=True)
class ItemSources:
    """The folders and wheels, as a caller named them."""

    paths: tuple[Path, ...]

    def files(self) -> Iterator[ProjectFile]:
        """Yield their source files, in the order of sources and paths.

        Raises:
            DataError: a wheel can't be read.
            RepositoryError: a folder can't be listed.
        """
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


def open_sources(paths: Sequence[Path]) -> ItemSources:
    """Return sources of folders and wheels; nothing is read yet."""
    return ItemSources(tuple(paths))


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
