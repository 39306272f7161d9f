"""Asks again after a failure, from a thread: the loop around `Retry`, which only says whether and when."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import TypeVar

from lamr_contract.errors import DeadlineExceededError, ServerError

from lamr_client.deadline import Deadline, Retry

Answer = TypeVar("Answer")


def until_answered(
    ask: Callable[[ServerError | None], Answer],
    retry: Retry,
    deadline: Deadline,
    gives_up: Callable[[], bool] = lambda: False,
) -> Answer:
    """Return the answer of the first attempt that succeeds.

    Args:
        ask: makes an attempt; takes the last one's failure, or None, for `Deadline.remaining`.
        retry: when a failed attempt is made again.
        deadline: of all attempts.
        gives_up: whether nobody waits any more.

    Raises:
        DeadlineExceededError: the first attempt had too little time.
        ServerError: that of the last attempt that ended before the time was over.
    """
    failure: ServerError | None = None
    for failures in itertools.count(1):
        try:
            return ask(failure)
        except DeadlineExceededError as error:
            raise (failure or deadline.exceeded()) from error
        except ServerError as error:
            failure = error
            if gives_up() or (pause := retry.pause(failures, error, deadline)) is None:
                raise
        time.sleep(pause)
    raise AssertionError("unreachable")
