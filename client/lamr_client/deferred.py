"""`DeferredTransport`: a transport that is made when it is first needed, since a line model alone needs none.

Making one loads a model or a library, which takes longer than most calls. The module knows threads; it knows no
model."""

import threading
from collections.abc import Callable, Sequence

import numpy as np
from lamr_base.errors import ClosedError
from lamr_model.model_io import ChunkRequest, ChunkResult
from numpy.typing import NDArray

from lamr_client.deadline import Deadline
from lamr_client.effort import EncoderLoadingError
from lamr_client.transport import Transport

BATCH_SIZE = 64
"""Chunks that a call of the model in this process takes best: those of like length run together."""
OPENING_SECONDS = 0.3
"""That a call must have left to begin the making: imports hold up all threads, so nobody could answer meanwhile."""


class DeferredTransport(Transport):
    """Stands for a transport that doesn't exist yet."""

    def __init__(
        self, make: Callable[[], Transport], batch_size: int = 1, concurrency: int | None = None
    ) -> None:
        """Make nothing yet. What `make` raises, the call that needs it raises, and the next one tries again."""
        self._make = make
        self.batch_size, self.concurrency = batch_size, concurrency
        self._made: Transport | None = None
        self._making = threading.Lock()
        self._closed = False

    @property
    def loaded(self) -> bool:
        return self._made is not None and self._made.loaded

    def warm(self) -> None:
        """See `Transport.warm`."""
        self._open(Deadline(None))

    def work(self, input_ids: NDArray[np.int64]) -> float:
        """See `Transport.work`."""
        return len(input_ids) if self._made is None else self._made.work(input_ids)

    def check_time(self, deadline: Deadline) -> None:
        """See `Transport.check_time`."""
        if self._made is not None:
            return
        if self._making.locked():
            raise EncoderLoadingError("the model is still being loaded; ask again in a moment")
        if not deadline.allows(OPENING_SECONDS):
            raise deadline.exceeded()

    def infer(self, request: ChunkRequest, timeout: float | None = None) -> ChunkResult:
        return self.infer_many([request], timeout)[0]

    def infer_many(self, requests: Sequence[ChunkRequest], timeout: float | None = None) -> list[ChunkResult]:
        deadline = Deadline(timeout)
        transport = self._open(deadline)
        return transport.infer_many(requests, deadline.remaining())

    def close(self) -> None:
        with self._making:
            self._closed = True
            if self._made is not None:
                self._made.close()

    def _open(self, deadline: Deadline) -> Transport:
        if self._made is not None:
            return self._made
        left = deadline.remaining()
        if not self._making.acquire(timeout=-1 if left is None else left):
            raise deadline.exceeded()
        try:
            if self._closed:
                raise ClosedError("this pruner is closed; make a new one")
            if self._made is None:
                self._made = self._make()
            return self._made
        finally:
            self._making.release()
