"""`lamr agents stats`: what hooks cut and what agents read again, by the hooks' record."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from lamr_agents.local.store import Store, StoredResult
from lamr_agents.stats import sums_of, table, to_json
from lamr_cli.main import app
from typer.testing import CliRunner

START = 1_790_000_000.0
FILE = "/w/a.py"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(Store(tmp_path / "folder" / "shown.sqlite3")) as opened:
        yield opened


def cut(store: Store, name: str, at: float = START, host: str = "claude-code") -> None:
    store.add(StoredResult(host, name, "Read", FILE, "pruned", 1000, 400, 2.0, FILE, ((10, 90),)), now=at)


def passed(store: Store, name: str, at: float = START) -> None:
    store.add(StoredResult("claude-code", name, "Read", FILE, "small", 90, 90, 0.5), now=at)


def test_what_was_cut_and_what_was_read_again_are_told_in_tokens(store: Store) -> None:
    for session in ("ranged", "whole", "neither"):
        cut(store, session)
    passed(store, "neither")
    store.look("ranged", 0.0, FILE, [(20, 40)], 90)
    store.look("ranged", 0.0, FILE, [], 1000)
    store.look("whole", 0.0, FILE, [], 1000)
    sums = sums_of(store.decisions())
    assert (sums.sessions, sums.results, sums.cuts, sums.tokens_cut) == (3, 4, 3, 1800)
    assert (sums.by_range, sums.by_whole, sums.tokens_again) == (1, 1, 2090)
    assert sums.net == 1800 - 2090  # a loss is told as one
    assert sums.seconds == pytest.approx(6.5)
    assert "-290" in table(store.decisions())


def test_a_sub_agent_belongs_to_its_session(store: Store) -> None:
    cut(store, "s")
    cut(store, "s/a1")
    cut(store, "s", host="codex")
    assert sums_of(store.decisions()).sessions == 2


def test_decisions_are_told_by_day_host_and_reason(store: Store) -> None:
    for number, host in enumerate(("claude-code", "codex", "codex")):
        cut(store, f"s{number}", START + number * 86_400, host)
    passed(store, "s0", START)
    value = json.loads(to_json(store.decisions()))
    assert [each["cuts"] for each in value["by_day"].values()] == [1, 1, 1]
    assert {name: each["cuts"] for name, each in value["by_host"].items()} == {"claude-code": 1, "codex": 2}
    assert value["reasons"] == {"pruned": 3, "small": 1}
    assert value["total"]["net"] == 1800
    text = table(store.decisions())
    assert all(heading in text for heading in ("day", "host", "reason", "tokens cut", "read again", "net"))
    assert len(store.decisions(START + 86_400)) == 2


def test_the_command_prints_tables_and_json(tmp_path: Path, store: Store) -> None:
    cut(store, "s")
    arguments = ["agents", "stats", "--store", str(tmp_path / "folder" / "shown.sqlite3"), "--days"]
    done = CliRunner().invoke(app, [*arguments, "100000"])
    assert done.exit_code == 0, done.output
    assert "tokens cut" in done.stdout
    assert json.loads(CliRunner().invoke(app, [*arguments, "100000", "--json"]).stdout)["total"]["cuts"] == 1
    assert CliRunner().invoke(app, [*arguments, "0"]).exit_code == 2
    arguments[3] = str(tmp_path / "none")
    assert CliRunner().invoke(app, [*arguments, "1"]).exit_code == 2
