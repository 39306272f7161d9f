"""One judgement: pairs, costs, what is kept, and what a kill leaves."""

import contextlib
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from lamr_base.cache import Cache
from lamr_base.errors import InvalidInputError, ServerUnavailableError
from lamr_client import Pruner
from lamr_evaluation.judge import PRUNERS, Bench, Judgement, Setup, figures_of, judge
from lamr_evaluation.judge.readers import EndpointReader
from lamr_evaluation.judge.report import JudgeReport
from lamr_evaluation.judge.run import Cost
from lamr_model.counters import token_counter
from lamr_model.encoding import PromptEncoder
from lamr_model.spec import bundled_repository

from tests.command import run_main
from tests.evaluation.judge.material import ITEMS, reader_of_shown_code
from tests.evaluation.judge.scripted import Scripted

NAMES = ("whole", "none", "head-tail", "bm25", "lamr-instant", "oracle")
COUNT = token_counter(None, PromptEncoder.from_repository(bundled_repository()))
SETUP = Setup(COUNT, Pruner())


@pytest.fixture
def server() -> Iterator[Scripted]:
    with Scripted(reader_of_shown_code) as scripted:
        yield scripted


def bench(server: Scripted, file: Path | None, stack: contextlib.ExitStack, **more: object) -> Bench:
    return Bench(
        EndpointReader(server.url, "scripted", retries=0),
        {name: PRUNERS[name](SETUP) for name in NAMES},
        (0.5, 0.25),
        COUNT,
        stack.enter_context(Cache(file)),
        **more,
    )


def judged(server: Scripted, file: Path | None = None, **more: object) -> Judgement:
    with contextlib.ExitStack() as stack:
        return judge(ITEMS, bench(server, file, stack, **more))


def grade(found: Judgement, place: int, pruner: str, share: float) -> float:
    [row] = [e for e in found.answered[place] if (e.shown.pruner, e.shown.share) == (pruner, share)]
    return next(iter(row.grades.values()))


def test_a_reader_answers_from_what_it_is_shown(server: Scripted) -> None:
    found = judged(server)
    assert sorted(found.answered) == [0, 1, 2, 3]
    for place in found.answered:
        assert grade(found, place, "whole", 1.0) == 1
        assert grade(found, place, "none", 0.0) < 1
        if ITEMS[place].gold:
            assert grade(found, place, "oracle", 0.25) == 1
    assert not any(row.shown.pruner == "oracle" for row in found.answered[2])


def test_cost_is_foreseen_and_met_and_equal_questions_are_asked_once(server: Scripted) -> None:
    said: list[Cost] = []
    found = judged(server, on_foreseen=lambda cost, _: said.append(cost))
    assert [found.spent.tokens_in, found.spent.tokens_out] == server.paid
    assert found.spent.questions == len(server.requests) == said[0].questions
    [foreseen] = said
    assert foreseen == found.foreseen
    # The server counts words, of which a text has no more than tokens.
    assert found.spent.tokens_in <= found.foreseen.tokens_in
    assert found.spent.tokens_out <= found.foreseen.tokens_out
    texts = [each["messages"][1]["content"] for each in server.requests]
    assert len(texts) == len(set(texts))


def test_answers_are_kept_by_content(server: Scripted, tmp_path: Path) -> None:
    first = judged(server, tmp_path / "kept.sqlite")
    count = len(server.requests)
    again = judged(server, tmp_path / "kept.sqlite")
    assert len(server.requests) == count
    assert (again.spent, again.foreseen, again.known) == (Cost(), Cost(), count)
    assert {p: [r.grades for r in rows] for p, rows in again.answered.items()} == {
        p: [r.grades for r in rows] for p, rows in first.answered.items()
    }


