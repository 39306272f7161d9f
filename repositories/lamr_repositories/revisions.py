"""The files of one git revision, read from git's objects; the work tree isn't looked at."""

import functools
import os
import subprocess
from collections.abc import Generator, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, NamedTuple

from lamr_repositories.errors import GitError, RepositoryError, SlowGitError
from lamr_repositories.git import SECONDS, git_process, list_rows, run_git, slow
from lamr_repositories.git_trust import refuse_foreign_objects
from lamr_repositories.safe_root import LINK, problem_of
from lamr_repositories.sources import MOST_BYTES, FileSource, ListedFile, larger
from lamr_repositories.watch import Watch

COUNT_TREE = ("ls-tree", "-r", "-z", "--full-tree", "--name-only")
LIST_TREE = ("ls-tree", "-r", "-z", "-l", "--full-tree")
"""The command whose rows `read_tree` reads; the tree follows. `COUNT_TREE` gives a row for each of its rows."""


class Entry(NamedTuple):
    """What a tree holds at a path."""

    mode: str  # git's six digits, such as `100644`
    name: str  # of the object, in hexadecimal digits
    size: int | None  # bytes; None for a submodule, and for what the repository lacks
    path: bytes


def read_tree(rows: Iterable[bytes]) -> Iterator[Entry]:
    """Read what `LIST_TREE` printed."""
    for row in rows:
        head, _, path = row.partition(b"\t")
        mode, _kind, name, size = head.decode().split()
        yield Entry(mode, name, int(size) if size.isdigit() else None, path)


def read_object(stream: IO[bytes], most: int | None = None) -> tuple[str, bytes | None] | None:
    """Read the next answer of `git cat-file --batch`; None at the end of the stream, or where it makes no sense.

    A content of more than `most` bytes isn't kept. One that is longer than it says would be taken for the answers about
    the objects after it.

    Returns:
        the object's name and content; None as the content where the repository lacks it, or it is longer, or no
        file."""
    head = stream.readline().decode("utf-8", "replace").split()
    if not head:
        return None
    if len(head) != 3 or not head[2].isdigit():
        return head[0], None
    name, kind, size = head[0], head[1], int(head[2])
    if kind == "blob" and (most is None or size <= most):
        data = stream.read(size + 1)
        return (name, data[:-1]) if len(data) == size + 1 and data.endswith(b"\n") else None
    left, part = size + 1, b""
    while left and (part := stream.read(min(left, _PART))):
        left -= len(part)
    return None if left or not part.endswith(b"\n") else (name, None)


_PART = 1 << 20


MISSING = "missing from git's objects"
_LINK, _FILE = "120000", "100"
_ASKED_AT_ONCE = 64  # names of blobs, which a pipe holds while git answers
_FEW_SECONDS = 2.0
_MOST_STARTS = 100
"""git ends at an object that is damaged, and is started again behind it so often."""


class Revision(FileSource):
    """The files of one git revision."""

    def __init__(self, root: Path, revision: str, name: str = "") -> None:
        """Find the revision; the name is the repository's where its folder is made for one question. Raises
        `RepositoryError`: git knows no repository there, refuses it, or knows not the revision."""
        if not root.is_dir():
            raise RepositoryError(f"{root} isn't a folder; name a repository", path=root)
        self._root = root
        self.name = f"revisions {name or root.absolute()}"
        refuse_foreign_objects(root)
        self._place = root if is_bare(root) else None
        self._folder = root if self._place is None else None
        prefix = os.fsdecode(self._asked("rev-parse", "--show-prefix")).removesuffix("\n")
        name = f"{revision}^{{commit}}"
        found = ("rev-parse", "--verify", "-q", "--end-of-options", name)
        done = run_git(*found, place=self._place, folder=self._folder, check=False)
        if done.returncode:
            raise RepositoryError(
                f"{root} has no revision {revision!r}; fetch it, or name another", path=root
            )
        self.commit = done.stdout.decode().split()[-1]
        self._tree = f"{self.commit}:{prefix}"

    def files(self) -> Iterator[ListedFile]:
        for entry in read_tree(self._rows()):
            path = os.fsdecode(entry.path)
            if not entry.mode.startswith(_FILE):
                yield ListedFile(path, 0, LINK if entry.mode == _LINK else "submodule")
            elif entry.size is None:
                yield ListedFile(path, 0, MISSING)
            else:
                yield ListedFile(path, entry.size, problem_of(path), stamp=entry.name)

    def read(self, path: str, most: int = MOST_BYTES) -> bytes | None:
        name = f"{self._tree}{path}"
        size = run_git("cat-file", "-s", name, check=False, place=self._place, folder=self._folder).stdout
        if size.strip().isdigit() and int(size) > most:
            raise larger(path, most)
        # A line end would be the end of the question.
        return next(self._answers([(name, most)]), None) if size and name.isprintable() else None

    def read_all(self, listed: Sequence[ListedFile]) -> Generator[tuple[ListedFile, bytes | None]]:
        """See `Source.read_all`; one git process answers for all files."""
        yield from zip(listed, self._answers([(each.stamp, each.most) for each in listed]), strict=True)

    def _rows(self) -> list[bytes]:
        rows = functools.partial(list_rows, place=self._place, folder=self._folder)
        try:
            return rows(*LIST_TREE, self._tree, seconds=_FEW_SECONDS, in_all=True)
        except SlowGitError:
            # A list without end is known by its names, long before git has asked for all sizes.
            rows(*COUNT_TREE, self._tree)
            return rows(*LIST_TREE, self._tree)

    def _asked(self, *arguments: str) -> bytes:
        try:
            return run_git(*arguments, place=self._place, folder=self._folder).stdout
        except GitError as error:
            if "not a git repository" not in error.said:
                raise
            raise RepositoryError(
                f"{self._root} is no git repository ({error.said}); leave the revision out", path=self._root
            ) from error

    def _answers(self, questions: Sequence[tuple[str, int]]) -> Iterator[bytes | None]:
        """Yield the contents of blobs, by their names; None for what isn't there, or is larger than it may be."""
        done = 0
        for _ in range(_MOST_STARTS):
            for answer in self._run(questions[done:]):
                done += 1
                yield answer
            if done >= len(questions):
                return
            done += 1
            yield None  # git ended at this one
        yield from (None for _ in questions[done:])

    def _run(self, questions: Sequence[tuple[str, int]]) -> Iterator[bytes | None]:
        """Yield what one git answers, until it ends."""
        pipe = subprocess.PIPE
        with git_process(
            "cat-file", "--batch", stdin=pipe, stdout=pipe, place=self._place, folder=self._folder
        ) as git:
            assert git.stdin is not None
            assert git.stdout is not None
            with Watch(git, SECONDS) as watch:
                for first in range(0, len(questions), _ASKED_AT_ONCE):
                    asked = questions[first : first + _ASKED_AT_ONCE]
                    try:
                        git.stdin.write("".join(f"{name}\n" for name, _ in asked).encode("utf-8", "replace"))
                        git.stdin.flush()
                    except OSError:
                        return
                    for _, most in asked:
                        watch.beat()
                        answer = read_object(git.stdout, most)
                        watch.rest()
                        if watch.late:
                            raise slow(self._root, "cat-file", SECONDS)
                        if answer is None:
                            return
                        yield answer[1]


def is_bare(root: Path) -> bool:
    """Return whether a folder is a bare repository, which has files at its revisions only."""
    return (root / "HEAD").is_file() and (root / "objects").is_dir()
