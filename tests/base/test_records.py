"""`lamr_base.records.dataclass` makes the classes that Python's own makes."""

import copy
import dataclasses
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from lamr_base import records

MADE = {"own": records.dataclass, "Python's": dataclasses.dataclass}


def _classes(decorator: Any) -> tuple[Any, Any, Any]:
    @decorator(frozen=True)
    class Point:
        """A frozen record."""

        x: int
        y: list[int] = dataclasses.field(default_factory=list)
        secret: str = dataclasses.field(default="s", repr=False)
        order: int = dataclasses.field(default=0, compare=False)

        def __post_init__(self) -> None:
            if self.x < 0:
                raise ValueError("x")

    @decorator(frozen=True)
    class Named(Point):
        """One with fields of its own after those of the record that it extends."""

        name: str = "n"

    @decorator(eq=False, kw_only=True)
    class Counter:
        """One that changes."""

        start: int
        seen: set[int] = dataclasses.field(default_factory=set, init=False)

        def __repr__(self) -> str:
            return "own"

    return Point, Named, Counter


def _outcome(act: Callable[[], Any]) -> str:
    try:
        return repr(act())
    except Exception as error:
        return f"{type(error).__name__}: {error}"


ACTS: tuple[Callable[[Any, Any, Any], Any], ...] = (
    lambda point, _n, _c: point(1),
    lambda point, _n, _c: point(),
    lambda point, _n, _c: point(1, 2, 3, 4, 5),
    lambda point, _n, _c: point(-1),
    lambda point, _n, _c: point(x=1, y=[2], order=3),
    lambda point, _n, _c: (point(1, order=1) == point(1), point(1) == point(2), point(1) == 1),
    lambda point, _n, _c: point(1).y is point(1).y,
    lambda point, _n, _c: hash(point(1, ())) == hash(point(1, (), order=2)),
    lambda point, _n, _c: hash(point(1)),
    lambda point, _n, _c: setattr(point(1), "x", 2),
    lambda point, _n, _c: delattr(point(1), "x"),
    lambda point, _n, _c: dataclasses.replace(point(1), x=2),
    lambda point, _n, _c: dataclasses.replace(point(1), x=-2),
    lambda point, _n, _c: dataclasses.asdict(point(1)),
    lambda point, _n, _c: copy.deepcopy(point(1)),
    lambda point, _n, _c: point.__match_args__,
    lambda _p, named, _c: named(1, [], name="m"),
    lambda point, named, _c: point(1) == named(1),
    lambda _p, _n, counter: counter(1),
    lambda _p, _n, counter: counter(start=1),
    lambda _p, _n, counter: (counter(start=1).seen, vars(counter(start=2))),
    lambda _p, _n, counter: counter(start=1) == counter(start=1),
    lambda _p, _n, counter: setattr(counter(start=1), "start", 3),
)


@pytest.mark.parametrize("act", ACTS)
def test_a_record_does_what_a_data_class_does(act: Callable[[Any, Any, Any], Any]) -> None:
    own, pythons = (_outcome(lambda d=decorator: act(*_classes(d))) for decorator in MADE.values())
    ours, theirs = ("FrozenInstanceError" in each for each in (own, pythons))
    assert ours == theirs
    assert ours or own == pythons


@records.dataclass(frozen=True)
class Sent:
    """A record that another process reads."""

    name: str


def test_a_record_can_be_pickled() -> None:
    sent = Sent("n")
    assert pickle.loads(pickle.dumps(sent)) == sent
