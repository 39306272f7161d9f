"""Sessions replayed: what is cut, what is regretted, and what both come to in money."""

import json
from pathlib import Path

import pytest
from lamr_agents.replay import (
    LogError,
    NoSessionError,
    PriceError,
    PriceTable,
    Replayed,
    Report,
    bundled_prices,
    find_logs,
    read_prices,
)
from lamr_agents.replay.bill import CALL_OUTPUT, Bill, Price
from lamr_agents.replay.report import render_page
from lamr_agents.sessions import FORMATS, Request, read_records, recognize, requests_of

from tests.agents.samples import (
    LINES,
    NUMBERED,
    SAID,
    TASK,
    claude,
    line_of,
    replay_log,
    says,
    session,
    usage,
)
from tests.command import invoke

PRICE = Price(("*",), input=1.0, cache_write=2.0, cache_read=0.1, output=10.0)
PRICES = PriceTable((PRICE,))


def replayed_from(log: Path, prices: PriceTable | None = None) -> Replayed:
    return replay_log(log, prices or bundled_prices())


def requests_in(log: str) -> list[Request]:
    form = recognize(log, FORMATS)
    assert form is not None
    return requests_of(read_records(log, form), form)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "session.jsonl"
    path.write_text(session(), encoding="utf-8")
    return path


def test_a_log_accounts_for_each_request_once() -> None:
    assert requests_in(session()) == [
        Request(1, 10, 1000, 0, 50, "claude-opus-4-8"),
        Request(4, 5, 4000, 1010, 60, "claude-opus-4-8"),
        Request(6, 5, 100, 5015, 5, "claude-opus-4-8"),
    ]


def test_the_bill_is_what_the_requests_cost() -> None:
    bill = Bill.of(requests_in(session()), PRICES)
    assert bill.total == pytest.approx(20 + 2 * 5100 + 0.1 * 6025 + 10 * 115)


def test_a_text_is_paid_for_once_and_then_at_the_caches_price() -> None:
    bill = Bill.of(requests_in(session()), PRICES)
    assert bill.of_text(1000, record=3) == pytest.approx(1000 * (2.0 + 0.1))
    assert bill.of_text(1000, record=5) == pytest.approx(1000 * 2.0)
    assert bill.of_text(1000, record=6) == 0
    asking = 5015 * 0.1 + CALL_OUTPUT * 10
    assert bill.of_fetching(1000, record=3) == pytest.approx(asking + bill.of_text(1000 + CALL_OUTPUT, 3))


def test_a_text_is_paid_for_until_the_context_is_compacted() -> None:
    requests = [Request(n, 0, 10, 10_000, 1) for n in range(5)] + [Request(5, 0, 2000, 0, 1)]
    assert Bill.of(requests, PRICES).of_text(100, record=0) == pytest.approx(100 * (2.0 + 3 * 0.1))


def test_a_replay_finds_what_was_cut_and_needed(log: Path) -> None:
    replayed = replayed_from(log)
    assert (replayed.host, replayed.model, replayed.totals.requests) == ("claude-code", "claude-opus-4-8", 3)
    (read,) = replayed.reads
    assert read.outcome.reason == "pruned"
    assert read.later.lines == (line_of("value_30 ="),)
    assert (read.outcome.kept, read.regretted, read.outcome.again) == (1, (), 0)
    sums = replayed.totals
    assert sums.needed == sums.kept == 1
    assert sums.saved > 0
    assert sums.net == pytest.approx(sums.saved)


