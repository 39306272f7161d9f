"""Takes from an iterator that may be silent for long, so that the taker can do something else each second."""

import contextlib
import queue
import threading
from collections.abc import Iterable, Iterator
from typing import TypeVar

_T = TypeVar("_T")
_END_SECONDS = 5.0
"""How long the end of a block waits for its thread."""


@contextlib.contextmanager
def each_second(source: Iterable[_T]) -> Iterator[Iterator[_T | None]]:
    """Give an iterator of what arrives from a source, and of None for each second in which nothing does.

    The source is read by a thread, at most one item ahead. What the source raises is raised to the taker. At the end of
    the block the thread ends with its next item, and the block waits a few seconds for that; the thread is a daemon,
    since the source may never have another item."""
    arrived: queue.Queue[tuple[_T | None, BaseException | None]] = queue.Queue(maxsize=1)
    stop = threading.Event()

    def put(item: _T | None, error: BaseException | None = None) -> bool:
        while not stop.is_set():
            with contextlib.suppress(queue.Full):
                arrived.put((item, error), timeout=1.0)
                return True
        return False

    def read() -> None:
        try:
            for item in source:
                if not put(item):
                    return
            put(None, StopIteration())
        except BaseException as error:  # it is the taker's
            put(None, error)

    def taken() -> Iterator[_T | None]:
        while True:
            try:
                item, error = arrived.get(timeout=1.0)
            except queue.Empty:
                yield None
                continue
            if isinstance(error, StopIteration):
                return
            if error is not None:
                raise error
            yield item

    reader = threading.Thread(target=read, name="lamr-arrivals", daemon=True)
    reader.start()
    try:
        yield taken()
    finally:
        stop.set()
        reader.join(_END_SECONDS)
