"""A cache that others write to, that is broken, or that can't be used."""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
from pathlib import Path

import pytest
from lamr_repositories.cache import Cache


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
    assert len(list(tmp_path.glob("cache.sqlite.broken-*"))) == 1


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
