"""Originals that lie in no file: kept, shown again by their lines, and forgotten in time."""

import random
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from lamr_agents.local.store import Database
from lamr_agents.local.texts import (
    Archive,
    Place,
    Texts,
    TextsError,
    UnknownTextError,
    default_texts,
    key_of,
    show_command,
)

from tests.command import invoke

TEXT = "one\ntwo\r\n\n\ud800 four\nfive"
DAY = 86_400.0


@pytest.fixture
def texts(tmp_path: Path) -> Iterator[Texts]:
    opened = Texts(tmp_path / "folder" / "texts.sqlite3", most_bytes=5000, most_days=2)
    yield opened
    opened.close()


@pytest.mark.parametrize(
    ("words", "lines"),
    [("", TEXT), (":2", "two\r\n"), (":2-3", "two\r\n\n"), (":4-99", "\ud800 four\nfive"), (":5", "five")],
)
def test_a_kept_text_comes_back_as_it_was(texts: Texts, words: str, lines: str) -> None:
    key = texts.keep(TEXT)
    assert key == key_of(TEXT) == texts.keep(TEXT)
    assert texts.lines(Place.parse(key + words)) == lines


@pytest.mark.parametrize("words", ["", "x", "0" * 11, "0" * 12 + ":", "0" * 12 + ":0", "0" * 12 + ":3-2"])
def test_what_is_no_place_is_told(words: str) -> None:
    with pytest.raises(UnknownTextError, match="KEY:155-326"):
        Place.parse(words)


def test_a_text_that_isnt_kept_and_a_line_that_there_isnt_are_told(texts: Texts) -> None:
    with pytest.raises(UnknownTextError, match="run the command again"):
        texts.lines(Place("0" * 12))
    with pytest.raises(UnknownTextError, match="has 5 lines"):
        texts.lines(Place(texts.keep(TEXT), 6, 7))


def test_old_texts_go_and_the_oldest_of_too_many(texts: Texts) -> None:
    noise = random.Random(7)
    many = [texts.keep(noise.randbytes(500).hex(), now=DAY + n) for n in range(20)]
    kept = [key for key in many if _is_kept(texts, key, DAY + 20)]
    assert 5 <= len(kept) < 20
    assert kept == many[-len(kept) :]
    assert not _is_kept(texts, many[-1], 3 * DAY + 20)  # though nothing was written since
    texts.keep(TEXT, now=3 * DAY + 20)
    assert not _is_kept(texts, many[-1], DAY + 20)
    with pytest.raises(TextsError, match="isn't kept"):
        texts.keep(noise.randbytes(6000).hex())


def _is_kept(texts: Texts, key: str, now: float) -> bool:
    try:
        return bool(texts.lines(Place(key), now=now))
    except UnknownTextError:
        return False


def test_the_file_is_for_the_user_alone_and_others_read_it_at_once(texts: Texts, tmp_path: Path) -> None:
    key = texts.keep(TEXT)
    path = tmp_path / "folder" / "texts.sqlite3"
    assert path.stat().st_mode & 0o077 == 0
    assert path.parent.stat().st_mode & 0o077 == 0
    assert Texts(path).lines(Place(key)) == TEXT


def test_a_file_that_cant_be_used_is_told(tmp_path: Path) -> None:
    broken = tmp_path / "texts.sqlite3"
    broken.write_bytes(b"no database" * 100)
    with pytest.raises(TextsError, match="texts can't be kept there"):
        Texts(broken / "below").keep(TEXT)
    with pytest.raises(TextsError, match=r"set aside as texts\.sqlite3\.broken"):
        Texts(broken).keep(TEXT)
    assert Texts(broken).find(Texts(broken).keep(TEXT)) == TEXT


def test_a_text_that_a_disk_changed_isnt_kept_any_more(texts: Texts, tmp_path: Path) -> None:
    keys = [texts.keep(TEXT + str(n)) for n in range(3)]
    with sqlite3.connect(tmp_path / "folder" / "texts.sqlite3") as rows:
        for key, data in zip(keys, (b"\0" * 9, None, "text"), strict=True):
            rows.execute("UPDATE texts SET text = ifnull(?, 7) WHERE key = ?", (data, key))
    assert [texts.find(key) for key in keys] == [None] * 3


def test_nobody_waits_for_the_disk_and_a_killed_process_has_kept_its_texts(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "texts.sqlite3"
    kill = f"Texts(Path({str(path)!r})).keep('a'); os.kill(os.getpid(), 9)"
    words = f"import os; from pathlib import Path; from lamr_agents.local.texts import Texts; {kill}"
    done = subprocess.run([sys.executable, "-c", words], check=False)
    assert done.returncode == -9
    assert Texts(path).find(key_of("a")) == "a"
    with Database(path, "", RuntimeError).rows() as rows:
        assert rows.execute("PRAGMA synchronous").fetchone() == (0,)


def test_the_command_prints_lines(texts: Texts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    done = invoke("show", "0" * 12)
    assert done.exit_code == 2
    assert "no texts are kept here" in done.stderr
    key = Texts(default_texts()).keep("a\nb\nc\n")
    assert invoke("show", f"{key}:2-3").stdout == "b\nc\n"
    other = tmp_path / "folder" / "texts.sqlite3"
    key = texts.keep("d\n")
    assert invoke("show", key, "--texts", str(other)).stdout == "d\n"
    assert isinstance(invoke("show", "x").exception, UnknownTextError)


def test_how_to_show_is_a_command_of_this_machine(texts: Texts, tmp_path: Path) -> None:
    archive = Archive(texts)
    assert archive.how_to_show(TEXT, 2, 3) == f"`lamr show {key_of(TEXT)}:2-3` prints the lines 2-3"
    command = show_command(tmp_path / "a b")
    assert " show --texts '" in command
