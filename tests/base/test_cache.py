"""A cache that others write to, that is broken, or that can't be used."""

import multiprocessing
import os
import sqlite3
import stat
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from lamr_base.cache import MOST_ENTRY_BYTES, Cache, default_cache_file, unpacked
from lamr_base.private_files import cache_folder


def test_what_is_put_is_there_for_others(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "cache.sqlite"
    with Cache(file) as one, Cache(file) as other:
        one.put("a", {str(n): bytes([n % 256]) for n in range(1500)})
        assert other.get("a", (str(n) for n in range(0, 3000, 2))) == {
            str(n): bytes([n % 256]) for n in range(0, 1500, 2)
        }
        assert other.get("b", ["1"]) == {}
    assert one.get("a", ["1"]) == {}


def test_without_a_file_nothing_is_kept() -> None:
    cache = Cache(None)
    cache.put("a", {"1": b"x"})
    assert cache.get("a", ["1"]) == {}


@pytest.mark.parametrize("damage", ["text", "middle", "version"])
def test_a_broken_cache_is_set_aside_and_that_is_said(tmp_path: Path, damage: str) -> None:
    file = tmp_path / "cache.sqlite"
    with Cache(file) as cache:
        cache.put("a", {str(n): b"x" * 2000 for n in range(500)})
    if damage == "text":
        file.write_text("not a database, but long enough to be looked at as one" * 20)
    elif damage == "middle":
        data = bytearray(file.read_bytes())
        data[4096 : len(data) // 2] = os.urandom(len(data) // 2 - 4096)
        file.write_bytes(data)
    else:
        with sqlite3.connect(file) as connection:
            connection.execute("PRAGMA user_version = 99")
        connection.close()
    notes: list[str] = []
    with Cache(file, notes.append) as cache:
        cache.get("a", (str(n) for n in range(500)))
        cache.put("a", {"new": b"y"})
        assert cache.get("a", ["new"]) == {"new": b"y"}
    assert len(notes) == 1
    assert "set aside" in notes[0]
    assert len(list(tmp_path.glob("cache.sqlite.broken"))) == 1


def test_a_cache_that_cannot_be_opened_is_done_without(tmp_path: Path) -> None:
    (tmp_path / "folder").write_text("a file where a folder should be")
    notes: list[str] = []
    with Cache(tmp_path / "folder" / "cache.sqlite", notes.append) as cache:
        cache.put("a", {"1": b"x"})
        assert cache.get("a", ["1"]) == {}
    assert "going on without it" in notes[0]


def _write(file: Path, first: int) -> None:
    with Cache(file) as cache:
        for n in range(first, first + 200):
            cache.put("a", {str(n): str(n).encode() * 50})
            assert cache.get("a", [str(n)])


def test_two_processes_do_not_hurt_each_other(tmp_path: Path) -> None:
    file = tmp_path / "cache.sqlite"
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_write, args=(file, first)) for first in (0, 150)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0, 0]
    with Cache(file) as cache:
        assert len(cache.get("a", (str(n) for n in range(350)))) == 350


def _modes(folder: Path) -> set[int]:
    return {stat.S_IMODE(file.lstat().st_mode) for file in folder.iterdir()}


def test_what_is_kept_is_the_users_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    file = default_cache_file()
    assert file is not None
    assert file.parent == cache_folder()
    cache_folder().mkdir(parents=True, mode=0o755)  # as an earlier version left it
    file.touch(mode=0o644)
    before = os.umask(0)
    try:
        with Cache(file) as cache:
            cache.put("a", {"1": b"x"})
            assert _modes(file.parent) == {0o600}
            assert len(list(file.parent.iterdir())) == 3
    finally:
        os.umask(before)
    assert stat.S_IMODE(file.parent.lstat().st_mode) == 0o700


def test_a_folder_that_the_user_named_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o775)
    with Cache(tmp_path / "shared" / "cache.sqlite") as cache:
        cache.put("a", {"1": b"x"})
    assert stat.S_IMODE((tmp_path / "shared").stat().st_mode) == 0o775
    assert _modes(tmp_path / "shared") == {0o600}


_STRANGE: dict[str, Callable[[Path, Path], object]] = {
    "a link": lambda file, victim: file.symlink_to(victim),
    "a second name": lambda file, victim: os.link(victim, file),
    "a FIFO": lambda file, _: os.mkfifo(file),
    "a folder": lambda file, _: file.mkdir(),
}
if hasattr(os, "geteuid") and os.geteuid() == 0:  # only root can give a file away
    _STRANGE["somebody else's"] = lambda file, _: (file.touch(), os.chown(file, 65534, 65534))


