"""`lamr agents stats`: what really happened, by the hooks' record and the hosts' transcripts."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from lamr_agents.local.sessions import Session
from lamr_agents.local.store import Shown, Store
from lamr_agents.replay import Prices
from lamr_agents.replay.bill import CALL_OUTPUT
from lamr_agents.replay.prices import Price
from lamr_agents.stats import Stats, happened
from lamr_agents.stats.page import render_page
from lamr_cli.main import app
from lamr_evaluation.resampling import items_for, relative_difference
from typer.testing import CliRunner

from tests.agents.samples import says, session
from tests.agents.test_replay_counts import request

PRICES = Prices((Price(("*",), input=1.0, cache_write=2.0, cache_read=0.1, output=10.0),), hour=3600.0)
START = 1_790_000_000.0
FILE = "/w/a.py"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(Store(tmp_path / "folder" / "shown.sqlite3")) as opened:
        yield opened


def written(path: Path, start: float = START, text: str | None = None) -> Path:
    """A session's transcript, a record each ten seconds."""
    path.parent.mkdir(parents=True, exist_ok=True)
    records = [json.loads(line) for line in (text or session()).splitlines()]
    for number, record in enumerate(records):
        moment = datetime.fromtimestamp(start + 10 * number, timezone.utc)
        record["timestamp"] = moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def met(
    store: Store,
    name: str,
    transcript: Path | str = "",
    folder: str = "/home/u/p",
    at: float = START,
    **more: Any,
) -> None:
    store.meet(Session(name, "claude-code", folder, str(transcript), at, at, more.get("held_out")))


def cut(store: Store, name: str, at: float, tokens: int = 1000, left: int = 400) -> None:
    store.add(
        Shown("claude-code", name, "Read", FILE, "pruned", tokens, left, 2.0, FILE, ((10, 90),)), now=at
    )


def test_a_cut_is_counted_in_the_requests_that_really_followed(tmp_path: Path, store: Store) -> None:
    met(store, "s", written(tmp_path / "s.jsonl"))
    cut(store, "s", START + 25)  # the result is record 3; requests at records 4 and 6 read it
    (found,) = happened(store, PRICES)
    assert found.money is not None
    assert found.money.saved == pytest.approx(600 * (2.0 + 0.1))
    assert found.money.bill == pytest.approx(20 + 2 * 5100 + 0.1 * 6025 + 10 * 115)
    assert (found.money.requests, found.money.fetching) == (3, 0)
    assert found.pruning == pytest.approx(2.0)  # a dollar a second
    assert found.net == pytest.approx(found.money.saved - 2.0)


def test_what_agents_came_back_for_is_paid_with_a_request_each(tmp_path: Path, store: Store) -> None:
    text = session(request(3, says("On.")), request(4, says("On.")))
    met(store, "s", written(tmp_path / "s.jsonl", text=text))
    cut(store, "s", START + 25)
    store.look("s", 0.0, FILE, [(20, 40)], 90)
    ranged = Shown("claude-code", "s", "Read", FILE, "a range was asked for", 90, 90, 0.0)
    store.add(ranged, now=START + 65)  # after record 6; records 7 and 8 read it
    (found,) = happened(store, PRICES)
    assert found.money is not None
    asking = 5215 * 0.1 + CALL_OUTPUT * 10.0
    assert found.money.fetching == pytest.approx(asking + (90 + CALL_OUTPUT) * (2.0 + 0.1))
    stats = Stats((found,))
    assert "came back for 1 of 1 cuts of files: for 1 by reading a range" in stats.table()
    assert json.loads(stats.to_json())["total"]["by_range"] == 1


def test_sub_agents_are_counted_with_their_session_by_their_own_transcripts(
    tmp_path: Path, store: Store
) -> None:
    own = written(tmp_path / "s.jsonl")
    met(store, "s", own)
    cut(store, "s/a1", START + 1025)
    (without,) = happened(store, PRICES)
    for name in ("a1", "a2"):  # of the second nothing was decided, but it cost something
        written(tmp_path / "s" / "subagents" / f"agent-{name}.jsonl", start=START + 1000)
    (found,) = happened(store, PRICES)
    assert without.money is not None
    assert found.money is not None
    assert found.money.bill == pytest.approx(3 * without.money.bill)
    assert without.money.saved == 0  # nothing of the session's own came after it
    assert found.money.saved == pytest.approx(600 * (2.0 + 0.1))


