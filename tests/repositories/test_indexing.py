"""A later question reads only what may have changed, and finds what reading everything would have found."""

import os
import sqlite3
import time
from collections.abc import Generator, Sequence
from dataclasses import astuple
from pathlib import Path

import pytest
from lamr_base.cache import Cache
from lamr_repositories.file_index import index_file
from lamr_repositories.folders import Folder, NamedFiles
from lamr_repositories.indexing import Book, RepositoryIndex, Row, index_repository, keep_book, read_book
from lamr_repositories.revisions import Revision
from lamr_repositories.segment import Segment, to_bytes
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
            kept,
            on_progress=lambda *step: steps.append(step),
        )
    assert steps == [(done, len(steps)) for done in range(1, len(steps) + 1)]
    assert len(watched.read_paths) == len(set(watched.read_paths))
    return found, count, set(watched.read_paths)


def facts(found: RepositoryIndex, count: WalkCount) -> object:
    """All that an index and a count say, for comparison."""
    pieces = found.pieces
    table = pieces.index
    return (
        [each.path for each in found.files],
        [row[1:5] for row in found.rows],
        pieces.paths,
        [
            array.tolist()
            for array in (table.lines, table.spans, table.outlined, table.definitions, pieces.file)
        ],
        [pieces.by_piece.tolist(), pieces.by_file.tolist()],
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


def test_another_version_reads_everything_again(
    repository: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index(Revision(repository, "HEAD"), cache)
    monkeypatch.setattr("lamr_repositories.indexing.FORMAT", "next")
    found, _, read = index(Revision(repository, "HEAD"), cache)
    assert read == EVERYTHING
    assert found.cached == 0


def test_a_list_of_files_leaves_what_is_known_of_others(old: Path, cache: Path) -> None:
    index(Folder(old), cache)
    listed, _, read = index(NamedFiles(old, ["src/pool.py", "README.md"]), cache)
    assert read == set()
    assert [each.path for each in listed.files] == ["README.md", "src/pool.py"]
    write_files(old, {"README.md": "Pools.\n"})
    assert index(NamedFiles(old, ["README.md"]), cache)[2] == {"README.md"}
    assert index(Folder(old), cache)[2] == {"README.md"}  # it was changed just now


def test_files_that_went_away_are_forgotten_and_little_is_left_of_them(old: Path, cache: Path) -> None:
    def kept() -> Book:
        with Cache(cache) as opened:
            assert len(opened.keys("repository")) == 1 + len(read_book(opened, Folder(old).name).segments)
            return read_book(opened, Folder(old).name)

    for number in range(12):
        write_files(old, {"src/pool.py": POOL + f"SIZE = {number}\n"})
        found, count, _ = index(Folder(old), cache)
        assert facts(found, count) == facts(*index(Folder(old), None)[:2])
        assert len(kept().segments) <= 3
        assert sum(len(each.index.lines) for each in kept().segments) <= 2 * len(READ_FIRST)
    (old / "src/pool.py").unlink()
    found, count, _ = index(Folder(old), cache)
    assert "src/pool.py" not in kept().rows
    assert facts(found, count) == facts(*index(Folder(old), None)[:2])


def test_new_files_are_indexed_alone_however_many_segments_become_one(old: Path, cache: Path) -> None:
    index(Folder(old), cache)
    for number in range(8):
        write_files(old, {f"src/new{number}.py": f"waiting = {number}\n"})
        found, count, _ = index(Folder(old), cache)
        assert found.cached == len(found.files) - 1
        assert facts(found, count) == facts(*index(Folder(old), None)[:2])


def test_files_indexed_in_any_number_of_steps_are_the_same(
    old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(old, {f"src/new{number}.py": f"waiting = {number}\n" for number in range(8)})
    at_once = index(Folder(old), None)
    monkeypatch.setattr("lamr_repositories.indexing._MOST_CELLS", 0)
    assert facts(*index(Folder(old), None)[:2]) == facts(*at_once[:2])


def test_two_processes_that_write_at_once_keep_a_whole_index(repository: Path, cache: Path) -> None:
    """Both begin with the same book, and the later one's stays; what it names is there."""
    index(Revision(repository, "HEAD"), cache)
    name = Revision(repository, "HEAD").name
    with Cache(cache) as one, Cache(cache) as two:
        begun = read_book(one, name)
        for number, each in enumerate((one, two)):
            row = Row("stamp", None, "python", str(number), 1, len(begun.segments[0].index.lines))
            segment = Segment(to_bytes(index_file(POOL * (number + 1), "python")))
            book = Book({**begun.rows, f"{number}.py": row}, (*begun.segments, segment))
            keep_book(each, name, book, begun)
        assert read_book(one, name).rows == book.rows
    found, count, _ = index(Revision(repository, "HEAD"), cache)
    assert facts(found, count) == facts(*index(Revision(repository, "HEAD"), None)[:2])


def test_stamps_tell_files_apart(old: Path) -> None:
    stamps = {each.path: each.stamp for each in Folder(old).files() if not each.problem}
    assert "" not in stamps.values()
    assert len(set(stamps.values())) == len(stamps)
    assert astuple(ListedFile("a", 1)) == ("a", 1, None, "")
