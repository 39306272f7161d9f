"""Entries of the cache that are whole and say nonsense, as a hand can write them, count as missing."""

import json
import os
import sqlite3
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from lamr_base.cache import Cache
from lamr_repositories import PackResult, pack
from lamr_repositories.file_index import index_file
from lamr_repositories.indexing import KIND, Book, Row, keep_book, read_book
from lamr_repositories.segment import Segment, to_bytes

from tests.repositories.conftest import POOL, QUERY

Damage = Callable[[bytes], bytes]


DAMAGE: dict[str, Damage] = {
    "empty": lambda _: b"",
    "one byte": lambda old: old[:1],
    "cut": lambda old: old[: len(old) // 2],
    "a byte more": lambda old: old + b"\0",
    "two bytes more": lambda old: old + b"\0\0",
    "by lot": lambda old: os.urandom(len(old)),
    "zeros": lambda old: bytes(len(old)),
    "ones": lambda old: b"\xff" * len(old),
    "not compressed": lambda _: b"null",
    "compressed nothing": lambda _: zlib.compress(b""),
    "compressed zeros": lambda _: zlib.compress(bytes(1200)),
    "compressed ones": lambda _: zlib.compress(b"\xff" * 1200),
    "a bomb": lambda _: zlib.compress(bytes(1 << 27), 9),
    "brackets": lambda _: b"[" * 100_000,
    "compressed brackets": lambda _: zlib.compress(b"[" * 100_000),
    "a list": lambda _: zlib.compress(b"[1, 2, 3, 4]"),
    "many parts": lambda old: b"\xff" * 4 + old[4:],
    "a part too long": lambda old: old[:4] + b"\xff" * 4 + old[8:],
}


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], PackResult]:
    root = tmp_path_factory.mktemp("r")
    (root / "pool.py").write_text(POOL)
    (root / "view.py").write_text("def view(pool):\n    return pool.waiting\n")
    return lambda cache: pack(root, QUERY, 800, cache=cache)


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("digits", [32, 64], ids=["segments", "the list of files"])
def test_a_pack_is_the_same_whatever_the_cache_says(
    ask: Callable[[Path], PackResult], tmp_path: Path, damage: str, digits: int
) -> None:
    file = tmp_path / "cache.sqlite"
    first = ask(file)
    assert ask(file).text == first.text
    with Cache(file) as cache:
        old = cache.get(KIND, [key for key in cache.keys(KIND) if len(key) == digits])
        assert old
        cache.put(KIND, {key: DAMAGE[damage](data) for key, data in old.items()})
    again = ask(file)
    assert again.notes == ()
    assert again.text == first.text
    assert ask(file).text == first.text


def test_a_pack_is_the_same_without_the_caches_table(
    ask: Callable[[Path], PackResult], tmp_path: Path
) -> None:
    file = tmp_path / "cache.sqlite"
    first = ask(file)
    with sqlite3.connect(file) as connection:
        connection.execute("DROP TABLE entries")
    connection.close()
    assert ask(file).text == first.text


INDEX = index_file(POOL, "python")


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("cells", lambda x: x + np.uint64(1000)),
        ("spans", lambda x: x + 10_000),
        ("counts", lambda x: x + 1),
        ("lines", lambda x: x - x),
        ("lines", lambda x: x + (1 << 40)),
        ("lengths", lambda x: x[:-1]),
        ("digests", lambda x: x[:-1]),
        ("outlined", lambda x: x + 1),
        ("definitions", lambda x: x + 10_000),
        ("definitions", lambda x: x - 10_000),
        ("times", lambda x: x[:-1]),
    ],
)
def test_an_index_whose_parts_do_not_fit_is_no_index(
    part: str, change: Callable[[np.ndarray], np.ndarray]
) -> None:
    wrong = replace(INDEX, **{part: change(getattr(INDEX, part))})
    with pytest.raises(ValueError, match="no index"):
        Segment(to_bytes(wrong)).read()


ROW = ["a.py", "stamp", None, "python", "key", 3, 0]


@pytest.mark.parametrize(
    "row",
    [
        [*ROW, 1],
        *([*ROW[:place], wrong, *ROW[place + 1 :]] for place in range(1, 7) for wrong in ([], 1.5)),
        ["a.py", "stamp", "\x1b[31m", "python", "key", 3, 0],
        ["a.py", "stamp", None, "python", "key", -3, 0],
        ["a.py", "stamp", None, "python", "key", 3, -2],
        ["a.py", "stamp", None, "python", "key", 3, 1],
        ["a.py", "stamp", None, "python", "key", 3, True],
    ],
)
def test_a_list_of_files_that_says_nonsense_is_none(tmp_path: Path, row: list[object]) -> None:
    with Cache(tmp_path / "cache.sqlite") as cache:
        book = Book({"a.py": Row(*ROW[1:])}, (Segment(to_bytes(INDEX)),))
        keep_book(cache, "name", book, Book())
        assert read_book(cache, "name").rows == book.rows
        [head] = [key for key in cache.keys(KIND) if len(key) == 64]
        names, _, _ = cache.get(KIND, [head])[head].partition(b"\n")
        cache.put(KIND, {head: names + b"\n" + zlib.compress(json.dumps([row]).encode())})
        assert not read_book(cache, "name").rows
