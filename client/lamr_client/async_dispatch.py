"""`dispatch` for an event loop: the same bounds, retries and deadline, with tasks instead of threads."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from lamr_contract.encoding import Chunk
from lamr_contract.errors import ServerError
from lamr_contract.model_io import ChunkResult

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
from lamr_client.reading_plan import Pace
from lamr_client.transport import AsyncTransport


class AsyncDispatcher:
    """Tasks around one transport, which all callers share.

    Attributes:
        batch_size, pace, work: see `Dispatcher`.
    """

    def __init__(self, transport: AsyncTransport, max_concurrency: int, retry: Retry) -> None:
        """Start no task yet; see `Dispatcher` for the arguments."""
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
        have let go.
        """
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
