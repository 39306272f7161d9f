"""Transports for tests: they answer by a rule, without a model, and remember what they were asked.

    def answers(request: ChunkRequest) -> ChunkResult:
        return uniform_answer(request, 0.9)

    with Pruner(transport=MockTransport(answers)) as pruner:
        assert pruner.prune("which?", code).status == "pruned"

A pruner above a mock still tokenizes, merges, repairs and renders as it does above a server."""

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import numpy as np
from lamr_model.model_io import ChunkRequest, ChunkResult

from lamr_client.transport import AsyncTransport, Transport

Rule = Callable[[ChunkRequest], ChunkResult]
"""What a mock answers to a request."""


def uniform_answer(request: ChunkRequest, probability: float = 1.0, rubrics: int = 2) -> ChunkResult:
    """Return an answer that gives every code token of a chunk the same probability.

    Args:
        request: the chunk.
        probability: marginal of each token under every chain, and the chunk's relevance; tokens above 0.5 are kept.
        rubrics: K, the number of the model's rubrics."""
    m = request.document_span[1] - request.document_span[0]
    marginals = np.full((m, rubrics), probability, np.float32)
    return ChunkResult(
        keep=np.full(m, probability > 0.5, np.uint8),
        keep_prob=np.full(m, probability, np.float32),
        rubric_prob=marginals if request.want_rubrics else None,
        gate=np.full((m, rubrics), 1 / rubrics, np.float32) if request.want_rubrics else None,
        relevance=probability,
    )


class Mock:
    """What a mock does and was asked, which tests may read and set at any time.

    Attributes:
        rule: answers each request.
        errors: raised one by one, each instead of an answer, before anything is answered.
        delay: seconds that each call takes.
        requests: all requests so far, in the order of their arrival.
        timeouts: the seconds that each call was given; None for no end.
        at_once, most_at_once: calls under way now, and the most there were.
        cancelled: calls that were cancelled under way (only on an event loop).
        closed: whether the transport was closed."""

    def __init__(
        self, rule: Rule = uniform_answer, *, errors: Iterable[Exception] = (), delay: float = 0.0
    ) -> None:
        """Begin with nothing asked; see the class for the arguments."""
        self.rule = rule
        self.errors = list(errors)
        self.delay = delay
        self.requests: list[ChunkRequest] = []
        self.timeouts: list[float | None] = []
        self.at_once = self.most_at_once = self.cancelled = 0
        self.closed = False
        self._lock = threading.Lock()

    @contextmanager
    def _call(self, request: ChunkRequest, timeout: float | None) -> Iterator[Exception | None]:
        """Count a call while it lasts; gives the error that it has to raise, if any."""
        with self._lock:
            self.requests.append(request)
            self.timeouts.append(timeout)
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
            error = self.errors.pop(0) if self.errors else None
        try:
            yield error
        finally:
            with self._lock:
                self.at_once -= 1

    def _answer(self, request: ChunkRequest, error: Exception | None) -> ChunkResult:
        if error is not None:
            raise error
        return self.rule(request)


class MockTransport(Mock, Transport):
    """Answers by a rule, from threads."""

    def infer(self, request: ChunkRequest, timeout: float | None = None) -> ChunkResult:
        with self._call(request, timeout) as error:
            time.sleep(self.delay)
            return self._answer(request, error)

    def close(self) -> None:
        self.closed = True


class AsyncMockTransport(Mock, AsyncTransport):
    """Answers by a rule, on an event loop."""

    async def infer(self, request: ChunkRequest, timeout: float | None = None) -> ChunkResult:
        import asyncio  # noqa: PLC0415  # importing the client shouldn't load it

        with self._call(request, timeout) as error:
            try:
                await asyncio.sleep(self.delay)
            except asyncio.CancelledError:
                self.cancelled += 1
                raise
            return self._answer(request, error)

    async def close(self) -> None:
        self.closed = True
