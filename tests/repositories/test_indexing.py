"""A later question reads only what may have changed, and finds what reading everything would have found."""

import os
import sqlite3
import time
from collections.abc import Generator, Sequence
from dataclasses import astuple
from pathlib import Path

import pytest
from lamr_base.cache import Cache
from lamr_repositories.book import Books, Growing, Memory, Row
from lamr_repositories.file_index import index_file
from lamr_repositories.folders import Folder, NamedFiles
from lamr_repositories.indexing import RepositoryIndex, index_repository
from lamr_repositories.revisions import Revision
from lamr_repositories.sources import MOST_BYTES, FileSource, ListedFile
from lamr_repositories.walk import WalkCount, WalkOptions

from tests.repositories.conftest import POOL, QUERY, git, write_files

READ_FIRST = {
    "src/pool.py",
    "src/colours.py",
    "src/retry.go",
    "web/view.ts",
    "tests/test_pool.py",
    "README.md",
}
"""The files of `conftest` that count; the last two below are read to see that they don't."""
LEFT_OUT_BY_CONTENT = {"data.bin", "empty.py"}


class Watched(FileSource):
    """Another source, of which it is written down what was read."""

    def __init__(self, source: FileSource) -> None:
        self.source = source
        self.name, self.is_whole = source.name, source.is_whole
        self.read_paths: list[str] = []

    def files(self) -> list[ListedFile]:  # type: ignore[override]
        return list(self.source.files())

    def read(self, path: str, most: int = MOST_BYTES) -> bytes | None:
        return self.source.read(path, most)

    def read_all(self, listed: Sequence[ListedFile]) -> Generator[tuple[ListedFile, bytes | None]]:
        for each, data in self.source.read_all(listed):
            self.read_paths.append(each.path)
            yield each, data


def index(
    source: FileSource,
    cache: Path | None,
    options: WalkOptions | None = None,
    memory: Memory | None = None,
) -> tuple[RepositoryIndex, WalkCount, set[str]]:
    """The index of a source, what was counted, and the paths of the files that were read."""
    watched, count = Watched(source), WalkCount()
    steps: list[tuple[int, int]] = []
    with Cache(cache) as kept:
        found = index_repository(
            watched,
            options or WalkOptions(),
            count,
            QUERY,
            Books(kept, memory),
            on_progress=lambda *step: steps.append(step),
        )
    assert steps == [(done, len(steps)) for done in range(1, len(steps) + 1)]
    assert len(watched.read_paths) == len(set(watched.read_paths))
    return found, count, set(watched.read_paths)


def facts(found: RepositoryIndex, count: WalkCount) -> object:
    """All that an index and a count say, for comparison."""
    pieces, book = found.pieces, found.book
    paths = [each.path for each in found.files]
    return (
        [(path, *book.rows[path][1:5], book.lines(path), book.definitions(path).tolist()) for path in paths],
        (found.tokens, found.lines, pieces.table.paths),
        [
            array.tolist()
            for array in (pieces.table.file, pieces.table.spans, pieces.by_piece, pieces.by_file)
        ],
        (count.files, count.read, dict(count.left_out)),
    )


@pytest.fixture
def old(folder: Path) -> Path:
    """The folder, whose files were changed long enough ago for their times to be trusted."""
    time.sleep(2.1)  # no file's change time can be set back
    return folder


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache.sqlite"


def test_unchanged_files_of_a_folder_are_read_once(old: Path, cache: Path) -> None:
    first = index(Folder(old), cache)
    assert first[2] == READ_FIRST | LEFT_OUT_BY_CONTENT
    again = index(Folder(old), cache)
    assert again[2] == set()
    assert again[0].cached == len(READ_FIRST)
    assert facts(*again[:2]) == facts(*first[:2]) == facts(*index(Folder(old), None)[:2])


def test_changed_new_and_renamed_files_are_read_again(old: Path, cache: Path) -> None:
    index(Folder(old), cache)
    kept = (old / "src/pool.py").stat()
    write_files(old, {"src/pool.py": POOL.replace("waiting", "patient"), "src/new.py": "x = 1\n"})
    os.utime(old / "src/pool.py", ns=(kept.st_atime_ns, kept.st_mtime_ns))  # as an archiver would
    (old / "src/retry.go").rename(old / "src/again.go")
    again = index(Folder(old), cache)
    assert again[2] == {"src/pool.py", "src/new.py", "src/again.go"}
    assert facts(*again[:2]) == facts(*index(Folder(old), None)[:2])


def test_what_was_written_a_moment_ago_is_not_trusted(old: Path, cache: Path) -> None:
    """Two changes within one tick of a clock leave the same times; here that moment is made to last."""
    soon = time.time() + 3600
    os.utime(old / "src/pool.py", (soon, soon))
    index(Folder(old), cache)
    assert "src/pool.py" in index(Folder(old), cache)[2]


def test_a_revision_is_read_once_and_the_next_one_where_it_differs(repository: Path, cache: Path) -> None:
    first = index(Revision(repository, "HEAD"), cache)
    assert first[2] == READ_FIRST | LEFT_OUT_BY_CONTENT
    assert index(Revision(repository, "HEAD"), cache)[2] == set()
    write_files(repository, {"src/pool.py": POOL + "\n\nSIZE = 3\n"})
    git(repository, "commit", "-q", "-a", "-m", "second")
    changed = index(Revision(repository, "HEAD"), cache)
    assert changed[2] == {"src/pool.py"}
    assert facts(*changed[:2]) == facts(*index(Revision(repository, "HEAD"), None)[:2])
    assert facts(*index(Revision(repository, "HEAD~"), cache)[:2]) == facts(*first[:2])


