"""The hook's own process: whom it speaks to, and what it starts."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lamr_agents import thin

LARGE = json.dumps({"tool_name": "Read", "pad": "x" * thin.SMALL}).encode()
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="another user can't be played without root")


def run(payload: bytes, *options: str, **more: Any) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-I", "-S", thin.__file__, *options]
    return subprocess.run(command, input=payload, capture_output=True, check=False, timeout=60, **more)


def told(done: subprocess.CompletedProcess[bytes]) -> str:
    assert (done.returncode, done.stderr) == (0, b"")
    words: str = json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]
    return words


@pytest.fixture
def listening(tmp_path: Path) -> Iterator[tuple[Path, list[bytes]]]:
    """A socket, and what was said on it."""
    path, heard = tmp_path / "s", list[bytes]()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()

        def serve() -> None:
            with contextlib.suppress(OSError):  # closed, where nobody comes
                connection, _ = listener.accept()
                with connection, connection.makefile("rb") as stream:
                    heard.append(stream.read())
                    connection.sendall(b"{}")

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield path, heard


def test_the_time_that_is_left_counts_last_and_nothing_is_parsed(listening: tuple[Path, list[bytes]]) -> None:
    path, heard = listening
    deep = b'{"lamr_seconds_left": NaN, "a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}\n "
    assert run(deep, "--socket", str(path), "--limit", "60").stdout == b"{}"
    begin, _, left = heard[0].rpartition(b', "lamr_seconds_left": ')
    assert begin == deep.rstrip()[:-1]
    assert 0 < float(left[:-1]) <= 60


@as_root
def test_another_users_process_isnt_spoken_to(
    listening: tuple[Path, list[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, heard = listening
    monkeypatch.setattr(thin, "check_place", lambda path: None)
    monkeypatch.setattr(os, "geteuid", lambda: 65534)
    with pytest.raises(PermissionError, match=r"the process at the other end belongs to user 0"):
        thin.ask(str(path), LARGE, 1e9, "[]")
    assert heard in ([], [b""])


def test_the_peer_of_an_own_socket_passes() -> None:
    one, other = socket.socketpair()
    with one, other:
        thin.check_peer(one)


def test_a_folder_that_others_may_read_is_used(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    thin.check_place(str(tmp_path / "s"))


def test_a_call_too_large_is_read_to_its_end_and_told(tmp_path: Path) -> None:
    done = run(b"x" * (thin.MOST_BYTES + (8 << 20)), "--socket", str(tmp_path / "s"))
    assert told(done) == "[lamr: not pruned: the call has more than 64 MiB]"


@pytest.mark.parametrize("options", [(), ("--limit", "x"), ("--socket", "s" * 200)])
def test_options_that_are_wrong_are_told(tmp_path: Path, options: tuple[str, ...]) -> None:
    assert told(run(LARGE, *options, cwd=tmp_path)).startswith("[lamr: not pruned: ")


def test_a_host_that_went_away_gets_no_traceback() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-I", "-S", thin.__file__],
        input=LARGE,
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


def test_no_input_at_all_is_told() -> None:
    command = f'"{sys.executable}" -I -S "{thin.__file__}" <&-'
    done = subprocess.run(["sh", "-c", command], capture_output=True, check=False)
    assert told(done).startswith("[lamr: not pruned: ")


def test_one_server_is_started_and_another_only_once_it_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(thin, "_SERVE", "import sys; sys.stdin.read(); import time; time.sleep(600)")
    path = str(tmp_path / "made" / "s")
    before = os.umask(0)
    try:
        first = thin._start(path, "[]")
        assert first is not None
        assert thin._start(path, "[]") is None
        first.kill()
        first.wait()
        second = thin._start(path, "[]")
        assert second is not None
        second.kill()
        second.wait()
    finally:
        os.umask(before)
    modes = [each.stat().st_mode & 0o077 for each in (tmp_path / "made", *(tmp_path / "made").iterdir())]
    assert not any(modes)


def test_the_server_doesnt_look_for_modules_in_the_current_folder(tmp_path: Path) -> None:
    """In every version: what stands there would run before lamr's own first line."""
    for name in ("lamr_cli", "typing", "importlib", "site", "runpy"):
        (tmp_path / f"{name}.py").write_text("print('EXECUTED')")
    command = [sys.executable, "-c", thin._SERVE, "--version"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("lamr ")
    assert "EXECUTED" not in done.stdout


def test_it_imports_nothing_slow() -> None:
    code = (
        "import sys; source = open(sys.argv[1]).read(); exec(compile(source, 'thin', 'exec'), {'__name__': 'thin'}); "
        "print([each for each in ('json', 're', 'pathlib', 'fcntl', 'subprocess') if each in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, thin.__file__], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("payload", [b"{}", b" { }\n", b'{"a": {}}', b'{"a": 1}'])
def test_what_is_added_to_a_call_leaves_it_json(payload: bytes) -> None:
    told = json.loads(thin._with_ours(thin._with_folder(payload, "/x"), time.monotonic() + 9, "codex"))
    assert told.items() >= json.loads(payload).items()
    assert (told[thin.FOLDER], told[thin.HOST]) == ("/x", "codex")
