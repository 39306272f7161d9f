"""`transport` for an event loop, and the way to use any blocking transport there."""

from __future__ import annotations

import abc
import asyncio
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING

from lamr_contract.model_io import ChunkRequest, ChunkResult

from lamr_client.transport import Transport

if TYPE_CHECKING:
    from typing_extensions import Self  # in `typing` from Python 3.11


class AsyncTransport(abc.ABC):
    """`Transport` for one event loop. Cancelling a call ends it at once, whatever the server goes on to do."""

    batch_size: int = 1
    concurrency: int | None = None

    @abc.abstractmethod
    async def infer(self, request: ChunkRequest, timeout: float | None = None) -> ChunkResult:
        """See `Transport.infer`."""

    async def infer_many(
        self, requests: Sequence[ChunkRequest], timeout: float | None = None
    ) -> list[ChunkResult]:
        """See `Transport.infer_many`; all are under way at once. The first error cancels the others."""
        tasks = [asyncio.ensure_future(self.infer(request, timeout)) for request in requests]
        try:
            return list(await asyncio.gather(*tasks))
        finally:
            for task in tasks:
                task.cancel()

    async def close(self) -> None:  # noqa: B027  # not every transport holds something
        """See `Transport.close`."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class ThreadedTransport(AsyncTransport):
    """Makes a `Transport` usable from an event loop: each call runs in a thread.

    A cancelled call's thread goes on until its timeout or answer, which nobody waits for.
    """

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self.batch_size = inner.batch_size
        self.concurrency = inner.concurrency

    async def infer(self, request: ChunkRequest, timeout: float | None = None) -> ChunkResult:
        return await asyncio.to_thread(self._inner.infer, request, timeout)

    async def infer_many(
        self, requests: Sequence[ChunkRequest], timeout: float | None = None
    ) -> list[ChunkResult]:
        return await asyncio.to_thread(self._inner.infer_many, requests, timeout)

    async def close(self) -> None:
        await asyncio.to_thread(self._inner.close)
