"""How long work takes, by what it took: no clock but the tests' own."""

import pytest
from lamr_client.reading_plan import Pace


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_nothing_is_known_until_something_was_measured() -> None:
    pace = Pace()
    assert pace.seconds(100) is None
    assert pace.fits(100, 0.001), "only who tries learns"
    pace.measured(100, 2.0)
    assert pace.seconds(50) == pytest.approx(1.0)
    assert pace.fits(50, 1.1)
    assert not pace.fits(50, 0.9)
    assert pace.fits(10**9, None)


def test_a_guess_holds_until_there_is_a_measurement() -> None:
    pace = Pace(overhead=10, guess=0.1)
    assert pace.seconds(10) == pytest.approx(2.0)
    pace.measured(10, 1.0)
    assert pace.seconds(10) == pytest.approx(1.0), "overhead counts in both"


def test_what_is_slow_now_and_then_is_not_what_is_expected() -> None:
    pace = Pace()
    for seconds in (1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 9.0):
        pace.measured(1, seconds)
    assert pace.seconds(1) == 1.0


def test_old_measurements_are_forgotten() -> None:
    clock = Clock()
    pace = Pace(guess=0.5, clock=clock)
    pace.measured(1, 9.0)
    assert pace.seconds(1) == 9.0
    clock.now = 60.0
    assert pace.seconds(1) == 0.5, "a server that was slow is tried again"


def test_what_was_quick_once_is_tried_again_when_nothing_was_measured_for_a_while() -> None:
    clock = Clock()
    pace = Pace(clock=clock)
    for seconds in (0.1, 9.0, 9.0):
        pace.measured(1, seconds)
    assert not pace.may_end(1, 1.0)
    clock.now = 3.0
    assert not pace.fits(1, 1.0)
    assert pace.may_end(1, 1.0)
    assert not pace.may_end(20, 1.0), "it never was so quick"
    pace.measured(1, 8.0)
    assert not pace.may_end(1, 1.0), "it is still slow"


def test_a_quick_answer_ends_what_was_slow() -> None:
    pace = Pace()
    for seconds in (9.0, 9.0, 9.0, 0.2):
        pace.measured(1, seconds)
    assert pace.seconds(1) == pytest.approx(0.2)
