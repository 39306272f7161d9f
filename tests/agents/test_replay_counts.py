"""What a replay counts: every session, what is read again as it would arise, and the agent's waiting."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from lamr_agents.policy import FOR_A_SCRIPT
from lamr_agents.replay import (
    PriceTable,
    Replayed,
    Report,
    Result,
    bundled_prices,
    record_of,
    replay,
)
from lamr_agents.replay.bill import CALL_OUTPUT, Bill, Price
from lamr_agents.skim import untouched
from lamr_agents.skimmed import Skim
from lamr_postprocess import approximate_tokens

from tests.agents.samples import (
    CODE,
    LINES,
    NUMBERED,
    SAID,
    TASK,
    answers,
    calls,
    claude,
    line_of,
    replay_log,
    says,
    session,
    usage,
)
from tests.agents.sessions import test_code_mode as code_mode
from tests.agents.sessions.test_sessions import LOGS
from tests.command import invoke

PRICE = Price(("*",), input=1.0, cache_write=2.0, cache_read=0.1, output=10.0)
PRICES = PriceTable((PRICE,))


def written(path: Path, *more: dict[str, Any], text: str | None = None) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(session(*more) if text is None else text, encoding="utf-8")
    return path


def without_a_read() -> str:
    """A session of one request that reads nothing."""
    spoken = claude(
        "assistant", says("Hello."), model="claude-opus-4-8", id="n0", usage=usage(0, 1000, 0, 10)
    )
    return "".join(json.dumps(each) + "\n" for each in (claude("user", says(TASK)), spoken))


def first_lines(count: int) -> Callable[[Result], Skim]:
    """Keeps the first lines of each big read."""

    def show(result: Result) -> Skim:
        if result.big is None:
            return untouched(result.asked, "no read")
        text = "".join(f"{line}\n" for line in LINES[:count])
        tokens = approximate_tokens(text)
        kept = tuple(range(1, count + 1))
        return Skim(text, "pruned", kept, result.asked.lines, result.asked.tokens, tokens)

    return show


def by_first_lines(log: Path, count: int = 4) -> Replayed:
    return replay(record_of(log, PRICES), first_lines(count))


def request(
    number: int, *parts: dict[str, Any], cached: int = 5115, written_tokens: int = 100
) -> dict[str, Any]:
    """A record of a request, the `number`th of its session."""
    account = usage(0, written_tokens, cached, 5)
    return claude("assistant", *parts, model="claude-opus-4-8", id=f"m{number}", usage=account)


def quote(name: str) -> dict[str, Any]:
    return says(f"Look at `{LINES[line_of(name) - 1].strip()}`.")


# Every session counts


def test_a_session_without_a_big_read_is_in_the_bill(tmp_path: Path) -> None:
    written(tmp_path / "a.jsonl")
    other = written(tmp_path / "b.jsonl", text=without_a_read())
    done = invoke("replay", "--json", str(tmp_path))
    assert done.exit_code == 0, done.output
    value = json.loads(done.stdout)
    assert value["total"]["sessions"] == 2
    alone = Bill.of(record_of(other, bundled_prices()).bill.requests, bundled_prices()).total
    assert alone > 0
    with_read = next(each for each in value["sessions"] if each["reads"])
    assert value["total"]["bill"] == pytest.approx(with_read["totals"]["bill"] + alone)
    share = value["total"]["net_share"]["value"]
    assert share == pytest.approx(value["total"]["net"] / value["total"]["bill"])
    table = invoke("replay", str(tmp_path)).output
    assert "1 without a big read" in table


def test_what_cant_be_counted_is_named_with_its_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path / "a.jsonl")
    (tmp_path / "foreign.json").write_text('{"a": 1}')
    (tmp_path / "broken.json").write_text('{"messages": [{"info": ')
    (tmp_path / "silent.jsonl").write_text(json.dumps(claude("user", says(TASK))) + "\n")
    locked = written(tmp_path / "locked.jsonl")
    reading = Path.read_text

    def refusing(path: Path, *args: Any, **options: Any) -> str:
        if path == locked:
            raise PermissionError(13, "Permission denied", str(path))
        return reading(path, *args, **options)

    monkeypatch.setattr(Path, "read_text", refusing)
    done = invoke("replay", "--json", str(tmp_path))
    why = {Path(path).name: reason for path, reason in json.loads(done.stdout)["passed_over"].items()}
    assert why == {
        "foreign.json": "no log of a known host",
        "broken.json": "no JSON, or cut off",
        "silent.jsonl": "a session of claude-code without a request",
        "locked.jsonl": "it can't be read (Permission denied)",
    }
    table = invoke("replay", str(tmp_path)).output
    assert "1 not counted, it can't be read (Permission denied): " in table
    assert "locked.jsonl" in table


def test_lines_that_cant_be_read_are_counted_but_for_one_that_is_being_written(tmp_path: Path) -> None:
    lines = session().splitlines()
    running = written(tmp_path / "running.jsonl", text="\n".join([*lines, '{"type": "assis']))
    broken = written(tmp_path / "broken.jsonl", text="\n".join([lines[0], "\0\0\0", *lines[1:], "{", "[1"]))
    assert [record_of(log, PRICES).broken for log in (running, broken)] == [0, 2]
    output = invoke("replay", str(broken)).output
    assert f"2 lines not counted, no JSON: of {broken}" in output


def test_each_request_costs_what_its_own_model_costs(tmp_path: Path) -> None:
    cheap = claude("assistant", says("x"), model="claude-haiku-4-5", id="m9", usage=usage(0, 1000, 0, 0))
    bills = [
        record_of(written(tmp_path / f"{n}.jsonl", *more), bundled_prices()).bill.total
        for n, more in enumerate([(), (cheap,)])
    ]
    assert bills[1] - bills[0] == pytest.approx(1000 * bundled_prices().of("claude-haiku-4-5").cache_write)


def test_a_resumed_session_is_paid_for_once(tmp_path: Path) -> None:
    """A host that resumes a session in a new log begins it with a copy of the old one."""
    old = written(tmp_path / "old.jsonl")
    more = [
        request(7, calls("Read", "7", file_path="/w/b.py")),
        claude("user", answers("7", NUMBERED)),
        request(8, says("Done.")),
    ]
    new = written(tmp_path / "new.jsonl", *more)
    copy = written(tmp_path / "copy.jsonl")
    for age, path in enumerate((copy, new, old)):
        os.utime(path, (1_000_000 - age, 1_000_000 - age))
    done = invoke("replay", "--json", str(tmp_path))
    value = json.loads(done.stdout)
    bills = {Path(each["log"]).stem: each["totals"]["bill"] for each in value["sessions"]}
    whole = {path.stem: record_of(path, bundled_prices()).bill.total for path in (old, new)}
    assert bills == pytest.approx({"old": whole["old"], "new": whole["new"] - whole["old"]})
    reads = {Path(each["log"]).stem: [read["path"] for read in each["reads"]] for each in value["sessions"]}
    assert reads == {"old": ["/w/a.py"], "new": ["/w/b.py"]}
    assert value["passed_over"] == {str(copy): "a copy of other sessions of claude-code"}


# What is read again


def test_each_need_of_cut_lines_is_one_request_more(tmp_path: Path) -> None:
    more = [request(3, quote("value_7 =")), request(4, quote("value_7 =")), request(5, quote("value_50 ="))]
    replayed = by_first_lines(written(tmp_path / "s.jsonl", *more))
    (read,) = replayed.reads
    # The edit comes first and fetches the one cut, which holds all the rest: nothing is fetched twice.
    assert read.outcome.again == 1
    halves = replay(record_of(tmp_path / "s.jsonl", PRICES), all_but("value_40 ="))
    assert halves.reads[0].outcome.again == 2


def test_what_one_request_needs_is_fetched_at_once(tmp_path: Path) -> None:
    show = all_but("value_30 =", "value_40 =")  # the edit needs the former
    both = request(3, quote("value_7 ="), quote("value_50 ="))
    (read,) = replay(record_of(written(tmp_path / "s.jsonl", both), PRICES), show).reads
    assert read.outcome.again == 1
    hidden = len(LINES) - 3 - (line_of("value_40 =") - line_of("value_30 =") - 1)
    fetched = round(hidden * read.outcome.tokens_in / len(LINES))
    assert read.outcome.fetching == pytest.approx(
        5215 * 0.1 + CALL_OUTPUT * 10 + (fetched + CALL_OUTPUT) * 2.0
    )
    apart = [request(3, quote("value_7 =")), request(4, quote("value_50 ="))]
    (read,) = replay(record_of(written(tmp_path / "s.jsonl", *apart), PRICES), show).reads
    assert read.outcome.again == 2


def all_but(*words: str) -> Callable[[Result], Skim]:
    """Keeps the first line and those that hold the words, between which lie cuts."""

    def show(result: Result) -> Skim:
        if result.big is None:
            return untouched(result.asked, "no read")
        return Skim("x\n", "pruned", (1, *map(line_of, words)), result.asked.lines, result.asked.tokens, 10)

    return show


def test_what_is_read_again_is_paid_in_each_later_request(tmp_path: Path) -> None:
    log = written(tmp_path / "s.jsonl", request(3, says("On.")), request(4, says("On.")))
    recorded = record_of(log, PRICES)
    outcome = replay(recorded, first_lines(4)).reads[0].outcome
    hidden = round((len(LINES) - 4) * outcome.tokens_in / len(LINES))
    # The edit's request had read the log's record 3; the fetch comes just before it, and four requests read it.
    text = (hidden + CALL_OUTPUT) * (2.0 + 3 * 0.1)
    asking = 5015 * 0.1 + CALL_OUTPUT * 10.0
    assert outcome.fetching == pytest.approx(asking + text)
    assert outcome.saved == pytest.approx((outcome.tokens_in - outcome.tokens_out) * (2.0 + 3 * 0.1))


def test_lines_that_were_shown_again_anyway_arent_fetched(tmp_path: Path) -> None:
    reread = [
        request(3, calls("Read", "7", file_path="/w/a.py")),
        claude("user", answers("7", NUMBERED)),
        request(4, quote("value_50 =")),
    ]
    log = written(tmp_path / "s.jsonl", *reread)
    first = by_first_lines(log, line_of("value_31 =")).reads[0]
    assert line_of("value_50 =") in first.regretted
    assert first.outcome.again == 0


def test_a_host_that_accounts_for_an_answer_at_its_end_is_counted_alike(tmp_path: Path) -> None:
    """Codex writes its count of tokens below the answer, in front of the call's output."""

    def record(kind: str, **payload: Any) -> dict[str, Any]:
        return {"timestamp": "2026-01-01T00:00:00Z", "type": kind, "payload": payload}

    def said(words: str) -> dict[str, Any]:
        return record("response_item", type="message", role="assistant", content=[{"text": words}])

    def counted(total: int, cached: int) -> dict[str, Any]:
        last = {"input_tokens": total, "cached_input_tokens": cached, "output_tokens": 0}
        info = {"last_token_usage": last, "total_token_usage": {"total_tokens": total}}
        return record("event_msg", type="token_count", info=info)

    def call(name: str, command: str) -> dict[str, Any]:
        arguments = json.dumps({"cmd": command})
        return record(
            "response_item", type="function_call", name="exec_command", call_id=name, arguments=arguments
        )

    records = [
        record("session_meta", id="s1", cwd="/home/u/p"),
        record("response_item", type="message", role="user", content=[{"text": TASK}]),
        call("1", "cat a.py"),
        counted(1000, 0),
        record("response_item", type="function_call_output", call_id="1", output=CODE),
        call("2", "make"),
        counted(6000, 1000),
        record("response_item", type="function_call_output", call_id="2", output="ok"),
        said(quote("value_50 =")["text"]),
        counted(6100, 6000),
    ]
    log = written(tmp_path / "s.jsonl", text="".join(json.dumps(each) + "\n" for each in records))
    replayed = by_first_lines(log, 4)
    (read,) = replayed.reads
    hidden = round((len(read.lines) - 4) * read.outcome.tokens_in / len(read.lines))
    # One request more before the last, which alone reads what is fetched.
    assert read.outcome.again == 1
    assert read.outcome.fetching == pytest.approx(6100 * 0.1 + CALL_OUTPUT * 10 + hidden + CALL_OUTPUT)
    assert (replayed.name, replayed.project) == ("s1", "p")