def test_a_server_that_goes_keeps_what_was_answered(server: Scripted, tmp_path: Path) -> None:
    kept = tmp_path / "kept.sqlite"
    answered = []

    def answer(body: dict) -> str:
        answered.append(body)
        if len(answered) > 5:
            raise ConnectionAbortedError
        return reader_of_shown_code(body)

    server.answer = answer
    with pytest.raises(ServerUnavailableError):
        judged(server, kept)
    server.answer = reader_of_shown_code
    before = len(server.requests)
    found = judged(server, kept)
    assert found.known >= 1
    assert len(server.requests) - before == found.spent.questions


def test_an_interrupted_run_keeps_what_it_paid_for(server: Scripted, tmp_path: Path) -> None:
    def interrupt(what: str, done: int, _total: int) -> None:
        if what == "asking" and done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        judged(server, tmp_path / "kept.sqlite", progress=interrupt)
    count = len(server.requests)
    assert count >= 3
    assert judged(server, tmp_path / "kept.sqlite").known == count


def test_servers_that_count_nothing_are_counted_for_and_answers_that_were_cut_off_are_counted(
    server: Scripted,
) -> None:
    server.counts, server.finish = False, "length"
    found = judged(server)
    assert found.spent.tokens_in == found.foreseen.tokens_in
    assert 0 < found.spent.tokens_out <= found.foreseen.tokens_out
    assert found.cut == sum(map(len, found.answered.values()))


def test_a_refused_question_leaves_its_item_out_of_every_figure(server: Scripted) -> None:
    server.refuses = lambda body: (
        "too long" if "letter of the right" in body["messages"][1]["content"] else None
    )
    found = judged(server)
    assert sorted(found.answered) == [1, 2, 3]
    assert [each.line for each in found.problems] == [1]
    assert "too long" in found.problems[0].reason
    server.refuses = lambda _: "no"
    with pytest.raises(InvalidInputError, match="none of 4 items"):
        figures_of(judged(server))


def test_figures_are_paired_with_the_whole(server: Scripted) -> None:
    found = judged(server)
    tasks = {each.task: each for each in figures_of(found)}
    figures = {(each.pruner, each.share): each for each in tasks["choice"].figures}
    assert figures["whole", 1.0].to_whole is None
    assert figures["none", 0.0].to_whole.mean == -1
    assert figures["oracle", 0.25].to_whole.mean == 0
    assert figures["oracle", 0.25].kept <= 0.25
    assert {(each.pruner, each.other) for each in tasks["choice"].versus} == {
        ("lamr-instant", "head-tail"),
        ("lamr-instant", "bm25"),
    }
    report = JudgeReport("scripted", tuple(tasks.values()), found.foreseen, found.spent, found.known)
    assert json.loads(report.to_json())["tasks"][0]["figures"][0]["pruner"] == "whole"
    assert "lamr-instant minus" in report.table()


def test_a_killed_run_goes_on_where_it_was(
    server: Scripted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    data = tmp_path / "items.jsonl"
    data.write_text("".join(f"{each.to_json()}\n" for each in ITEMS))
    half, gate = threading.Event(), threading.Event()
    answered: list[str] = []

    def answer(body: dict) -> str:
        if len(answered) >= 20:
            half.set()
            gate.wait(60)
        answered.append(body["messages"][1]["content"])
        return reader_of_shown_code(body)

    server.answer = answer
    words = ["research", "judge", "-d", str(data), "--reader", server.url, "--model", "scripted", "--json"]
    words += [word for name in NAMES for word in ("--pruner", name)]
    command = [sys.executable, "-m", "lamr_cli.main", *words]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert half.wait(120)
    running.send_signal(signal.SIGKILL)
    running.communicate()
    assert running.returncode == -signal.SIGKILL
    gate.set()
    server.answer = reader_of_shown_code
    before = len(server.requests)
    done = run_main(*words)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    # What was under way at the kill, eight questions at most, is asked again.
    assert report["known"] >= 20 - 8
    assert report["spent"]["questions"] == len(server.requests) - before
    whole = judged(server)
    assert report["known"] + report["spent"]["questions"] >= len(
        {row.shown for r in whole.answered.values() for row in r}
    )
