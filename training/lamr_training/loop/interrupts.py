"""Takes Ctrl-C and SIGTERM as a wish to stop after the current step, so that a checkpoint can be written first."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType


@dataclass
class StopRequest:
    """Whether somebody has asked to stop."""

    pending: bool = False


@contextmanager
def stop_requests() -> Iterator[StopRequest]:
    """Within the context, the first signal sets `pending` and the second one interrupts as usual."""
    request = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield request  # only the main thread can handle signals
        return

    def ask(_number: int, _frame: FrameType | None) -> None:
        if request.pending:
            raise KeyboardInterrupt
        request.pending = True

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