def test_nothing_is_fetched_for_what_comes_after_a_compaction(tmp_path: Path) -> None:
    keeps_the_edit = line_of("value_31 =")
    log = written(tmp_path / "s.jsonl", request(3, quote("value_50 ="), cached=0, written_tokens=900))
    read = by_first_lines(log, keeps_the_edit).reads[0]
    assert line_of("value_50 =") in read.regretted
    assert (read.outcome.again, read.outcome.fetching) == (0, 0)
    log = written(tmp_path / "s.jsonl", request(3, quote("value_50 =")))
    assert by_first_lines(log, keeps_the_edit).reads[0].outcome.again == 1


def test_a_file_counts_as_shown_before_as_hosts_count_it(tmp_path: Path) -> None:
    def again(*before: dict[str, Any]) -> str:
        text = "".join(json.dumps(each) + "\n" for each in before) + session()
        return replay_log(written(tmp_path / "s.jsonl", text=text), PRICES).reads[-1].outcome.reason

    asked = claude("user", says(TASK))
    small = request(7, says(SAID), calls("Read", "0", file_path="/w/a.py", offset=1, limit=5))
    whole = request(7, says(SAID), calls("Read", "0", file_path="/w/a.py"), written_tokens=1, cached=900)
    compacted = request(8, says("On."), written_tokens=20_000, cached=0)
    shown = claude("user", answers("0", NUMBERED))
    assert again(asked, small, claude("user", answers("0", "\n".join(NUMBERED.split("\n")[:5])))) == "pruned"
    assert again(asked, whole, shown) == "shown before"
    assert (
        again(asked, whole, shown, compacted) == "pruned"
    )  # the next request has a twentieth of the context


