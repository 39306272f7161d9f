"""A process that stood still ends; one that is merely slow, or was never watched, doesn't."""

import contextlib
import os
import signal
import subprocess
import sys
import time

import pytest
from lamr_base import stalls
from lamr_base.stalls import LONGEST_GAP, StallWatch

PROGRAM = """
import time
from lamr_base.stalls import StallWatch
StallWatch().start()
print("started", flush=True)
time.sleep(60)
"""


@pytest.fixture
def clocks(monkeypatch):
    """The two clocks, to be set; no thread looks at them."""
    clocks = [100.0, 1000.0]
    monkeypatch.setattr(stalls, "_clocks", lambda: tuple(clocks))
    monkeypatch.setattr(StallWatch, "_run", lambda _: None)
    return clocks


@pytest.mark.parametrize("clock", [0, 1])
@pytest.mark.parametrize("when", ["before", "during"])
def test_no_answer_leaves_a_process_that_stood_still(clocks, clock, when):
    def end(gap):
        ended.append(gap)
        raise SystemExit

    ended: list[float] = []
    watch = StallWatch(end)
    watch.start()
    with contextlib.suppress(SystemExit):
        clocks[clock] += 5 * (when == "before")
        with watch.answering():
            assert when == "during"
            clocks[clock] += 5
    assert ended == [5]


def test_short_gaps_are_nothing(clocks):
    ended: list[float] = []
    watch = StallWatch(ended.append)
    watch.start()
    for _ in range(10):
        clocks[0] += LONGEST_GAP * 0.9
        clocks[1] -= 3  # a clock that is set back makes nobody impatient
        with watch.answering():
            pass
    assert not ended


def test_nothing_is_watched_before_the_start(clocks):
    watch = StallWatch(pytest.fail)
    with watch.answering():
        clocks[0] += 100


def test_a_process_that_is_stopped_and_continued_ends_and_says_why():
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    with process:
        assert process.stdout.readline() == b"started\n"
        os.kill(process.pid, signal.SIGSTOP)
        time.sleep(LONGEST_GAP + 0.3)
        os.kill(process.pid, signal.SIGCONT)
        _, said = process.communicate(timeout=30)
    assert process.returncode == 1
    assert b"stood still for" in said
    assert said.startswith(b"E")
