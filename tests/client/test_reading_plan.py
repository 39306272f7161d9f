"""Which chunks are read next, and why no more: with gains, paces and deadlines that the tests make up."""

from collections.abc import Sequence

import numpy as np
import pytest
from lamr_client.deadline import Deadline
from lamr_client.reading_plan import Pace, ReadingPlan
from lamr_model.encoding import Chunk, Chunks


class Left(Deadline):
    """A deadline that is so many seconds away, whenever it is asked."""

    def __init__(self, left: float | None) -> None:
        super().__init__(None)
        self.left = left

    def seconds(self) -> float | None:
        return self.left


class Gains:
    """What chunks bring, by their numbers; remembers how often it was asked."""

    def __init__(self, gains: Sequence[float]) -> None:
        self.gains, self.asked = list(gains), 0

    def __call__(self, places: np.ndarray) -> np.ndarray:
        self.asked += 1
        return np.array(self.gains)[places]


def chunks(count: int) -> Chunks:
    """Chunks of ten tokens."""
    ranges = np.array([(10 * each, 10 * each + 10) for each in range(count)], np.int64)
    return Chunks(ranges, lambda at: Chunk(np.zeros(10, np.int64), (0, 10), (10 * at, 10 * at + 10)))


def paced(seconds: float | None) -> Pace:
    """A pace of so many seconds for a chunk."""
    return Pace(guess=None if seconds is None else seconds / 10)


def taken(plan: ReadingPlan, most: int = 8) -> list[list[int]]:
    """The chunks of each call, each answered at once."""
    calls = []
    for group in plan.groups(most):
        calls.append([chunk.tokens[0] // 10 for chunk in group])
        for _ in group:
            plan.answered()
    return calls


def test_the_best_is_read_first_and_what_is_settled_never() -> None:
    plan = ReadingPlan(chunks(5), Gains([0.1, 3.0, 0.0, 2.0, 1.0]), paced(0.01), Left(60.0))
    assert taken(plan, 1) == [[1], [3], [4], [0]]
    assert plan.why == "settled"


def test_nothing_is_said_where_all_was_read() -> None:
    plan = ReadingPlan(chunks(3), Gains([1.0] * 3), paced(0.01), Left(60.0))
    assert taken(plan) == [[0, 1, 2]]
    assert not plan.why


def test_nothing_is_begun_that_cant_end_in_time() -> None:
    plan = ReadingPlan(chunks(8), Gains([1.0] * 8), paced(0.1), Left(0.25))
    groups = plan.groups(64)
    assert len(next(groups)) == 2
    plan._deadline.left = 0.15
    assert len(next(groups)) == 1
    plan._deadline.left = 0.05
    assert list(groups) == []
    assert plan.why == "time"


def test_one_call_is_short_so_that_its_answers_tell_what_to_read_next() -> None:
    plan = ReadingPlan(chunks(40), Gains([1.0] * 40), paced(0.1), Left(None))
    assert {len(group) for group in taken(plan, 64)} == {2}
    slow = ReadingPlan(chunks(3), Gains([1.0] * 3), paced(2.0), Left(60.0))
    assert taken(slow, 64) == [[0], [1], [2]], "one chunk takes what it takes"


def test_one_chunk_is_tried_where_nobody_knows_how_long_it_takes() -> None:
    plan = ReadingPlan(chunks(3), Gains([1.0] * 3), paced(None), Left(0.01))
    assert len(next(plan.groups(64))) == 1


@pytest.mark.parametrize(("count", "asked"), [(1, 1), (2, 2), (64, 7)])
def test_gains_are_judged_anew_whenever_twice_as_many_were_read(count: int, asked: int) -> None:
    gains = Gains([1.0] * count)
    taken(ReadingPlan(chunks(count), gains, paced(0.3), Left(None)), 1)
    assert gains.asked == asked


def test_what_was_read_settles_what_is_left() -> None:
    gains = Gains([1.0] * 8)
    plan = ReadingPlan(chunks(8), gains, paced(0.3), Left(None))
    groups = plan.groups(1)
    next(groups), plan.answered()
    gains.gains = [0.0] * 8
    assert list(groups) == []
    assert plan.why == "settled"


def test_what_was_half_known_takes_less_time() -> None:
    plan = ReadingPlan(chunks(40), Gains([1.0] * 40), paced(0.1), Left(None), work=lambda ids: len(ids) / 10)
    assert [len(group) for group in taken(plan, 64)] == [25, 15]


def test_what_is_tried_again_travels_alone(monkeypatch) -> None:
    pace = paced(9.0)
    monkeypatch.setattr(pace, "is_worth_a_try", lambda units, _: units <= 10)
    plan = ReadingPlan(chunks(8), Gains([1.0] * 8), pace, Left(1.0))
    groups = plan.groups(64)
    assert [len(next(groups)) for _ in range(2)] == [1, 1]
    monkeypatch.setattr(pace, "is_worth_a_try", lambda *_: False)
    assert list(groups) == []
    assert plan.why == "time"


def test_what_was_taken_and_not_read_had_no_time() -> None:
    plan = ReadingPlan(chunks(4), Gains([1.0] * 4), paced(0.01), Left(60.0))
    for _ in plan.groups(2):
        plan.answered()
    assert plan.why == "time"
