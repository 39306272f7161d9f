"""Standard streams that are closed, full or of another encoding than lamr's own text."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

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
    assert shell("$L pack . -q limit --effort instant --cache cache.db <&- >&- 2>&-", file).returncode == 2
    assert shell("$L pack . -q limit --effort instant --cache cache.db", file).returncode == 0


def test_a_list_of_names_may_be_written_in_any_way(file: Path) -> None:
    strange = "naïve name.c"
    (file.parent / strange).write_text("int limit;\n")
    for listed in (f"a.c\n\n{strange}\n", f"a.c\r\n{strange}\r\n", f"a.c\0{strange}\0"):
        done = shell("$L pack - -q limit --effort instant --no-cache --quiet", file, listed.encode())
        assert (done.returncode, done.stdout.count(b"<file path=")) == (0, 2), done.stderr