def test_a_transcript_that_no_call_names_is_found_by_the_sessions_name(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    written(tmp_path / "claude" / "projects" / "p" / "other.jsonl")
    met(store, "s-1")
    assert [each.money for each in happened(store, PRICES)] == [None]
    written(tmp_path / "claude" / "projects" / "p" / "2026-11-25_s-1.jsonl")
    (found,) = happened(store, PRICES)
    assert found.money is not None


def test_an_agents_name_leads_nowhere_else(tmp_path: Path, store: Store) -> None:
    met(store, "s", written(tmp_path / "in" / "s.jsonl"))
    written(tmp_path / "agent-x.jsonl")
    cut(store, "s/../x", START + 25)
    (found,) = happened(store, PRICES)
    assert found.money is not None
    assert found.money.requests == 3


@pytest.mark.parametrize("what", ["gone", "broken", "folder", "pipe", "without times"])
def test_a_transcript_that_cant_be_read_leaves_dollars_unknown(
    tmp_path: Path, store: Store, what: str
) -> None:
    path = tmp_path / "s.jsonl"
    if what == "broken":
        path.write_bytes(b"\0\xff{" * 50)
    elif what == "folder":
        path.mkdir()
    elif what == "pipe":
        os.mkfifo(path)
    elif what == "without times":
        path.write_text(session())
    met(store, "s", path)
    met(store, "t", written(tmp_path / "t.jsonl"))
    cut(store, "s", START + 25)
    stats = Stats(tuple(happened(store, PRICES)))
    assert [each.money is None for each in stats.sessions] == [True, False]
    assert "1 of 2 sessions are gone or not known" in stats.table()
    total = json.loads(stats.to_json())["total"]
    assert (total["tokens_cut"], total["known"], total["saved"]) == (600, 1, 0)


def test_a_transcript_without_accounts_is_said_to_be_estimated(tmp_path: Path, store: Store) -> None:
    records = [json.loads(line) for line in session().splitlines()]
    for record in records:
        record["message"].pop("usage", None)
    text = "".join(json.dumps(record) + "\n" for record in records)
    met(store, "s", written(tmp_path / "s.jsonl", text=text))
    cut(store, "s", START + 25)
    stats = Stats(tuple(happened(store, PRICES)))
    assert stats.sessions[0].money is not None
    assert stats.sessions[0].money.saved > 0
    assert "1 transcripts keep no accounts" in stats.table()


def test_sessions_are_told_by_host_day_and_project(tmp_path: Path, store: Store) -> None:
    for number, project in enumerate(("one", "two", "two")):
        at = START + number * 86_400
        met(store, f"s{number}", written(tmp_path / f"s{number}.jsonl", at), f"/home/u/{project}", at)
        cut(store, f"s{number}", at + 25)
    value = json.loads(Stats(tuple(happened(store, PRICES))).to_json())
    assert {name: each["sessions"] for name, each in value["by_project"].items()} == {"one": 1, "two": 2}
    assert [each["cuts"] for each in value["by_day"].values()] == [1, 1, 1]
    assert list(value["by_host"]) == ["claude-code"]
    assert value["total"]["net"] == pytest.approx(3 * (600 * 2.1 - 2.0))
    latest = happened(store, PRICES, since=START + 86_400)
    assert [each.session.name for each in latest] == ["s1", "s2"]


def test_a_record_of_an_earlier_version_is_counted_without_dollars(store: Store) -> None:
    cut(store, "s", START)
    stats = Stats(tuple(happened(store, PRICES)))
    assert json.loads(stats.to_json())["by_project"]["unknown"]["tokens_cut"] == 600


def test_sessions_left_alone_are_compared_with_the_others(tmp_path: Path, store: Store) -> None:
    for number in range(24):
        alone = number % 4 == 0
        more = [request(3 + n, says("On.")) for n in range(number % 3 + (4 if alone else 0))]
        transcript = written(tmp_path / f"s{number}.jsonl", text=session(*more))
        met(store, f"s{number}", transcript, held_out=alone)
    stats = Stats(tuple(happened(store, PRICES)))
    both = stats.comparison
    assert both is not None
    assert (both.left_alone, both.with_cuts) == (6, 18)
    requests = next(figure for figure in both.figures if figure.name == "requests")
    assert (requests.left_alone, requests.with_cuts) == (8, 4)
    assert requests.difference.value == pytest.approx(-0.5)
    assert requests.difference.low < -0.5 < requests.difference.high < 0
    counts = list(both.needed.values())
    assert counts == sorted(counts, reverse=True)  # a smaller difference takes more
    table = stats.table()
    assert "left alone (6)" in table
    assert "sessions that it takes to find a difference of dollars" in table
    assert "No sessions were left alone" not in table
    assert json.loads(stats.to_json())["comparison"]["left_alone"] == 6


def test_a_few_sessions_show_no_difference(tmp_path: Path, store: Store) -> None:
    for number in range(6):
        met(store, f"s{number}", written(tmp_path / f"s{number}.jsonl"), held_out=number == 0)
    stats = Stats(tuple(happened(store, PRICES)))
    assert "too few" in stats.table()
    assert json.loads(stats.to_json())["comparison"]["figures"][0]["difference"]["low"] is None


def test_sessions_from_before_the_holdout_are_in_neither_group(tmp_path: Path, store: Store) -> None:
    met(store, "old", written(tmp_path / "old.jsonl"))
    stats = Stats(tuple(happened(store, PRICES)))
    assert stats.comparison is None
    assert "--holdout 0.2" in stats.table()


def test_how_many_sessions_a_difference_takes() -> None:
    values = [80.0, 120.0] * 500  # a spread of a fifth of the mean
    assert items_for(values, 0.05, 0.5) == pytest.approx(503, abs=3)  # twice 252 by the textbook
    assert items_for(values, 0.05, 0.2) == pytest.approx(503 / 4 / 0.16, abs=5)
    assert items_for([1.0], 0.05, 0.5) is None
    assert items_for([0.0, 0.0], 0.05, 0.5) is None
    nothing = relative_difference([], [1.0])
    assert nothing.value != nothing.value


def test_the_page_stands_alone_and_shows_the_curve(tmp_path: Path, store: Store) -> None:
    for number in range(3):
        at = START + number * 86_400
        met(store, f"s{number}", written(tmp_path / f"s{number}.jsonl", at), "/home/u/<b>p", at)
        cut(store, f"s{number}", at + 25)
    page = render_page(Stats(tuple(happened(store, PRICES))))
    assert page.count("<circle") == 3
    assert page.count("<polyline") == 2
    assert "<script" not in page
    assert "http" not in page.replace("http-equiv", "")
    assert "<b>p" not in page
    assert "&lt;b&gt;p" in page


def test_a_page_without_dollars_has_no_curve(store: Store) -> None:
    cut(store, "s", START)
    assert "<svg" not in render_page(Stats(tuple(happened(store, PRICES))))


def test_the_command_writes_tables_json_and_a_page(tmp_path: Path, store: Store) -> None:
    met(store, "s", written(tmp_path / "s.jsonl"))
    cut(store, "s", START + 25)
    path, page = str(tmp_path / "folder" / "shown.sqlite3"), tmp_path / "stats.html"
    arguments = ["agents", "stats", "--store", path, "--days", "100000"]
    done = CliRunner().invoke(app, [*arguments, "--html", str(page)])
    assert done.exit_code == 0, done.output
    assert "tokens cut" in done.stdout
    assert "<svg" in page.read_text(encoding="utf-8")
    assert json.loads(CliRunner().invoke(app, [*arguments, "--json"]).stdout)["total"]["known"] == 1
    assert CliRunner().invoke(app, [*arguments[:4], "--days", "0"]).exit_code == 2
