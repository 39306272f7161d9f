"""Where a repository's files come from: a folder, a folder that git knows, a git revision, or a list of names.

A source lists files and reads them; it judges none. Nothing outside the root is read: symbolic links are listed with
that as their problem, and so are names that lead out of the root."""

import abc
from collections.abc import Generator, Iterator, Sequence

from lamr_base.records import dataclass

from lamr_repositories.errors import RepositoryError

MOST_BYTES = 1 << 20
"""Of a file, where nobody says more: a larger one is data, or written by a program."""


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file as its source lists it."""

    path: str  # from the root, with slashes
    size: int
    problem: str | None = None  # why it can't be read
    stamp: str = ""
    """Stands for the content, so that it needn't be read to see that it is as it was: git's name of the blob, or the
    file's place on the disk, its size and its times. Empty where nothing vouches for the content."""

    @property
    def most(self) -> int:
        """The most bytes that are read of it: a file can grow after it was listed."""
        return max(self.size, MOST_BYTES)


class FileSource(abc.ABC):
    """Lists and reads the files of one repository."""

    name = ""  # tells the repository from others, so that what is known of its files can be kept
    is_whole = True  # a file that isn't listed isn't there

    @abc.abstractmethod
    def files(self) -> Iterator[ListedFile]:
        """Yield the repository's files, in any order. Raises `RepositoryError`: it can't be listed."""

    @abc.abstractmethod
    def read(self, path: str, most: int = MOST_BYTES) -> bytes | None:
        """Return a file's bytes; None for one that isn't there or can't be read. Raises `RepositoryError`: it has
        more than `most` bytes."""

    @abc.abstractmethod
    def read_all(self, listed: Sequence[ListedFile]) -> Generator[tuple[ListedFile, bytes | None]]:
        """Yield files with their bytes, in the order given, one at a time.

        None stands for one that isn't there, can't be read or has become larger than `Listed.most`."""


def larger(path: str, most: int) -> RepositoryError:
    """Return the error for a file that is larger than it may be."""
    return RepositoryError(f"{path!r} has more than {most:,} bytes; shorten it", path=path)
