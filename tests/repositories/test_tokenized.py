"""Tokens that are kept are those that the tokenizer gives."""

from __future__ import annotations

import sqlite3
import zlib
from pathlib import Path

import numpy as np
import pytest
from lamr_contract.cache import Cache
from lamr_contract.encoding import PromptEncoder
from lamr_contract.spec import bundled_repository
from lamr_repositories.tokenized import tokenized

TEXTS = ["def f(x):\n    return x + 1\n", "", "naïve — «text» 🙂\r\n\ttabs\n", "é" * 40_000 + " end"]


def tokens(texts: list[str], file: Path | None, model: str = "m") -> list[tuple[list[int], list[list[int]]]]:
    encoder = PromptEncoder.from_repository(bundled_repository())
    with Cache(file) as cache:
        found = [tokenized(encoder, text, cache, model) for text in texts]
    assert all(ids.dtype == offsets.dtype == np.int64 for ids, offsets in found)
    return [(ids.tolist(), offsets.reshape(-1, 2).tolist()) for ids, offsets in found]


def count(file: Path) -> int:
    with sqlite3.connect(file) as connection:
        (found,) = connection.execute("SELECT COUNT(*) FROM entries WHERE kind = 'tokens'").fetchone()
    connection.close()
    return int(found)


def packed(*numbers: int) -> bytes:
    return zlib.compress(np.array(numbers, "<i4").tobytes())


@pytest.mark.parametrize(
    "damage",
    [
        *(None, b"", b"\1\2", zlib.compress(b"1234"), zlib.compress(bytes(1 << 27), 9)),
        *(packed(-1, 0, 0), packed(1, -1, 1), packed(1, 5, -1), packed(1, 1, 0, 1_000_000, 0, 1)),
        *(packed(1, 1, 3, 1, -3, 1), packed(1, 2)),
    ],
)
def test_kept_tokens_are_the_tokenizers(tmp_path: Path, damage: bytes | None) -> None:
    file, texts = tmp_path / "cache.sqlite", TEXTS
    plain = tokens(texts, None)
    assert tokens(texts, file) == plain
    assert count(file) == 4
    if damage is not None:
        with sqlite3.connect(file) as connection:
            keys = [key for (key,) in connection.execute("SELECT key FROM entries WHERE kind = 'tokens'")]
        connection.close()
        with Cache(file) as cache:
            cache.put("tokens", dict.fromkeys(keys, damage))
    assert tokens(texts[::-1], file) == plain[::-1]
    assert count(file) == 4


def test_other_models_have_tokens_of_their_own(tmp_path: Path) -> None:
    file = tmp_path / "cache.sqlite"
    tokens(TEXTS[:1], file)
    tokens(TEXTS[:1], file, "other")
    assert count(file) == 2
