"""What a replay counts: every session, what is read again as it would arise, and the agent's waiting."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from lamr_agents.policy import FOR_A_SCRIPT, Policy
from lamr_agents.replay import (
    NoSessionError,
    Prices,
    Recorded,
    Replayed,
    Result,
    ScoredOnce,
    Way,
    bundled_prices,
    record_of,
    replay,
    ways,
)
from lamr_agents.replay.bill import CALL_OUTPUT, Bill
from lamr_agents.replay.figures import WayFigures, figures_of
from lamr_agents.replay.prices import Price
from lamr_agents.skim import skim, untouched
from lamr_agents.skimmed import Skim
from lamr_cli.main import app
from lamr_client.mock_transport import uniform_answer
from lamr_contract.cache import Cache
from lamr_postprocess import approximate_tokens
from typer.testing import CliRunner

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
    pruner,
    replay_log,
    says,
    session,
    usage,
)
from tests.sessions import test_code_mode as code_mode

PRICE = Price(("*",), input=1.0, cache_write=2.0, cache_read=0.1, output=10.0)
PRICES = Prices((PRICE,), hour=3600.0)


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


def first_lines(count: int) -> Way:
    """A way that keeps the first lines of each big read."""

    def judge(result: Result) -> Skim:
        if result.big is None:
            return untouched(result.asked, "no read")
        text = "".join(f"{line}\n" for line in LINES[:count])
        tokens = approximate_tokens(text)
        kept = tuple(range(1, count + 1))
        return Skim(text, "pruned", kept, result.asked.lines, result.asked.tokens, tokens)

    return Way("first", lambda _: judge)


def by_first_lines(log: Path, count: int = 4) -> Replayed:
    return replay_log(log, [first_lines(count)], PRICES)


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
    done = CliRunner().invoke(app, ["replay", "--no-cache", "--json", str(tmp_path)])
    assert done.exit_code == 0, done.output
    value = json.loads(done.stdout)
    assert value["total"]["sessions"] == 2
    alone = Bill.of(record_of(other, bundled_prices()).bill.requests, bundled_prices()).total
    assert alone > 0
    with_read = next(each for each in value["sessions"] if each["reads"])
    assert value["total"]["bill"] == pytest.approx(with_read["ways"]["lamr"]["bill"] + alone)
    share = value["ways"]["lamr"]["shares"]["net"]["value"]
    assert share == pytest.approx(value["total"]["net"] / value["total"]["bill"])
    table = CliRunner().invoke(app, ["replay", "--no-cache", str(tmp_path)]).output
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
    done = CliRunner().invoke(app, ["replay", "--no-cache", "--json", str(tmp_path)])
    why = {Path(path).name: reason for path, reason in json.loads(done.stdout)["passed_over"].items()}
    assert why == {
        "foreign.json": "no log of a known host",
        "broken.json": "no JSON, or cut off",
        "silent.jsonl": "a session of claude-code without a request",
        "locked.jsonl": "it can't be read (Permission denied)",
    }
    table = CliRunner().invoke(app, ["replay", "--no-cache", str(tmp_path)]).output
    assert "1 not counted, it can't be read (Permission denied): " in table
    assert "locked.jsonl" in table


def test_a_session_without_a_request_is_told_from_a_file_without_a_session(tmp_path: Path) -> None:
    silent = tmp_path / "silent.jsonl"
    silent.write_text(json.dumps(claude("user", says(TASK))) + "\n")
    done = CliRunner().invoke(app, ["replay", str(silent)])
    assert done.exit_code == 2
    assert "a session of claude-code without a request" in done.output
    assert "known host" not in done.output


def test_lines_that_cant_be_read_are_counted_but_for_one_that_is_being_written(tmp_path: Path) -> None:
    lines = session().splitlines()
    running = written(tmp_path / "running.jsonl", text="\n".join([*lines, '{"type": "assis']))
    broken = written(tmp_path / "broken.jsonl", text="\n".join([lines[0], "\0\0\0", *lines[1:], "{", "[1"]))
    assert [record_of(log, PRICES).broken for log in (running, broken)] == [0, 2]
    output = CliRunner().invoke(app, ["replay", "--no-cache", str(broken)]).output
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
    done = CliRunner().invoke(app, ["replay", "--no-cache", "--json", str(tmp_path)])
    value = json.loads(done.stdout)
    bills = {Path(each["log"]).stem: each["ways"]["lamr"]["bill"] for each in value["sessions"]}
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
    assert read.ours.again == 1
    halves = replay_log(tmp_path / "s.jsonl", [all_but("value_40 =")], PRICES)
    assert halves.reads[0].ours.again == 2


def test_what_one_request_needs_is_fetched_at_once(tmp_path: Path) -> None:
    way = all_but("value_30 =", "value_40 =")  # the edit needs the former
    both = request(3, quote("value_7 ="), quote("value_50 ="))
    (read,) = replay_log(written(tmp_path / "s.jsonl", both), [way], PRICES).reads
    assert read.ours.again == 1
    hidden = len(LINES) - 3 - (line_of("value_40 =") - line_of("value_30 =") - 1)
    fetched = round(hidden * read.ours.tokens_in / len(LINES))
    assert read.ours.fetching == pytest.approx(5215 * 0.1 + CALL_OUTPUT * 10 + (fetched + CALL_OUTPUT) * 2.0)
    apart = [request(3, quote("value_7 =")), request(4, quote("value_50 ="))]
    (read,) = replay_log(written(tmp_path / "s.jsonl", *apart), [way], PRICES).reads
    assert read.ours.again == 2


def all_but(*words: str) -> Way:
    """A way that keeps the first line and those that hold the words, between which lie cuts."""

    def judge(result: Result) -> Skim:
        if result.big is None:
            return untouched(result.asked, "no read")
        return Skim("x\n", "pruned", (1, *map(line_of, words)), result.asked.lines, result.asked.tokens, 10)

    return Way("cuts", lambda _: judge)


def test_what_is_read_again_is_paid_in_each_later_request(tmp_path: Path) -> None:
    log = written(tmp_path / "s.jsonl", request(3, says("On.")), request(4, says("On.")))
    recorded = record_of(log, PRICES)
    outcome = replay(recorded, [first_lines(4)], 0.0).reads[0].ours
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
    assert first.ours.again == 0


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
    hidden = round((len(read.lines) - 4) * read.ours.tokens_in / len(read.lines))
    # One request more before the last, which alone reads what is fetched.
    assert read.ours.again == 1
    assert read.ours.fetching == pytest.approx(6100 * 0.1 + CALL_OUTPUT * 10 + hidden + CALL_OUTPUT)
    assert (replayed.name, replayed.project) == ("s1", "p")


def test_nothing_is_fetched_for_what_comes_after_a_compaction(tmp_path: Path) -> None:
    keeps_the_edit = line_of("value_31 =")
    log = written(tmp_path / "s.jsonl", request(3, quote("value_50 ="), cached=0, written_tokens=900))
    read = by_first_lines(log, keeps_the_edit).reads[0]
    assert line_of("value_50 =") in read.regretted
    assert (read.ours.again, read.ours.fetching) == (0, 0)
    log = written(tmp_path / "s.jsonl", request(3, quote("value_50 =")))
    assert by_first_lines(log, keeps_the_edit).reads[0].ours.again == 1


def test_a_file_counts_as_shown_before_as_hosts_count_it(tmp_path: Path) -> None:
    def again(*before: dict[str, Any]) -> str:
        text = "".join(json.dumps(each) + "\n" for each in before) + session()
        with pruner() as asking:
            replayed = replay_log(written(tmp_path / "s.jsonl", text=text), ways(asking), PRICES)
        return replayed.reads[-1].ours.reason

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


def test_the_agents_waiting_is_counted_in_seconds_and_dollars(tmp_path: Path) -> None:
    with pruner() as asking:
        replayed = replay_log(written(tmp_path / "s.jsonl"), ways(asking), PRICES)
    ours = replayed.ours
    assert ours.seconds > 0
    assert ours.pruning == pytest.approx(ours.seconds)  # a dollar a second
    assert ours.net == pytest.approx(ours.saved - ours.fetching - ours.pruning)


def test_words_that_the_agent_writes_for_the_pruner_are_counted(tmp_path: Path) -> None:
    question = "What does handler_9 write?"
    asking_text = session().replace(
        '"file_path": "/w/a.py"}', f'"file_path": "/w/a.py", "context_focus_question": "{question}"}}', 1
    )
    plain = record_of(written(tmp_path / "a.jsonl"), PRICES)
    asking = record_of(written(tmp_path / "b.jsonl", text=asking_text), PRICES)
    tokens = approximate_tokens(question)
    assert plain.control == 0
    assert asking.control == pytest.approx(tokens * 10.0 + tokens * (2.0 + 0.1))
    with pruner() as pruning:
        ledgers = replay(asking, ways(pruning), 0.0).ledgers
    ours = ledgers["lamr"]
    assert ours.net == pytest.approx(ours.saved - ours.fetching - asking.control)


def test_cut_text_is_the_same_for_ever_by_its_content(tmp_path: Path) -> None:
    result = record_of(written(tmp_path / "s.jsonl"), PRICES).results[0]
    texts = set()
    with Cache(tmp_path / "kept.sqlite") as cache:
        for _ in range(2):
            with pruner() as asking:
                for one in (asking, ScoredOnce(asking, "model", cache)):
                    shown = skim(one, result.asked, result.intent, Policy())
                    assert shown.cut
                    texts.add(shown.text)
    assert len(texts) == 1


_SHOWN = """
import hashlib, pathlib, sys
from lamr_agents.policy import Policy
from lamr_agents.replay import bundled_prices, record_of
from lamr_agents.skim import skim
from lamr_client import Pruner

