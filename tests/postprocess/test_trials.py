"""Unusual texts are parsed by another process first, which may die of them."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from time import monotonic

import numpy as np
import psutil
import pytest
from lamr_postprocess import PrunedCode, line_spans, prune_lines, trials
from lamr_postprocess.clock import OutOfTimeError, ending_at

DEEP = "[\n" * 150 + "1\n" + "]\n" * 150
LARGE = json.dumps({f"key {number}": "a" * 390 for number in range(2_500)}, indent=1) + "\n"
FAILED = "json whose grammar failed: pruned line by line"


@pytest.fixture(autouse=True)
def tried(monkeypatch: pytest.MonkeyPatch) -> Iterator[trials.Trials]:
    end_children()  # those of services that other tests ran in this process
    own = trials.Trials()
    monkeypatch.setattr(trials, "_trials", [own])
    yield own
    end_children()


def end_children() -> None:
    for child in children():
        child.kill()
        child.wait()


def children() -> list[psutil.Process]:
    return [each for each in psutil.Process().children() if "trial_process" in " ".join(each.cmdline())]


def pruned(text: str, path: str = "a.json") -> PrunedCode:
    scores = np.random.default_rng(0).random(len(line_spans(text)))
    return prune_lines(text, scores, path=path, threshold=0.8)


@pytest.mark.parametrize("text", [DEEP, LARGE])
def test_the_result_is_that_of_one_parse(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = pruned(text)
    assert len(children()) == 1
    monkeypatch.setattr(trials, "_trials", [])
    assert found == pruned(text)
    assert found.note is None


def test_a_part_in_another_language_is_tried_where_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    text = f'<p>a</p>\n<script type="application/json">\n{DEEP}</script>\n'
    found = pruned(text, "a.html")
    assert len(children()) == 1
    monkeypatch.setattr(trials, "_trials", [])
    assert found == pruned(text, "a.html")


def test_usual_texts_need_no_process() -> None:
    pruned("[\n" * 90 + "1\n" + "]\n" * 90)
    pruned(LARGE[:100_000])
    assert children() == []


def test_a_death_is_told_and_the_next_text_is_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as narrow:
        narrow.setattr(trials, "MEMORY", 1 << 20)
        assert pruned(LARGE).note == FAILED
        assert children() == []
    assert pruned(LARGE).note is None


def test_time_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trials, "CPU_SECONDS", 0)
    assert pruned(LARGE).note == FAILED


def test_a_process_that_somebody_kills_is_started_again() -> None:
    first = pruned(DEEP)
    [child] = children()
    child.kill()
    child.wait()
    assert pruned(DEEP) == first


def test_a_trial_ends_with_the_time_of_its_caller() -> None:
    with ending_at(monotonic() + 0.05), pytest.raises(OutOfTimeError):
        pruned(LARGE)
    assert pruned(LARGE).note is None


def test_a_process_that_is_held_ends() -> None:
    held = "from lamr_postprocess import trials; trials.HELD_SECONDS = 0.5; trials._BEAT_SECONDS = 0.1;"
    done = subprocess.run(
        [sys.executable, "-c", f"{held} trials.try_first(); sum(range(10**12))"],
        stderr=subprocess.PIPE,
        check=False,
    )
    assert done.returncode == -signal.SIGPROF
    assert b"<module>" in done.stderr


def test_a_process_that_only_works_long_goes_on() -> None:
    works = "from lamr_postprocess import trials; trials.HELD_SECONDS = 0.1; trials._BEAT_SECONDS = 0.01;"
    loop = "while time.process_time() < 1: sum(range(100))"
    subprocess.run(
        [
            sys.executable,
            "-c",
            f"import os, time; {works} os.cpu_count = lambda: 5; trials.try_first()\n{loop}",
        ],
        check=True,
    )
