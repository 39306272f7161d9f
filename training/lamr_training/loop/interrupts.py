"""Ctrl-C and SIGTERM as a wish to stop after the current step, so that a checkpoint can be written first."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType


@dataclass
class StopRequest:
    """Whether somebody asked to stop."""

    asked: bool = False


@contextmanager
def stop_requests() -> Iterator[StopRequest]:
    """While it lasts, the first signal sets `asked`; the second one interrupts as usual."""
    request = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield request  # signals are the main thread's
        return

    def ask(_number: int, _frame: FrameType | None) -> None:
        if request.asked:
            raise KeyboardInterrupt
        request.asked = True

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
