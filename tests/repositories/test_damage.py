"""Entries of the cache that are whole and say nonsense, as a hand can write them, count as missing."""

import json
import os
import sqlite3
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from lamr_base.cache import Cache
from lamr_repositories import PackResult, pack
from lamr_repositories.file_index import FileIndex, index_file

from tests.repositories.conftest import POOL, QUERY

Damage = Callable[[bytes], bytes]
KINDS = ("index", "seen")


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
    "brackets in an index": lambda _: zlib.compress((100_000).to_bytes(4, "little") + b"[" * 100_000),
    "a list": lambda _: b"[1, 2, 3, 4]",
    "another reason": lambda _: json.dumps(["\x1b[31mred", "python", "", 3]).encode(),
    "minus tokens": lambda old: old.replace(b"]", b"").rsplit(b",", 1)[0] + b", -5]",
}


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], PackResult]:
    root = tmp_path_factory.mktemp("r")
    (root / "pool.py").write_text(POOL)
    (root / "view.py").write_text("def view(pool):\n    return pool.waiting\n")
    return lambda cache: pack(root, QUERY, 800, cache=cache)


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_pack_is_the_same_whatever_the_cache_says(
    ask: Callable[[Path], PackResult], tmp_path: Path, damage: str
) -> None:
    file = tmp_path / "cache.sqlite"
    first = ask(file)
    assert ask(file).text == first.text
    with Cache(file) as cache:
        for kind in KINDS:
            with sqlite3.connect(file) as connection:
                keys = [
                    key for (key,) in connection.execute("SELECT key FROM entries WHERE kind = ?", (kind,))
                ]
            connection.close()
            assert keys or kind == "seen"  # a file that was written just now isn't remembered
            old = cache.get(kind, keys)
            cache.put(kind, {key: DAMAGE[damage](data) for key, data in old.items()})
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
        ("piece_of", lambda x: x + 1000),
        ("piece_of", lambda x: x - 1000),
        ("spans", lambda x: x + 10_000),
        ("spans", lambda x: -x),
        ("spans", lambda x: x[::-1]),
        ("bounds", lambda x: x + 1),
        ("bounds", lambda x: x[::-1]),
        ("bounds", lambda x: x[:-1]),
        ("hashes", lambda x: x[:-1]),
        ("times", lambda x: x[:-1]),
        ("lengths", lambda x: x * np.nan),
        ("lengths", lambda x: x + np.inf),
        ("lengths", lambda x: x[:-1]),
    ],
)
def test_an_index_whose_parts_do_not_fit_is_no_index(
    part: str, change: Callable[[np.ndarray], np.ndarray]
) -> None:
    parts = {name: getattr(INDEX, name) for name in INDEX.__dataclass_fields__}
    wrong = FileIndex(**{**parts, part: np.asarray(change(np.asarray(parts[part])))})
    assert FileIndex.from_bytes(INDEX.to_bytes()).lines == INDEX.lines
    with pytest.raises(ValueError, match="not a file's index"):
        FileIndex.from_bytes(wrong.to_bytes())