# What lamr itself costs


def test_the_agents_waiting_is_counted(tmp_path: Path) -> None:
    totals = replay_log(written(tmp_path / "s.jsonl"), PRICES).totals
    assert totals.seconds > 0
    assert totals.net == pytest.approx(totals.saved - totals.fetching)


_SHOWN = """
import hashlib, pathlib, sys
from lamr_agents.policy import Policy
from lamr_agents.replay import bundled_prices, record_of
from lamr_agents.skim import skim
from lamr_client import Pruner

result = record_of(pathlib.Path(sys.argv[1]), bundled_prices()).results[0]
with Pruner() as pruner:
    for _ in range(2):
        shown = skim(pruner, result.asked, result.intent, Policy(), effort="instant")
        print(shown.cut, hashlib.sha256(shown.text.encode()).hexdigest())
"""


def test_another_process_cuts_to_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By a hash of texts that begins elsewhere; this process cuts twice as well."""
    log = written(tmp_path / "s.jsonl")
    monkeypatch.setattr(sys, "argv", ["", str(log)])
    exec(_SHOWN, {})
    here = capsys.readouterr().out
    first, second = here.splitlines()
    assert first == second
    assert first.startswith("True ")
    seed = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONHASHSEED": seed}
    command = [sys.executable, "-c", _SHOWN, str(log)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == here


# Sessions, intervals


def test_all_results_are_shown_in_their_order(tmp_path: Path) -> None:
    seen: list[int] = []

    def show(result: Result) -> Skim:
        seen.append(result.place)
        return untouched(result.asked, "x")

    long = claude("user", answers("2", "printed\n" * 300))
    log = written(tmp_path / "s.jsonl", request(3, calls("Bash", "2", command="make")), long)
    replay(record_of(log, PRICES), show)
    assert seen == sorted(seen)
    assert len(seen) == 2  # the big read, and what the command printed


def test_a_shorter_result_that_is_no_read_is_paid_for_less(tmp_path: Path) -> None:
    def show(result: Result) -> Skim:
        if result.big:
            return untouched(result.asked, "x")
        return Skim("y\n", "condensed", tuple(range(1, result.asked.lines + 1)), result.asked.lines, 500, 1)

    printed = claude("user", answers("2", "printed\n" * 300))
    log = written(
        tmp_path / "s.jsonl", request(3, calls("Bash", "2", command="make")), printed, request(4, says("On."))
    )
    totals = replay(record_of(log, PRICES), show).totals
    assert (totals.cut, totals.tokens_cut, totals.kept, totals.needed) == (1, 499, 1, 1)
    assert totals.saved == pytest.approx(499 * 2.0)


def test_intervals_draw_sessions_with_their_sub_agents(tmp_path: Path) -> None:
    def report(names: Sequence[str]) -> Report:
        texts = [session().replace('"sessionId": "s"', f'"sessionId": "{name}"') for name in names]
        logs = [written(tmp_path / f"{n}.jsonl", text=text) for n, text in enumerate(texts)]
        return Report(tuple(by_first_lines(log) for log in logs))

    net = report([f"s{n}" for n in range(6)]).net
    assert net.low - 1e-9 <= net.value <= net.high + 1e-9
    net = report(["s"] * 6).net  # one session and five sub-agents of it
    assert net.low != net.low


def test_sessions_are_replayed_from_the_oldest_and_told_from_the_latest(tmp_path: Path) -> None:
    for age, name in enumerate(("new", "old")):
        path = written(tmp_path / f"{name}.jsonl")
        os.utime(path, (1_000_000 - age, 1_000_000 - age))
    done = invoke("replay", "--json", "--limit", "1", str(tmp_path))
    assert [Path(each["log"]).stem for each in json.loads(done.stdout)["sessions"]] == ["new"]


def test_what_a_script_got_saves_nothing(tmp_path: Path) -> None:
    """Codex's hooks can't change it."""
    words = (
        "response_item",
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": SAID}]},
    )
    count = {"input_tokens": 9000, "output_tokens": 10, "total_tokens": 9010}
    usage = (
        "event_msg",
        {"type": "token_count", "info": {"total_token_usage": count, "last_token_usage": count}},
    )
    model = ("turn_context", {"cwd": "/p", "model": "gpt-5.4"})
    cat = (code_mode.script(), code_mode.ran("cat a.py", CODE), code_mode.printed(CODE))
    log = written(tmp_path / "s.jsonl", text=code_mode.log(model, words, *cat, usage, words, usage))
    replayed = replay_log(log, PRICES)
    (read,) = replayed.reads
    assert read.outcome.reason == FOR_A_SCRIPT
    assert replayed.totals.saved == 0


# Logs that don't say what their requests read


def without_usage(text: str) -> str:
    """The same session in a log that doesn't account for its requests."""
    records = [json.loads(line) for line in text.splitlines()]
    for record in records:
        record["message"].pop("usage", None)
    return "".join(json.dumps(record) + "\n" for record in records)


