"""The way from one chunk to the model's answer, as an interface: for threads, for an event loop, and between the two.

A transport knows how to reach a model and nothing of files, queries or line scores; the code above it knows no wire.
To write another one, subclass `Transport` (one method) or `AsyncTransport` and pass it to a pruner as `transport`.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence

from lamr_contract.model_io import ChunkRequest, ChunkResult

from lamr_client.closing import AsyncClosing, Closing
from lamr_client.deadline import Deadline


class Transport(Closing, abc.ABC):
    """Asks a model, from threads. It must be safe to use from several threads at once.

    Attributes:
        batch_size: how many requests one call of `infer_many` takes best; 1 where each travels alone.
        concurrency: how many calls at once are of use; None leaves it to the caller.
    """

    batch_size: int = 1
    concurrency: int | None = None

    @abc.abstractmethod
    def infer(self, request: ChunkRequest, timeout: float | None = None) -> ChunkResult:
        """Ask about one chunk.

        Args:
            request: the chunk.
            timeout: seconds; None waits for as long as it takes.

        Raises:
            ServerError, ModelMismatchError: see `lamr_contract.errors`.
        """

    def infer_many(self, requests: Sequence[ChunkRequest], timeout: float | None = None) -> list[ChunkResult]:
        """Ask about several chunks within one timeout; the results are in the order of the requests."""
        deadline = Deadline(timeout)
        return [self.infer(request, deadline.remaining()) for request in requests]

    def close(self) -> None:  # not every transport holds something
        """Let go of connections and memory. Calls under way fail; closing twice is harmless."""


class AsyncTransport(AsyncClosing, abc.ABC):
    """`Transport` for one event loop. Cancelling a call ends it at once, whatever the server goes on to do."""

    batch_size: int = 1
    concurrency: int | None = None

    @abc.abstractmethod
    async def infer(self, request: ChunkRequest, timeout: float | None = None) -> ChunkResult:
        """See `Transport.infer`."""

    async def infer_many(
        self, requests: Sequence[ChunkRequest], timeout: float | None = None
    ) -> list[ChunkResult]:
        """See `Transport.infer_many`; all requests are under way at once. The first error cancels the others."""
        import asyncio  # noqa: PLC0415  # importing the client shouldn't load it

        tasks = [asyncio.ensure_future(self.infer(request, timeout)) for request in requests]
        try:
            return list(await asyncio.gather(*tasks))
        finally:
            for task in tasks:
                task.cancel()

    async def check(self, timeout: float) -> None:  # not every transport has a server behind it
        """Ask the server, if there is one, whether it has the model that requests are for.

        Args:
            timeout: seconds.

        Raises:
            ServerError, ModelMismatchError: it hasn't, or nothing answers.
        """

    async def close(self) -> None:  # not every transport holds something
        """See `Transport.close`."""


class ThreadedTransport(AsyncTransport):
    """Makes a `Transport` usable from an event loop: each call runs in a thread.

    The thread of a cancelled call goes on until its timeout or answer, which nobody waits for.
    """

    def __init__(self, inner: Transport) -> None:
        """Wrap a transport, which is closed with this one."""
        self._inner = inner
        self.batch_size = inner.batch_size
        self.concurrency = inner.concurrency

    async def infer(self, request: ChunkRequest, timeout: float | None = None) -> ChunkResult:
        import asyncio  # noqa: PLC0415  # importing the client shouldn't load it

        return await asyncio.to_thread(self._inner.infer, request, timeout)

    async def infer_many(
        self, requests: Sequence[ChunkRequest], timeout: float | None = None
    ) -> list[ChunkResult]:
        import asyncio  # noqa: PLC0415  # importing the client shouldn't load it

        return await asyncio.to_thread(self._inner.infer_many, requests, timeout)

    async def close(self) -> None:
        import asyncio  # noqa: PLC0415  # importing the client shouldn't load it

        await asyncio.to_thread(self._inner.close)