def test_files_that_programs_wrote_are_read_when_they_count(repository: Path, cache: Path) -> None:
    write_files(repository, {"made.py": "# @generated\nclosed = True\n"})
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "made")
    source, everything = Revision(repository, "HEAD"), WalkOptions(everything=True)
    assert index(source, cache)[1].left_out["generated"] == 2
    found, count, read = index(source, cache, everything)
    assert read == {"made.py", "vendor/pool.py", "api.pb.go", "app.min.js"}
    assert facts(found, count) == facts(*index(source, None, everything)[:2])
    assert index(source, cache, everything)[2] == set()
    assert facts(*index(source, cache)[:2]) == facts(*index(source, None)[:2])


EVERYTHING = READ_FIRST | LEFT_OUT_BY_CONTENT


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM entries WHERE length(key) = 32",  # segments
        "UPDATE entries SET value = x'0102'",
        "UPDATE entries SET value = substr(value, 1, length(value) - 1)",
        "DELETE FROM entries",
    ],
)
def test_what_is_no_longer_kept_is_made_again(repository: Path, cache: Path, damage: str) -> None:
    first = index(Revision(repository, "HEAD"), cache)
    with sqlite3.connect(cache) as connection:
        connection.execute(damage)
    connection.close()
    again = index(Revision(repository, "HEAD"), cache)
    assert again[2] == EVERYTHING
    assert facts(*again[:2]) == facts(*first[:2])
    assert index(Revision(repository, "HEAD"), cache)[2] == set()


def test_another_version_reads_everything_again_and_earlier_ones_give_their_place_back(
    repository: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Cache(cache) as kept:
        kept.put("index", {"0": bytes(1 << 20)})
        kept.put("seen", {"0": b"[]"})
    index(Revision(repository, "HEAD"), cache)
    assert cache.stat().st_size < 1 << 19
    monkeypatch.setattr("lamr_repositories.book.FORMAT", "next")
    found, _, read = index(Revision(repository, "HEAD"), cache)
    assert read == EVERYTHING
    assert found.cached == 0


def test_a_process_that_stays_needs_no_file(old: Path, cache: Path) -> None:
    memory = Memory()
    first = index(Folder(old), cache, None, memory)
    cache.unlink()
    write_files(old, {"src/new.py": "waiting = 1\n"})
    again = index(Folder(old), cache, None, memory)
    assert again[2] == {"src/new.py"}
    assert facts(*again[:2]) == facts(*index(Folder(old), None)[:2])
    assert facts(*first[:2]) != facts(*again[:2])


def test_a_list_of_files_leaves_what_is_known_of_others(old: Path, cache: Path) -> None:
    index(Folder(old), cache)
    listed, _, read = index(NamedFiles(old, ["src/pool.py", "README.md"]), cache)
    assert read == set()
    assert [each.path for each in listed.files] == ["README.md", "src/pool.py"]
    write_files(old, {"README.md": "Pools.\n"})
    assert index(NamedFiles(old, ["README.md"]), cache)[2] == {"README.md"}
    assert index(Folder(old), cache)[2] == {"README.md"}  # it was changed just now


def test_files_that_went_away_are_forgotten_and_little_is_left_of_them(old: Path, cache: Path) -> None:
    for number in range(12):
        write_files(old, {"src/pool.py": POOL + f"SIZE = {number}\n"})
        found, count, _ = index(Folder(old), cache)
        assert facts(found, count) == facts(*index(Folder(old), None)[:2])
        assert len(found.book.segments) <= 3
        assert sum(len(each.lines) for each in found.book.segments) <= 2 * len(READ_FIRST)
    (old / "src/pool.py").unlink()
    found, count, _ = index(Folder(old), cache)
    assert "src/pool.py" not in found.book.rows
    assert facts(found, count) == facts(*index(Folder(old), None)[:2])


def test_two_processes_that_write_at_once_keep_a_whole_index(repository: Path, cache: Path) -> None:
    """Both begin with the same book, and the later one's stays; what it names is there."""
    index(Revision(repository, "HEAD"), cache)
    one, two = Cache(cache), Cache(cache)
    books = [Books(each) for each in (one, two)]
    name = Revision(repository, "HEAD").name
    earlier = [each.read(name) for each in books]
    for number, (each, begun) in enumerate(zip(books, earlier, strict=True)):
        growing = Growing(begun, begun.rows)
        growing.rows[f"{number}.py"] = Row("stamp", None, "python", str(number))
        growing.add([f"{number}.py"], index_file(POOL * (number + 1), "python"))
        each.keep(name, growing.done(), begun)
    for each in (one, two):
        each.close()
    found, count, _ = index(Revision(repository, "HEAD"), cache)
    assert facts(found, count) == facts(*index(Revision(repository, "HEAD"), None)[:2])


def test_stamps_tell_files_apart(old: Path) -> None:
    stamps = {each.path: each.stamp for each in Folder(old).files() if not each.problem}
    assert "" not in stamps.values()
    assert len(set(stamps.values())) == len(stamps)
    assert astuple(ListedFile("a", 1)) == ("a", 1, None, "")