@pytest.mark.parametrize("end", ["", "-wal", "-shm", "-journal"])
@pytest.mark.parametrize("what", _STRANGE)
def test_what_is_not_the_users_own_file_is_not_used(tmp_path: Path, what: str, end: str) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    file = tmp_path / "cache.sqlite"
    if end:
        with Cache(file) as cache:
            cache.put("a", {"1": b"x"})
    _STRANGE[what](file.with_name(file.name + end), victim)
    notes: list[str] = []
    with Cache(file, notes.append) as cache:
        cache.put("a", {"2": b"x"})
        assert cache.get("a", ["1", "2"]) == {}
    assert "going on without it" in notes[0]
    assert victim.read_text() == "precious"


def test_another_programs_database_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "places.sqlite"
    with sqlite3.connect(file) as other:
        other.execute("CREATE TABLE bookmarks (x)")
        other.execute("CREATE TABLE entries (x)")
    other.close()
    before = file.read_bytes()
    notes: list[str] = []
    with Cache(file, notes.append) as cache:
        cache.put("a", {"1": b"x"})
    assert "another program" in notes[0]
    assert file.read_bytes()[100:] == before[100:]


def test_what_an_earlier_format_kept_is_made_again_without_a_word(tmp_path: Path) -> None:
    file = tmp_path / "cache.sqlite"
    with sqlite3.connect(file) as old:
        old.execute(
            "CREATE TABLE entries (kind TEXT, key TEXT, value BLOB, made INTEGER, PRIMARY KEY (kind, key))"
        )
        old.execute("INSERT INTO entries VALUES ('a', '1', x'00', 0)")
        old.execute("PRAGMA user_version = 1")
    old.close()
    notes: list[str] = []
    with Cache(file, notes.append) as cache:
        assert cache.get("a", ["1"]) == {}
        cache.put("a", {"1": b"y"})
        assert cache.get("a", ["1"]) == {"1": b"y"}
    assert notes == []


@pytest.mark.parametrize(
    "damage",
    [
        "value = x''",
        "value = 'x'",
        "value = NULL",
        "value = 7",
        "value = 1.5",
        "value = substr(value, 1, 18)",
        "value = value || x'00'",
        "value = x'00' || value",
        "value = randomblob(200)",
        "value = zeroblob(100000000)",
        "value = (SELECT value FROM entries WHERE key = '2')",
        "value = (SELECT value FROM entries WHERE kind = 'b')",
    ],
)
def test_an_entry_that_is_not_what_was_put_there_is_missing(tmp_path: Path, damage: str) -> None:
    file = tmp_path / "cache.sqlite"
    with Cache(file) as cache:
        cache.put("a", {"1": b"one", "2": b"two" * 20})
        cache.put("b", {"1": b"other"})
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE t (kind TEXT, key TEXT, value, made INTEGER)")
        connection.execute("INSERT INTO t SELECT * FROM entries")
        connection.execute("DROP TABLE entries")
        connection.execute(
            "ALTER TABLE t RENAME TO entries"
        )  # without NOT NULL, so that any damage can be done
        connection.execute(f"UPDATE entries SET {damage} WHERE kind = 'a' AND key = '1'")
    connection.close()
    notes: list[str] = []
    with Cache(file, notes.append) as cache:
        assert cache.get("a", ["1", "2"]) == {"2": b"two" * 20}
        cache.put("c", {"1": b"new"})
        assert cache.get("c", ["1"]) == {"1": b"new"}
    assert notes == []


def test_what_unpacks_to_too_much_or_not_at_all_is_refused() -> None:
    assert unpacked(zlib.compress(b"x" * 1000)) == b"x" * 1000
    whole = zlib.compress(b"x" * 1000)
    for wrong in (b"", b"x", whole[:-1], whole + b"x", zlib.compress(b"\0" * (MOST_ENTRY_BYTES + 1))):
        with pytest.raises(ValueError, match=r"not compressed|cut off"):
            unpacked(wrong)


def test_without_a_home_nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(_: type[Path]) -> Path:
        raise RuntimeError("no home")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", classmethod(nobody))
    assert default_cache_file() is None


def test_keys_are_those_of_a_kind_and_all_can_be_dropped(tmp_path: Path) -> None:
    file = tmp_path / "cache.sqlite"
    with Cache(file) as cache:
        cache.put("one", {"a": b"x" * 100_000, "b": b"y"})
        cache.put("other", {"c": b"z"})
        assert cache.keys("one") == {"a", "b"}
        cache.clear()
        assert cache.keys("one") == cache.keys("other") == set()
        assert file.stat().st_size < 50_000
        assert file.with_name(f"{file.name}-wal").stat().st_size == 0
        cache.put("one", {"a": b"again"})
    with Cache(file) as cache:
        assert cache.get("one", ["a"]) == {"a": b"again"}


def test_the_file_stays_within_its_bytes_while_it_is_written(tmp_path: Path) -> None:
    file = tmp_path / "cache.sqlite"
    with Cache(file, most_bytes=1 << 20) as cache:
        for number in range(40):
            cache.put("one", {str(number): bytes(100_000)})
            assert file.stat().st_size < 1.3 * (1 << 20)
