"""Every host with a hook itself, against a scripted model: with the hook, without it, and with nothing to reach."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.agents.hosts.hooked import Player, check_unreachable, check_with_and_without
from tests.agents.hosts.players import CLAUDE_CODE, PLAYERS

each = pytest.mark.parametrize("player", PLAYERS.values(), ids=PLAYERS)


@each
def test_a_session_with_the_hook_and_without(player: Player, tmp_path: Path) -> None:
    check_with_and_without(player, tmp_path)
    if player is CLAUDE_CODE:
        with closing(sqlite3.connect(tmp_path / "with" / "shown.sqlite3")) as rows:
            found = rows.execute("SELECT ranges, wholes FROM cuts").fetchall()
        assert found == [(1, 1)]  # what the agent came back for


@each
def test_what_fails_is_told_and_the_session_goes_on(player: Player, tmp_path: Path, free_port: int) -> None:
    check_unreachable(player, tmp_path, free_port)
