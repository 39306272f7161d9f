"""`StallWatch`: ends a model's process that stood still, before its answers reach the wrong callers.

Triton's Python backend (24.10) gives a request up when its process gives no sign of life for a second. It frees the
request's memory and goes on with the next one, whose answer it then takes from the same queue: when the process wakes
up, it crashes, or its late answer is given to another caller. Being stopped does this, and so does a machine that is
suspended, because the second is measured by a clock that jumps."""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

TICK = 0.05
"""Seconds between two looks at the clocks."""
LONGEST_GAP = 0.7
"""Seconds. Signs of life are 0.3 s apart, so after a gap of 0.7 s none may have come within a second."""


class StallWatch:
    """Looks at the clocks from a thread, and before and after each answer; does nothing until it is started."""

    def __init__(self, end: Callable[[float], object] | None = None) -> None:
        """Look at no clock yet. `end`: takes the seconds that the process stood still; by default ends the process at
        once."""
        self._end = end or end_process
        self._lock = threading.Lock()
        self._last: tuple[float, float] | None = None

    def start(self) -> None:
        """Look at the clocks from now on, in a thread that doesn't keep the process alive."""
        self._last = _clocks()
        threading.Thread(target=self._run, name="lamr-stalls", daemon=True).start()

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Look at the clocks before requests are read and before their answers are handed over."""
        self._look()
        yield
        self._look()

    def _look(self) -> None:
        with self._lock:
            if self._last is None:
                return
            now = _clocks()
            gap = max(later - earlier for earlier, later in zip(self._last, now, strict=True))
            self._last = now
        if gap > LONGEST_GAP:
            self._end(gap)

    def _run(self) -> None:
        while True:
            time.sleep(TICK)
            self._look()


def end_process(gap: float) -> None:
    """Say why in the server's log, in its format, and end this process without another answer."""
    now = time.time()
    stamp = time.strftime("%m%d %H:%M:%S", time.gmtime(now)) + f".{int(now % 1 * 1e6):06d}"
    sys.stderr.write(
        f"E{stamp} {os.getpid()} stalls.py] this model's process stood still for {gap:.1f} s, and Triton may have "
        "given up its requests; it ends, so that no late answer reaches another caller\n"
    )
    sys.stderr.flush()
    os._exit(1)


def _clocks() -> tuple[float, float]:
    """The time since the machine was started, and the time of day, which jumps when a suspended machine goes on."""
    return time.monotonic(), time.time()
