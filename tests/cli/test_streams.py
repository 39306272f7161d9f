"""Streams that are closed, full or of another encoding, folders that are gone, and an environment of ASCII alone."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from lamr_base.errors import LamrError
from lamr_base.private_files import cache_folder

LAMR = str(Path(sys.executable).with_name("lamr"))
CODE = "/* Größe */\r\nint limit = 3;\r\n"
ASK = ("-q", "limit", "--effort", "instant", "--threshold", "0")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "a.c").write_bytes(CODE.encode("cp1252"))
    return tmp_path / "a.c"


def shell(words: str, file: Path, send: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run a line of sh in which `$L` is lamr, `$A` asks something and `$F` is the file."""
    variables = {**os.environ, "L": LAMR, "F": str(file), "A": " ".join(ASK)}
    return subprocess.run(
        ["sh", "-c", words], input=send, env=variables, cwd=file.parent, capture_output=True, check=False
    )


def test_code_is_printed_in_its_own_encoding(file: Path) -> None:
    done = shell("$L prune $F $A", file)
    assert done.stdout == CODE.encode("cp1252")
    assert b"read as cp1252" in done.stderr
    assert shell("$L prune - $A", file, CODE.encode("utf-16")).stdout == CODE.encode("utf-16")
    assert "Größe" in shell("$L prune $F $A --format spans", file).stdout.decode()


@pytest.mark.parametrize(
    ("command", "where", "why"),
    [
        ("prune $F $A", ">/dev/full", "No space left on device"),
        ("prune $F $A", ">&-", "it is closed"),
        ("prune --help", ">&-", "it is closed"),
        ("--version", ">&-", "it is closed"),
    ],
)
def test_what_cant_be_printed_is_said(file: Path, command: str, where: str, why: str) -> None:
    done = shell(f"$L {command} {where}", file)
    assert (done.returncode, done.stderr.decode()) == (2, f"lamr: standard output can't be written: {why}\n")


@pytest.mark.parametrize("where", ["2>&-", "2>/dev/full"])
def test_a_message_that_cant_be_shown_is_no_fault(file: Path, where: str) -> None:
    done = shell(f"$L prune $F $A {where}", file)
    assert (done.returncode, done.stdout, done.stderr) == (0, CODE.encode("cp1252"), b"")
    assert shell(f"$L prune none.c $A {where}", file).returncode == 2


def test_standard_input_that_is_closed_is_said(file: Path) -> None:
    for command in ("prune - $A", "pack - -q limit --no-cache"):
        done = shell(f"$L {command} <&-", file)
        assert (done.returncode, done.stdout) == (2, b"")
        assert done.stderr.startswith(b"lamr: standard input is closed")
    assert shell("$L prune $F $A <&-", file).stdout == CODE.encode("cp1252")


def test_all_streams_may_be_closed_at_once(file: Path) -> None:
    assert shell("$L pack . -q limit --cache cache.db <&- >&- 2>&-", file).returncode == 2
    assert shell("$L pack . -q limit --cache cache.db", file).returncode == 0


def test_a_list_of_names_may_be_written_in_any_way(file: Path) -> None:
    strange = "naïve name.c"
    (file.parent / strange).write_text("int limit;\n")
    for listed in (f"a.c\n\n{strange}\n", f"a.c\r\n{strange}\r\n", f"a.c\0{strange}\0"):
        done = shell("$L pack - -q limit --no-cache --quiet", file, listed.encode())
        assert (done.returncode, done.stdout.count(b"<file path=")) == (0, 2), done.stderr


def test_a_device_without_end_is_said(file: Path) -> None:
    done = shell("$L prune /dev/zero $A", file)
    assert (done.returncode, done.stderr) == (
        2,
        b"lamr: /dev/zero has more than 256 MiB; name a part of it\n",
    )


def test_a_full_disk_names_the_page(file: Path) -> None:
    done = shell("$L view $F -q limit -o /dev/full", file)
    assert (done.returncode, done.stderr) == (2, b"lamr: /dev/full: No space left on device\n")


def test_where_the_current_folder_is_gone_only_what_needs_it_fails(file: Path) -> None:
    gone = "mkdir gone; cd gone; rmdir ../gone;"
    assert shell(f"{gone} $L prune $F $A", file).stdout == CODE.encode("cp1252")
    done = shell(f"{gone} $L pack . -q limit --no-cache", file)
    assert (done.returncode, done.stderr) == (
        2,
        b"lamr: the current folder no longer exists; change to another one\n",
    )


def test_an_environment_of_ascii_asks_and_names_in_any_letters(file: Path) -> None:
    (file.parent / "größe.c").write_text("int limit;\n")
    done = shell("LC_ALL=C PYTHONUTF8=0 $L prune größe.c -q größe --effort instant --json --quiet", file)
    assert (done.returncode, json.loads(done.stdout)["text"]) == (0, "int limit;\n")


def test_a_user_without_a_home_is_told_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)

    def none() -> Path:
        raise RuntimeError

    for home in (lambda: Path("relative"), none):
        monkeypatch.setattr(Path, "home", home)
        with pytest.raises(LamrError, match="set HOME or XDG_CACHE_HOME"):
            cache_folder()
