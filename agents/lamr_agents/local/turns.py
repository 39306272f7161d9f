"""One call at a time for each file of an agent: of two that come at once, the second is a second look."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterator
from contextlib import contextmanager


class Turns:
    """Turns by key, for threads."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._taken: set[Hashable] = set()

    @contextmanager
    def of(self, key: Hashable, seconds: float) -> Iterator[None]:
        """Wait for the others of a key, at most so many seconds; a call that waited in vain goes on beside them."""
        with self._changed:
            alone = self._changed.wait_for(lambda: key not in self._taken, seconds)
            if alone:
                self._taken.add(key)
        try:
            yield
        finally:
            if alone:
                with self._changed:
                    self._taken.discard(key)
                    self._changed.notify_all()
