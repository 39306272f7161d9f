"""Sessions that are left alone by chance: chosen by their names, decided once, and counted beside the others."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from lamr_agents.local.server import LocalServer
from lamr_agents.local.sessions import HELD_OUT, is_held_out, seen_in, session_of
from lamr_agents.local.store import MOST_DAYS, Shown, Store
from lamr_cli.main import app
from typer.testing import CliRunner

from tests.agents.samples import pruner
from tests.agents.test_claude_code import READ, ask, said, transcript

__all__ = ["transcript"]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(Store(tmp_path / "folder" / "shown.sqlite3")) as opened:
        yield opened


def server(tmp_path: Path, store: Store, share: float) -> LocalServer:
    return LocalServer(tmp_path / "hook.sock", store, pruner, holdout=share)


def name_of(held_out: bool, share: float = 0.5) -> str:
    """A session that is left alone, or one that isn't."""
    return next(name for n in range(100) if is_held_out(name := f"s{n}", share) == held_out)


def read(local: LocalServer, session: str, transcript: str, **more: Any) -> bytes:
    facts = {"session_id": session, "transcript_path": transcript, "cwd": "/home/u/p", **more}
    return ask(local, "Read", {"file_path": "/w/a.py"}, READ, **facts)


def test_the_share_is_met_and_grows_without_changing_sides() -> None:
    names = [f"{n:08x}-1111-2222" for n in range(4000)]
    fifth = {name for name in names if is_held_out(name, 0.2)}
    assert abs(len(fifth) - 800) < 4 * (4000 * 0.2 * 0.8) ** 0.5
    assert fifth <= {name for name in names if is_held_out(name, 0.3)}
    assert not any(is_held_out(name, 0.0) for name in names)
    assert not is_held_out("", 0.9)


def test_a_sub_agent_belongs_to_its_session() -> None:
    for n in range(50):
        assert is_held_out(f"s{n}/agent-1", 0.5) == is_held_out(f"s{n}", 0.5)
    assert session_of("s/a") == "s"


def test_a_session_that_is_left_alone_gets_everything_as_it_came(
    tmp_path: Path, store: Store, transcript: str, caplog: pytest.LogCaptureFixture
) -> None:
    local = server(tmp_path, store, 0.5)
    alone, other = name_of(True), name_of(False)
    with caplog.at_level(logging.INFO, "lamr.agents"):
        assert read(local, alone, transcript) == b""
        assert "updatedToolOutput" in said(read(local, other, transcript))
    assert [decision.reason for decision in store.decisions()] == [HELD_OUT, "pruned"]
    assert f"session {alone} is left alone, for comparison (holdout 0.5)" in caplog.text
    assert f"session {other} is pruned (holdout 0.5)" in caplog.text
    first, second = store.all_sessions()
    assert (first.name, first.held_out, second.held_out) == (alone, True, False)
    assert (first.folder, first.transcript) == ("/home/u/p", transcript)


def test_what_was_decided_at_first_holds_whatever_is_asked_for_later(
    tmp_path: Path, store: Store, transcript: str
) -> None:
    alone = name_of(True)
    assert read(server(tmp_path, store, 0.5), alone, transcript) == b""
    for share in (0.0, 0.9):
        local = server(tmp_path, store, share)
        assert ask_other_file(local, alone, transcript) == b""
    assert [session.held_out for session in store.all_sessions()] == [True]


def ask_other_file(local: LocalServer, session: str, transcript: str) -> bytes:
    facts = {"session_id": session, "transcript_path": transcript}
    response = json.loads(json.dumps(READ).replace("/w/a.py", "/w/other.py"))
    return ask(local, "Read", {"file_path": "/w/other.py"}, response, **facts)


def test_without_a_holdout_no_session_is_of_either_kind(
    tmp_path: Path, store: Store, transcript: str
) -> None:
    assert "updatedToolOutput" in said(read(server(tmp_path, store, 0.0), "s", transcript))
    assert [session.held_out for session in store.all_sessions()] == [None]


@pytest.mark.parametrize("wrong", ["a\0b", "\ud800", "x" * 5000, 3, ["p"], None])
def test_a_path_that_no_file_can_have_isnt_kept(store: Store, wrong: Any) -> None:
    session = seen_in({"cwd": wrong, "transcript_path": wrong}, "claude-code", "s", 1.0, 0.2)
    assert (session.folder, session.transcript) == ("", "")
    store.meet(session)
    assert len(store.all_sessions()) == 1


def test_a_session_is_known_by_its_latest_transcript_and_call(store: Store) -> None:
    for at, path in ((0.0, "/t/one"), (30.0, ""), (90.0, ""), (95.0, "/t/two")):
        _, is_new = store.meet(seen_in({"transcript_path": path}, "claude-code", "s", at, 0.0))
        assert is_new == (at == 0)
    (session,) = store.all_sessions()
    assert (session.first, session.last, session.transcript) == (0.0, 95.0, "/t/two")


def test_sessions_are_forgotten_with_what_was_decided(store: Store) -> None:
    store.meet(seen_in({}, "claude-code", "old", 0.0, 0.0))
    store.add(Shown("claude-code", "new", "Read", "/w/a.py", "small", 1, 1, 0.0), now=MOST_DAYS * 86_400 + 1)
    assert not store.all_sessions()


def test_install_writes_the_share_into_the_hooks_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    done = CliRunner().invoke(app, ["install", "claude-code", "--holdout", "0.2", "--dry-run"])
    assert done.exit_code == 0, done.output
    assert r"[\"--holdout\", \"0.2\"]" in done.output.replace("\\\\", "\\")
    assert CliRunner().invoke(app, ["install", "claude-code", "--holdout", "1.5"]).exit_code == 2
    done = CliRunner().invoke(app, ["install", "cursor", "--holdout", "0.2", "--dry-run"])
    assert done.exit_code == 2
    assert "Cursor has no hook" in done.output


def test_the_users_settings_name_the_share(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "lamr"
    folder.mkdir()
    (folder / "lamr.toml").write_text("holdout = 0.2\n")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    asked: list[float] = []

    class Serving:
        def __init__(self, *_parts: Any, holdout: float, **_options: Any) -> None:
            asked.append(holdout)

        def run(self, _idle: float) -> bool:
            return True

    monkeypatch.setattr("lamr_agents.local.server.LocalServer", Serving)
    assert CliRunner().invoke(app, ["agents", "serve"]).exit_code == 0
    assert CliRunner().invoke(app, ["agents", "serve", "--holdout", "0.4"]).exit_code == 0
    assert asked == [0.2, 0.4]
    (folder / "lamr.toml").write_text("holdout = 2\n")
    done = CliRunner().invoke(app, ["config"])
    assert "holdout must be a share of all sessions" in str(done.exception) + done.output
