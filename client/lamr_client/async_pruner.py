"""`AsyncPruner`: `Pruner` for an event loop, which it never blocks, because threads do the work on text."""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
import os
from collections.abc import Callable, Coroutine, Iterable
from pathlib import Path
from typing import Any, Concatenate, ParamSpec

from lamr_base.admission import TIMEOUT_SECONDS
from lamr_base.choices import OnError
from lamr_base.errors import LamrError, ServerError, own_errors
from lamr_model.encoding import Chunk, PromptEncoder
from lamr_model.model_io import ChunkResult
from lamr_model.scoring.scorer import Scorer
from lamr_model.spec import ModelSpec, bundled_repository
from lamr_postprocess import SourceFile
from lamr_postprocess.selection import Keep, keep_list

from lamr_client.connection import Connection
from lamr_client.deadline import Attempts, Deadline, Retry
from lamr_client.dispatch import (
    OVERHEAD_TOKENS,
    OnResult,
    closed,
    deliver,
    last_word,
    requests_of,
    timing,
    work_of,
)
from lamr_client.job import OnProgress, PruneJob, Shared
from lamr_client.prune_options import CallDefaults, PruneOptions, decode_code
from lamr_client.pruner import Pruner, check_setup, connect_to, deferred_transport
from lamr_client.reading_plan import Pace
from lamr_client.result import PruneResult, passthrough
from lamr_client.tracing import in_trace
from lamr_client.transport import AsyncClosing, AsyncTransport, ThreadedTransport, Transport

P = ParamSpec("P")


def _as_of(
    blocking: Callable[Concatenate[Pruner, P], PruneResult],
) -> Callable[
    [Callable[..., Coroutine[Any, Any, PruneResult]]],
    Callable[Concatenate[AsyncPruner, P], Coroutine[Any, Any, PruneResult]],
]:
    """Give a method the arguments of a blocking one, for people, editors and type checkers."""

    def as_of(method: Any) -> Any:
        method.__signature__ = inspect.signature(blocking)
        return method

    return as_of


class AsyncPruner(AsyncClosing):
    """`Pruner` for one event loop, with any number of `prune` calls at once.

        async with AsyncPruner("localhost:8001") as pruner:
            results = await asyncio.gather(*(pruner.prune(query, code) for code in files))

    Attributes:
        spec: see `Pruner`."""

    spec: ModelSpec

    def __init__(  # noqa: PLR0913  # keyword-only, each with a default
        self,
        server: str | None = None,
        *,
        model: str | os.PathLike[str] | None = None,
        transport: AsyncTransport | Transport | None = None,
        timeout: float = TIMEOUT_SECONDS,
        max_concurrency: int = 8,
        retries: int = 2,
        on_error: OnError = "raise",
        api_key: str | None = None,
        ca: str | os.PathLike[str] | None = None,
        cert: str | os.PathLike[str] | None = None,
        key: str | os.PathLike[str] | None = None,
    ) -> None:
        """See `Pruner`. Loading a model blocks, so make the pruner before the loop gets busy, or in a thread.

        Args:
            transport: see `Pruner`; a blocking one is called in threads."""
        check_setup(server, transport, max_concurrency, retries)
        connection = connect_to(server, api_key=api_key, ca=ca, cert=cert, key=key)
        self._defaults = CallDefaults(timeout, on_error)
        repository = bundled_repository() if model is None else Path(model)
        encoder = PromptEncoder.from_repository(repository)
        self.spec = encoder.spec
        self._shared = Shared(encoder, Scorer.from_repository(repository, self.spec))
        transport = transport or _open_transport(connection, repository, self.spec)
        transport = ThreadedTransport(transport) if isinstance(transport, Transport) else transport
        self._transport: AsyncTransport = transport
        self._dispatcher = AsyncDispatcher(transport, max_concurrency, Retry(retries))

    @_as_of(Pruner.prune)
    async def prune(  # noqa: PLR0913  # what isn't for `PruneOptions`
        self,
        query: str,
        code: str | bytes | SourceFile,
        *,
        keep: Iterable[Keep] = (),
        on_error: OnError | None = None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
        **more: Any,
    ) -> PruneResult:
        """See `Pruner.prune`. A cancelled one returns at once; requests that were sent stay with the server."""
        options = PruneOptions(keep=keep_list(keep), **more)
        call = self._defaults.begin(timeout, on_error, options.within)
        decoded = await asyncio.to_thread(decode_code, code)
        given = code if isinstance(code, SourceFile) else decoded.text
        shared, dispatcher = self._shared, self._dispatcher
        try:
            with own_errors():
                job = await asyncio.to_thread(PruneJob, shared, query, given, options, call)
                reading = job.read(on_progress)
                with reading.degrading(), in_trace(options.traceparent):
                    if job.preload:
                        await dispatcher.warm()
                    groups = reading.groups(dispatcher.pace, dispatcher.batch_size, dispatcher.work)
                    await dispatcher.run(
                        groups, job.want_rubrics, reading.add, job.until, leave=job.may_stop_early
                    )
                result = await asyncio.to_thread(reading.finish)
        except LamrError as error:
            if call.on_error == "raise":
                raise
            result = await asyncio.to_thread(
                passthrough, shared.encoder, decoded.text, options, error, call.begin
            )
        return dataclasses.replace(result, encoding=decoded.encoding)

    async def warm(self) -> None:
        """See `Pruner.warm`."""
        await self._dispatcher.warm()

    async def check(self, timeout: float = 2.0) -> None:
        """Ask the server, if there is one, whether it would answer; no code is sent.

        Args:
            timeout: seconds.

        Raises:
            ServerError, ModelMismatchError, ClosedError: what calls would raise now."""
        await self._transport.check(timeout)

    async def close(self) -> None:
        """Close the transport; calls under way fail. Closing twice is harmless."""
        await self._dispatcher.close()