def test_a_log_without_accounts_tells_what_is_cut_and_kept_and_no_net(tmp_path: Path) -> None:
    told = replay_log(written(tmp_path / "told" / "s.jsonl"), PRICES)
    silent = replay_log(written(tmp_path / "s.jsonl", text=without_usage(session())), PRICES)
    assert (told.accounted, silent.accounted) == (True, False)
    for name in ("reads", "read_tokens", "cut", "tokens_cut", "needed", "kept"):
        assert getattr(silent.totals, name) == getattr(told.totals, name) > 0
    for name in ("bill", "saved", "fetching", "again"):
        assert getattr(silent.totals, name) == 0
    table = Report((silent,)).table()
    assert "1 of 1 logs don't say what their requests read" in table
    assert "of the bill" not in table
    assert "$" not in table
    assert json.loads(Report((silent,)).to_json())["total"]["net_share"]["value"] is None
    both = Report((told, silent))
    assert both.net.value == pytest.approx(Report((told,)).net.value)
    assert "1 of 2 logs" in both.table()


def test_accounts_that_leave_out_what_requests_read_tell_no_net(tmp_path: Path) -> None:
    """What is saved can't be more than what was paid: a request that read a file read at least the file."""
    counted_new_tokens_only = session().replace(
        '"cache_creation_input_tokens": 4000, "cache_read_input_tokens": 1010',
        '"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0',
    )
    replayed = replay_log(written(tmp_path / "s.jsonl", text=counted_new_tokens_only), PRICES)
    assert not replayed.accounted
    assert replayed.totals.tokens_cut > 0
    assert replayed.totals.saved == 0


