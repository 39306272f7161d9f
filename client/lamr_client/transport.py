"""The way from one chunk to the model's answer, as an interface: for threads, for an event loop, and between the two.

A transport knows how to reach a model and nothing of files, queries or line scores; the code above it knows no wire.
To write another one, subclass `Transport` (one method) or `AsyncTransport` and pass it to a pruner as
`transport`."""

from __future__ import annotations

import abc
import contextvars
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from lamr_model.model_io import ChunkRequest, ChunkResult
from numpy.typing import NDArray

from lamr_client.deadline import Deadline

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from typing_extensions import Self  # in `typing` from Python 3.11


class Closing:
    """Is closed at the end of a `with` block."""

    def close(self) -> None:
        """Let go of what is held. Closing twice is harmless."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncClosing:
    """Is closed at the end of an `async with` block."""

    async def close(self) -> None:
        """Let go of what is held. Closing twice is harmless."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


MOST_THREADS = 32
"""Of a blocking transport under an event loop, where it doesn't say how many calls at once are of use."""
Answer = TypeVar("Answer")


class _Ready:
    """What transports of both kinds are unless they say otherwise: ready when they are made."""

    batch_size: int = 1  # how many requests one call of `infer_many` takes best; 1 where each travels alone
    concurrency: int | None = None  # how many calls at once are of use; None leaves it to the caller

    @property
    def loaded(self) -> bool:
        """Whether calls are answered without something being loaded first."""
        return True

    def work(self, input_ids: NDArray[np.int64]) -> float:
        """Return what a request with these tokens, int64 [t], costs: t, or less where its answer is half known."""
        return len(input_ids)

    def check_time(self, deadline: Deadline) -> None:  # nothing holds a call up
        """Refuse a call that must be answered by a deadline, whatever the encoder does, if loading would hold it up.
        Raises `ServerError`: there isn't the time, or somebody else is loading."""


class Transport(_Ready, Closing, abc.ABC):
    """Asks a model, from threads. It must be safe to use from several threads at once."""

    @abc.abstractmethod
    def infer(self, request: ChunkRequest, timeout: float | None = None) -> ChunkResult:
        """Ask about one chunk.

        Args:
            request: the chunk.
            timeout: seconds; None waits for as long as it takes.

        Raises:
            ServerError, ModelMismatchError: see `lamr_base.errors`."""

    def infer_many(self, requests: Sequence[ChunkRequest], timeout: float | None = None) -> list[ChunkResult]:
        """Ask about several chunks within one timeout; the results are in the order of the requests."""
        deadline = Deadline(timeout)
        return [self.infer(request, deadline.remaining()) for request in requests]

    def warm(self) -> None:  # most are ready when they are made
        """Load now what the first call would load."""

    def close(self) -> None:  # not every transport holds something
        """Let go of connections and memory. Calls under way fail; closing twice is harmless."""


class AsyncTransport(_Ready, AsyncClosing, abc.ABC):
    """`Transport` for one event loop. Cancelling a call ends it at once, whatever the server goes on to do."""

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

    async def warm(self) -> None:  # most are ready when they are made
        """See `Transport.warm`."""

    async def check(self, timeout: float) -> None:  # not every transport has a server behind it
        """Ask the server, if there is one, whether it has the model that requests are for.

        Args:
            timeout: seconds.

        Raises:
            ServerError, ModelMismatchError: it hasn't, or nothing answers."""

    async def close(self) -> None:  # not every transport holds something
        """See `Transport.close`."""


class ThreadedTransport(AsyncTransport):
    """Makes a `Transport` usable from an event loop: each call runs in a thread.

    The thread of a cancelled call goes on until its timeout or answer, which nobody waits for. Threads are its own, so
    that calls which hang don't keep the loop's other work from its threads."""

    def __init__(self, inner: Transport) -> None:
        """Wrap a transport, which is closed with this one."""
        self._inner = inner
        self.batch_size = inner.batch_size
        self.concurrency = inner.concurrency
        self._pool: ThreadPoolExecutor | None = None

    async def infer(self, request: ChunkRequest, timeout: float | None = None) -> ChunkResult:
        return await self._in_thread(self._inner.infer, request, timeout)

    async def infer_many(
        self, requests: Sequence[ChunkRequest], timeout: float | None = None
    ) -> list[ChunkResult]:
        return await self._in_thread(self._inner.infer_many, requests, timeout)

    async def warm(self) -> None:
        await self._in_thread(self._inner.warm)

    @property
    def loaded(self) -> bool:
        return self._inner.loaded

    def work(self, input_ids: NDArray[np.int64]) -> float:
        return self._inner.work(input_ids)

    def check_time(self, deadline: Deadline) -> None:
        self._inner.check_time(deadline)

    async def close(self) -> None:
        import asyncio  # noqa: PLC0415  # importing the client shouldn't load it

        await asyncio.to_thread(self._inner.close)
        if self._pool is not None:
            self._pool.shutdown(wait=False)

    async def _in_thread(self, work: Callable[..., Answer], *arguments: object) -> Answer:
        import asyncio  # noqa: PLC0415  # importing the client shouldn't load it
        from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415

        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.concurrency or MOST_THREADS, "lamr-client")
        run = contextvars.copy_context().run  # OpenTelemetry's current span, among others
        return await asyncio.get_running_loop().run_in_executor(self._pool, run, work, *arguments)
