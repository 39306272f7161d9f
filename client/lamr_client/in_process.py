"""`InProcessTransport`: runs chunks through a `LocalModel` in this process, without a server.

This module knows deadlines and lets threads take turns; `LocalModel` knows what a batch is and how it
runs."""

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from lamr_model.encoder.local_model import LocalModel
from lamr_model.model_io import ChunkRequest, ChunkResult
from numpy.typing import NDArray

from lamr_client.deadline import Deadline
from lamr_client.deferred import BATCH_SIZE
from lamr_client.transport import Transport


class InProcessTransport(Transport):
    """One local model. Calls of several threads take turns: each uses all the CPUs that it may."""

    batch_size = BATCH_SIZE
    concurrency = 1

    def __init__(self, repository: Path, **options: Any) -> None:
        """Load the model; the arguments and errors are those of `LocalModel`."""
        self._model = LocalModel(repository, **options)
        self._turn = threading.Lock()

    def infer(self, request: ChunkRequest, timeout: float | None = None) -> ChunkResult:
        return self.infer_many([request], timeout)[0]

    def infer_many(self, requests: Sequence[ChunkRequest], timeout: float | None = None) -> list[ChunkResult]:
        """See `Transport.infer_many`. The timeout is checked between runs, not within one."""
        deadline = Deadline(timeout)
        results: dict[int, ChunkResult] = {}
        for batch in self._model.batches(requests):
            left = deadline.remaining()
            if not self._turn.acquire(timeout=-1 if left is None else left):
                raise deadline.exceeded()
            try:
                answers = self._model.run([requests[place] for place in batch])
            finally:
                self._turn.release()
            results.update(zip(batch, answers, strict=True))
        return [results[place] for place in range(len(requests))]

    def work(self, input_ids: NDArray[np.int64]) -> float:
        """See `Transport.work`: what was read once, whatever the query, costs less."""
        return self._model.work(input_ids)

    def close(self) -> None:
        with self._turn:
            self._model.close()
