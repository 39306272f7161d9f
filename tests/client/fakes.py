"""Transports that answer by a rule anybody can check: a token is kept where its id says so."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable

import numpy as np
from lamr_client.async_transport import AsyncTransport
from lamr_client.transport import Transport
from lamr_contract.model_io import ChunkRequest, ChunkResult


def answer(request: ChunkRequest) -> ChunkResult:
    """Scores by token id, shifted by the chunk's length so that overlapping chunks disagree."""
    first, last = request.document_span
    code = request.input_ids[first:last].astype(np.int64)
    mixed = (code * 7919 + len(request.input_ids) * 31) % 101
    keep_prob = (mixed / 100).astype(np.float32)
    rubric_prob = np.stack([keep_prob, 1 - keep_prob], 1) if request.want_rubrics else None
    return ChunkResult(
        keep=(mixed > 50).astype(np.uint8),
        keep_prob=keep_prob,
        rubric_prob=rubric_prob,
        gate=np.full_like(rubric_prob, 0.5) if request.want_rubrics else None,
        relevance=float(int(request.input_ids.sum()) % 97) / 97,
    )


def keep_all(request: ChunkRequest, value: float = 1.0) -> ChunkResult:
    m = request.document_span[1] - request.document_span[0]
    probability = np.full(m, value, np.float32)
    rubric_prob = np.stack([probability, probability], 1)
    return ChunkResult((probability > 0.5).astype(np.uint8), probability, rubric_prob, rubric_prob, value)


class FakeTransport(Transport):
    """Answers by a rule; counts what it is asked, and how much of it at once.

    `errors` are raised one by one before anything is answered; `delay` seconds pass within each call.
    """

    def __init__(
        self, rule: Callable[[ChunkRequest], ChunkResult] = answer, errors=(), delay: float = 0.0
    ) -> None:
        self.rule = rule
        self.errors = list(errors)
        self.delay = delay
        self.requests: list[ChunkRequest] = []
        self.timeouts: list[float | None] = []
        self.at_once = self.most_at_once = 0
        self.closed = False
        self._lock = threading.Lock()

    def infer(self, request: ChunkRequest, timeout: float | None = None) -> ChunkResult:
        with self._lock:
            self.requests.append(request)
            self.timeouts.append(timeout)
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
            error = self.errors.pop(0) if self.errors else None
        try:
            time.sleep(self.delay)
            if error is not None:
                raise error
            return self.rule(request)
        finally:
            with self._lock:
                self.at_once -= 1

    def close(self) -> None:
        self.closed = True


class AsyncFakeTransport(AsyncTransport):
    """`FakeTransport` for an event loop; counts cancelled calls too."""

    def __init__(self, rule=answer, errors=(), delay: float = 0.0) -> None:
        self.rule = rule
        self.errors = list(errors)
        self.delay = delay
        self.requests: list[ChunkRequest] = []
        self.at_once = self.most_at_once = self.cancelled = 0
        self.closed = False

    async def infer(self, request: ChunkRequest, timeout: float | None = None) -> ChunkResult:
        self.requests.append(request)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        error = self.errors.pop(0) if self.errors else None
        try:
            await asyncio.sleep(self.delay)
            if error is not None:
                raise error
            return self.rule(request)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.at_once -= 1

    async def close(self) -> None:
        self.closed = True