result = record_of(pathlib.Path(sys.argv[1]), bundled_prices()).results[0]
with Pruner() as pruner:
    shown = skim(pruner, result.asked, result.intent, Policy(), effort="instant")
print(shown.cut, hashlib.sha256(shown.text.encode()).hexdigest())
"""


def test_another_process_cuts_to_the_same_bytes(tmp_path: Path) -> None:
    log = written(tmp_path / "s.jsonl")
    paths = os.pathsep.join(sys.path)
    said = {
        subprocess.run(
            [sys.executable, "-c", _SHOWN, str(log)],
            env={**os.environ, "PYTHONPATH": paths, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(said) == 1
    assert said.pop().startswith("True ")


# The pruner's work is kept


def counting(asked: list[int]) -> Callable[..., Any]:
    def answer(chunk: Any) -> Any:
        asked.append(1)
        return uniform_answer(chunk, 0.5)

    return answer


@pytest.mark.parametrize("threshold", [None, 0.2, 0.6])
def test_kept_scores_give_what_the_pruner_gives(tmp_path: Path, threshold: float | None) -> None:
    options: dict[str, Any] = {
        **{"task": TASK, "history": "", "path": "a.py", "markers": "named", "effort": "full", "within": None},
        **{"threshold": threshold, "keep": [(3, 9)]},
    }
    asked: list[int] = []
    with pruner(counting(asked)) as own, Cache(tmp_path / "kept.sqlite") as cache:
        expected = own.prune(SAID, CODE, **options)
        once = ScoredOnce(own, "model", cache)
        first = once.prune(SAID, CODE, **options)
        before = len(asked)
        second = once.prune(SAID, CODE, **options)
        assert len(asked) == before
        for found in (first, second):
            assert (found.text, found.kept_lines) == (expected.text, expected.kept_lines)
            assert (found.relevance, found.threshold) == (expected.relevance, expected.threshold)
            assert found.line_scores == expected.line_scores
        assert second.timings.total >= first.timings.infer
        once.prune(SAID, CODE.replace("os", "re"), **options)
        assert len(asked) > before


def test_another_policy_asks_no_model_again(tmp_path: Path) -> None:
    recorded = record_of(written(tmp_path / "s.jsonl"), PRICES)
    requests = []
    with Cache(tmp_path / "kept.sqlite") as cache:
        for threshold in (None, 0.3, 0.7):
            asked: list[int] = []
            with pruner(counting(asked)) as own:
                once = ScoredOnce(own, "model", cache)
                replayed = replay(recorded, ways(once, Policy(threshold=threshold), "full"), PRICES.hour)
            assert replayed.ours.seconds > 0
            requests.append(len(asked))
    assert requests[0] > 0
    assert requests[1:] == [0, 0]


def test_an_entry_of_another_version_is_made_anew(tmp_path: Path) -> None:
    recorded = record_of(written(tmp_path / "s.jsonl"), PRICES)
    with Cache(tmp_path / "kept.sqlite") as cache, pruner() as own:
        expected = replay(recorded, ways(ScoredOnce(own, "m", cache)), 0.0).ours.tokens_cut
        (key,) = cache.keys("replay")
        cache.put("replay", {key: b"what is this"})
        assert replay(recorded, ways(ScoredOnce(own, "m", cache)), 0.0).ours.tokens_cut == expected


# Ways, intervals


def test_a_way_begins_anew_with_each_session_and_sees_all_results_in_order(tmp_path: Path) -> None:
    seen: list[list[int]] = []

    def begin(_session: Recorded) -> Callable[[Result], Skim]:
        seen.append([])

        def judge(result: Result) -> Skim:
            seen[-1].append(result.place)
            return untouched(result.asked, "x")

        return judge

    long = claude("user", answers("2", "printed\n" * 300))
    log = written(tmp_path / "s.jsonl", request(3, calls("Bash", "2", command="make")), long)
    for _ in range(2):
        replay_log(log, [Way("watch", begin)], PRICES)
    assert len(seen) == 2
    assert seen[0] == seen[1] == sorted(seen[0])
    assert len(seen[0]) == 2  # the big read, and what the command printed


def test_a_shorter_result_that_is_no_read_is_paid_for_less(tmp_path: Path) -> None:
    def judge(result: Result) -> Skim:
        if result.big:
            return untouched(result.asked, "x")
        return Skim("y\n", "condensed", tuple(range(1, result.asked.lines + 1)), result.asked.lines, 500, 1)

    printed = claude("user", answers("2", "printed\n" * 300))
    log = written(
        tmp_path / "s.jsonl",
        request(3, calls("Bash", "2", command="make")),
        printed,
        request(4, says("On.")),
    )
    ledger = replay_log(log, [Way("short", lambda _: judge)], PRICES).ours
    assert (ledger.cut, ledger.tokens_cut, ledger.kept, ledger.needed) == (1, 499, 1, 1)
    assert ledger.saved == pytest.approx(499 * 2.0)


def test_intervals_draw_sessions_with_their_sub_agents(tmp_path: Path) -> None:
    def figures(names: Sequence[str]) -> list[WayFigures]:
        texts = [session().replace('"sessionId": "s"', f'"sessionId": "{name}"') for name in names]
        logs = [written(tmp_path / f"{n}.jsonl", text=text) for n, text in enumerate(texts)]
        with pruner() as asking:
            return figures_of([replay_log(log, ways(asking), PRICES) for log in logs])

    found = figures([f"s{n}" for n in range(6)])
    ours, other = found[0], found[1]
    assert ours.net.low - 1e-9 <= ours.net.value <= ours.net.high + 1e-9
    assert (ours.ahead.low, ours.ahead.high) == (0, 0)
    assert other.ahead.value == pytest.approx(other.net.value - ours.net.value)
    ours = figures(["s"] * 6)[0]  # one session and five sub-agents of it
    assert ours.net.low != ours.net.low


def test_sessions_are_replayed_from_the_oldest_and_told_from_the_latest(tmp_path: Path) -> None:
    for age, name in enumerate(("new", "old")):
        path = written(tmp_path / f"{name}.jsonl")
        os.utime(path, (1_000_000 - age, 1_000_000 - age))
    done = CliRunner().invoke(app, ["replay", "--no-cache", "--json", "--limit", "1", str(tmp_path)])
    assert [Path(each["log"]).stem for each in json.loads(done.stdout)["sessions"]] == ["new"]


def test_groups_tell_hosts_and_projects_apart(tmp_path: Path) -> None:
    for name in ("one", "two"):
        text = session().replace('"sessionId": "s"', f'"sessionId": "{name}", "cwd": "/home/u/{name}"')
        written(tmp_path / name / "s.jsonl", text=text.replace('"id": "m', f'"id": "{name}'))
    table = CliRunner().invoke(app, ["replay", "--no-cache", str(tmp_path)]).output
    assert "net by project" in table
    assert "net by host" not in table  # there is one
    assert any(line.startswith("two ") for line in table.splitlines())


def test_no_session_says_why(tmp_path: Path) -> None:
    with pytest.raises(NoSessionError, match="no JSON"):
        record_of(written(tmp_path / "x.jsonl", text="what\n"), PRICES)


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
    with pruner() as asking:
        replayed = replay_log(log, ways(asking), PRICES)
    (read,) = replayed.reads
    assert read.ours.reason == FOR_A_SCRIPT
    assert replayed.ours.saved == 0