def test_a_cut_line_that_is_quoted_later_must_be_fetched_again(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    quote = f"Look at `{LINES[line_of('value_7 =') - 1].strip()}`."
    late = claude("assistant", says(quote), model="claude-opus-4-8", id="m9", usage=usage(5, 100, 5115, 5))
    path.write_text(session(late), encoding="utf-8")
    replayed = replayed_from(path)
    (read,) = replayed.reads
    assert read.regretted == (line_of("value_7 ="),)
    assert read.outcome.again == 1
    assert read.outcome.fetching > 0
    page = render_page(Report((replayed,)))
    assert f'<li class="regret" value="{line_of("value_7 =")}">' in page
    assert "<script" not in page


@pytest.mark.parametrize("text", ["", "{}", "not a log\n", '{"messages": [', "\x00\x01"])
def test_a_file_that_is_no_log_is_passed_over(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(NoSessionError, match=r"no log of a known host|no JSON, or cut off"):
        replayed_from(path)


def test_logs_are_found_in_folders_and_in_the_home(tmp_path: Path) -> None:
    home = tmp_path / "home"
    own = home / ".claude" / "projects" / "p" / "s.jsonl"
    own.parent.mkdir(parents=True)
    own.write_text("{}")
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "a.json").write_text("{}")
    (tmp_path / "logs" / "a.txt").write_text("{}")
    assert find_logs([], home) == [own]
    assert find_logs([tmp_path / "logs", own], home) == sorted([tmp_path / "logs" / "a.json", own])
    with pytest.raises(LogError, match="doesn't exist"):
        find_logs([tmp_path / "none"])
    with pytest.raises(LogError, match="no logs of sessions in ~/"):
        find_logs([], tmp_path / "logs")


def conversation(folder: Path) -> Path:
    """A conversation of OpenHands of two requests that reads `CODE` and edits a line of it."""
    (folder / "events").mkdir(parents=True)
    old = LINES[line_of("value_30 =") - 1]
    events = [
        {"kind": "MessageEvent", "source": "user", "llm_message": {"content": [says(TASK)]}},
        action("1", [says(SAID)], {"command": "view", "path": "/w/a.py"}),
        {"kind": "ObservationEvent", "tool_call_id": "1", "observation": {"content": [says(NUMBERED)]}},
        action("2", [], {"command": "str_replace", "path": "/w/a.py", "old_str": old, "new_str": "    pass"}),
    ]
    for number, event in enumerate(events):
        (folder / "events" / f"event-{number:05}-x.json").write_text(json.dumps(event), encoding="utf-8")
    cached = {"cache_read_tokens": 1000, "cache_write_tokens": 4000, "completion_tokens": 10}
    accounts = [
        {"model": "anthropic/claude-opus-4-8", "prompt_tokens": 5005, "response_id": name, **cached}
        for name in ("r1", "r2")
    ]
    state = {"stats": {"usage_to_metrics": {"agent": {"token_usages": accounts}}}}
    (folder / "base_state.json").write_text(json.dumps(state), encoding="utf-8")
    return folder


def action(call: str, thought: list[dict[str, str]], arguments: dict[str, str]) -> dict[str, object]:
    named = {"name": "file_editor", "arguments": json.dumps(arguments)}
    answer = {"tool_name": "file_editor", "tool_call_id": call, "llm_response_id": f"r{call}"}
    return {"kind": "ActionEvent", "source": "agent", "thought": thought, "tool_call": named, **answer}


def test_a_conversation_of_openhands_is_a_folder_and_one_log(tmp_path: Path) -> None:
    home = tmp_path / "home"
    folder = conversation(home / ".openhands" / "conversations" / "c1")
    inner = conversation(folder / "subagents" / "c2")
    (tmp_path / "a.json").write_text("{}")
    assert find_logs([], home) == [folder, inner]
    assert find_logs([tmp_path]) == [tmp_path / "a.json", folder, inner]
    assert find_logs([folder]) == [folder, inner]
    (folder / "events" / "event-00004-x.json").write_text('{"kind": "Mess')  # it is being written
    replayed = replayed_from(folder)
    assert replayed.accounted
    assert (replayed.host, replayed.totals.requests) == ("openhands-sdk", 2)
    request = Request(1, 5, 4000, 1000, 10, "claude-opus-4-8")
    assert replayed.totals.bill == pytest.approx(Bill.of([request] * 2, bundled_prices()).total)
    (read,) = replayed.reads
    assert read.outcome.reason == "pruned"
    assert read.later.edited == (line_of("value_30 ="),)
    assert not read.regretted


def test_a_conversation_without_accounts_is_replayed_without_a_bill(tmp_path: Path) -> None:
    folder = conversation(tmp_path / "c")
    for state in ("{}", "not JSON", '{"stats": {"usage_to_metrics": {"agent": {"token_usages": [3, {}]}}}}'):
        (folder / "base_state.json").write_text(state)
        replayed = replayed_from(folder)
        assert not replayed.accounted
        assert len(replayed.reads) == 1
        assert replayed.totals.tokens_cut > 0


def test_a_focus_question_is_what_a_read_was_replayed_for(tmp_path: Path) -> None:
    question = "What does handler_9 write?"
    path = tmp_path / "s.jsonl"
    path.write_text(
        session().replace(
            '"file_path": "/w/a.py"}', f'"file_path": "/w/a.py", "context_focus_question": "{question}"}}', 1
        )
    )
    replayed = replayed_from(path)
    assert [read.query for read in replayed.reads] == [question]


def test_the_bundled_prices_know_the_models_that_agents_use() -> None:
    prices = bundled_prices()
    for model, dollars in {
        "claude-opus-4-8": 5.0,
        "claude-opus-4-1-20250805": 15.0,
        "claude-3-5-sonnet-latest": 3.0,
        "anthropic/claude-haiku-4-5": 1.0,
        "claude-opus-5-5": 4.0,
        "claude-sonnet-5": 2.0,
        "gpt-5.5": 5.0,
        "gpt-5.4": 2.5,
        "gpt-5.4-mini": 0.75,
        "gpt-5-codex": 1.25,
        "something-else": 3.0,
        "": 3.0,
    }.items():
        assert prices.of(model).input == pytest.approx(dollars / 1e6), model


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("= 3", "not TOML"),
        ("", r"has no \[\[price\]\]"),
        ("[[price]]\nmodels = 'x'", "models must be a list"),
        ("[[price]]\nmodels = ['*']\ninput = 'much'", "input must be dollars"),
        ("[[price]]\nmodels = ['*']\ninput = 1\ncache_read = 1", "output must be dollars"),
    ],
)
def test_a_price_table_that_cant_be_used_says_where(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "prices.toml"
    path.write_text(text)
    with pytest.raises(PriceError, match=message):
        read_prices(path)


def test_a_model_without_a_price_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    path.write_text("[[price]]\nmodels = ['a*']\ninput = 1\ncache_read = 0.1\noutput = 5\n")
    assert read_prices(path).of("abc").cache_write == pytest.approx(1e-6)
    with pytest.raises(PriceError, match="no row for 'b'"):
        read_prices(path).of("b")


def test_the_command_prints_tables_json_and_a_page(log: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = invoke("replay", str(log), "--html", str(page))
    assert done.exit_code == 0, done.output
    assert "needed kept" in done.output
    assert "net " in done.output
    assert "handler_30" in page.read_text(encoding="utf-8")
    done = invoke("replay", str(log), "--json")
    value = json.loads(done.stdout)
    assert value["total"]["reads"] == 1
    assert value["sessions"][0]["reads"][0]["edited"] == [line_of("value_30 =")]


def test_the_command_says_when_nothing_is_a_session(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{}")
    done = invoke("replay", str(tmp_path))
    assert done.exit_code == 2
    assert "1 not counted, no log of a known host" in done.output