@pytest.mark.parametrize("cached", [0, 1])
def test_accounts_of_new_tokens_alone_tell_no_net(tmp_path: Path, cached: int) -> None:
    """Each request could have read the result before it, but not all that the context holds by then."""
    text = approximate_tokens(NUMBERED)
    more: list[dict[str, Any]] = []
    for n in range(3, 9):
        read = calls("Read", str(n), file_path=f"/w/{n}.py")
        more += [
            request(n, read, cached=cached * n * text, written_tokens=text),
            claude("user", answers(str(n), NUMBERED)),
        ]
    more.append(request(9, says("Done."), cached=cached * 9 * text, written_tokens=text))
    replayed = replay_log(written(tmp_path / "s.jsonl", *more), PRICES)
    assert replayed.accounted is bool(cached)
    assert replayed.totals.saved <= replayed.totals.bill


def test_results_that_a_compaction_took_away_leave_the_accounts_complete(tmp_path: Path) -> None:
    more = [
        request(3, calls("Bash", "7", command="make"), cached=100_000),
        claude("user", answers("7", "printed a line of it\n" * 3000)),
        request(4, says("Where was I?"), cached=0, written_tokens=2000),
    ]
    assert replay_log(written(tmp_path / "s.jsonl", *more), PRICES).accounted


def test_a_file_that_was_shown_before_is_told_without_accounts_too(tmp_path: Path) -> None:
    reread = [
        claude("assistant", calls("Read", "7", file_path="/w/a.py")),
        claude("user", answers("7", NUMBERED)),
    ]
    log = written(tmp_path / "s.jsonl", text=without_usage(session(*reread)))
    assert [read.outcome.reason for read in replay_log(log, PRICES).reads] == ["pruned", "shown before"]


@pytest.mark.parametrize("name", LOGS)
def test_logs_of_all_hosts_are_read_and_none_tells_a_net_without_accounts(tmp_path: Path, name: str) -> None:
    replayed = replay_log(written(tmp_path / "log.json", text=LOGS[name]), PRICES)
    assert replayed.host == name
    assert replayed.totals.reads == 1
    table = Report((replayed,)).table()
    assert ("$" in table) == ("of the bill" in table) == replayed.accounted
