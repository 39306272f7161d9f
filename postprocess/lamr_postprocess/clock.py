"""The moment by which a call's work must be done; loops over a text look at it."""

import math
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from lamr_base.errors import LamrError

_T = TypeVar("_T")
_END = ContextVar("end", default=math.inf)
_EVERY = 256


class OutOfTimeError(LamrError):
    """The moment has come before the work was done."""


@contextmanager
def ending_at(moment: float) -> Iterator[None]:
    """Let `look` raise from a moment of `time.monotonic()` on, in what this thread does inside."""
    token = _END.set(moment)
    try:
        yield
    finally:
        _END.reset(token)


def is_over() -> bool:
    """Whether the moment has come."""
    return time.monotonic() >= _END.get()


def look() -> None:
    """Go on, unless the moment has come. Raises `OutOfTimeError`: it has."""
    if is_over():
        raise OutOfTimeError("the moment by which the work had to be done has come")


def in_time(items: Iterable[_T], every: int = _EVERY) -> Iterator[_T]:
    """Yield items for a loop, and look before the first of every so many. Raises `OutOfTimeError`: see
    `look`."""
    for at, item in enumerate(items):
        if at % every == 0:
            look()
        yield item
