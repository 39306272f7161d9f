"""Public repositories as git holds them: found in a folder of bare repositories or cloned, and read by hash.

A mirror is someone else's folder: no configuration, hook or filter of it runs.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from lamr_repositories import git
from lamr_repositories.errors import RepositoryError
from lamr_repositories.revisions import is_bare

from lamr_evaluation.errors import DataError

_CLONE_FROM = "https://github.com/{}.git"
_LAYOUTS = ("{}", "{}.git", "{}/.git", "{}/repo", "{}/repo/.git")
"""Where a repository's git directory can lie in a folder of mirrors, by the repository's folder name."""


def folder_name(repository: str) -> str:
    """The name of a repository's folder among mirrors: `owner+name`."""
    return repository.replace("/", "+")


def locate(repository: str, folder: Path) -> Path:
    """The git directory of `owner/name` in a folder of mirrors.

    Raises:
        DataError: it isn't there.
    """
    for layout in _LAYOUTS:
        place = folder / layout.format(folder_name(repository))
        if is_bare(place):
            return place
    raise DataError(
        f"{repository}: no bare repository at {folder / folder_name(repository)}; clone it there, or name no mirror"
    )


def clone(repository: str, folder: Path) -> Path:
    """The git directory of `owner/name`, cloned with all its branches when it isn't in the folder yet.

    Raises:
        DataError: git can't clone it.
    """
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
    *arguments: str,
    place: Path | None = None,
    url: str | None = None,
    send: bytes = b"",
    check: bool = True,
) -> subprocess.CompletedProcess[bytes]:
    """Run git with nothing of the repository's configuration that could run programs, however long it takes.

    Raises:
        DataError: git isn't installed, or the command failed and `check` is set.
    """
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
        """The text of a blob; git's hash of it proves that it is the pinned one.

        Raises:
            DataError: the repository can't be had or lacks the blob, or the blob isn't UTF-8.
        """
        try:
            return self.read_bytes(repository, blob).decode("utf-8")
        except UnicodeDecodeError as error:
            place = self._places[repository]
            raise DataError(f"{place}: blob {blob} of {repository} isn't UTF-8 ({error.reason})") from error

    def read_bytes(self, repository: str, blob: str) -> bytes:
        """The bytes of a blob.

        Raises:
            DataError: the repository can't be had or lacks the blob.
        """
        if repository not in self._places:
            self._places[repository] = self._find(repository, self._folder)
        place = self._places[repository]
        done = run_git("cat-file", "blob", blob, place=place, check=False)
        if done.returncode:
            raise DataError(f"{place}: lacks blob {blob} of {repository}; fetch all its branches there")
        return done.stdout