def _open_transport(
    connection: Connection | None, repository: Path, spec: ModelSpec
) -> AsyncTransport | Transport:
    if connection is None:
        return deferred_transport(None, repository, spec)
    from lamr_client.async_grpc_transport import AsyncGrpcTransport  # noqa: PLC0415  # gRPC, when it is needed

    return AsyncGrpcTransport(connection, spec)


class AsyncDispatcher:
    """`Dispatcher` for an event loop: the same bounds, retries and deadline, with tasks around one transport.

    Attributes:
        batch_size, pace, work: see `Dispatcher`."""

    def __init__(self, transport: AsyncTransport, max_concurrency: int, retry: Retry) -> None:
        """Start no task yet."""
        self._transport = transport
        self._retry = retry
        self._most = min(max_concurrency, transport.concurrency or max_concurrency)
        self.batch_size = transport.batch_size
        self.pace = Pace(OVERHEAD_TOKENS)
        self.work = transport.work
        self._slots = asyncio.Semaphore(self._most)
        self._closed = False

    async def run(
        self,
        groups: Iterable[list[Chunk]],
        want_rubrics: bool,
        on_result: OnResult,
        deadline: Deadline,
        *,
        leave: bool = False,
    ) -> None:
        """Ask about groups of chunks and hand each result to `on_result`, in any order; see `Dispatcher.run`.

        Groups are made in threads. An error, or cancelling the run, cancels the calls under way and waits until they
        have let go."""
        if self._closed:
            raise closed()
        if leave:
            self._transport.check_time(deadline)
        groups, more, own = iter(groups), True, last_word(deadline) if leave else deadline
        pending: dict[asyncio.Task[list[ChunkResult]], list[Chunk]] = {}
        try:
            while True:
                while more and len(pending) < self._most:
                    if (group := await asyncio.to_thread(next, groups, None)) is None:
                        more = False
                    else:
                        call = self._call(group, want_rubrics, own, leave)
                        pending[asyncio.create_task(call)] = group
                if not pending:
                    return
                done, _ = await asyncio.wait(
                    pending, timeout=deadline.remaining(), return_when=asyncio.FIRST_COMPLETED
                )
                for task in done:
                    deliver(pending.pop(task), task.result(), on_result)
        finally:
            for task in pending:
                task.cancel()
            await asyncio.gather(*pending, return_exceptions=True)

    async def warm(self) -> None:
        """See `Dispatcher.warm`."""
        if self._closed:
            raise closed()
        await self._transport.warm()

    async def close(self) -> None:
        """Close the transport, which ends the calls under way."""
        self._closed = True
        await self._transport.close()

    async def _call(
        self, group: list[Chunk], want_rubrics: bool, deadline: Deadline, leave: bool
    ) -> list[ChunkResult]:
        requests = requests_of(group, want_rubrics)
        attempts = Attempts(self._retry, deadline, lambda: self._closed)
        while True:
            try:
                async with self._slots:
                    left, size = deadline.remaining(attempts.failure), work_of(group, self.work)
                    if leave and not self.pace.may_end(size, left):
                        return []
                    with timing(self.pace, size, self._transport):
                        return await self._transport.infer_many(requests, left)
            except ServerError as error:
                await asyncio.sleep(attempts.failed(error))
