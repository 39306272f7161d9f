"""Sends many chunks through a transport: a few at once, again where a retry is safe, and all within one deadline.

This is the form for threads; `async_pruner` has the same for an event loop. Chunks are taken from their iterator only
when there is room to send them, so a document of any size has a bounded number of requests in memory. The module knows
neither prompts nor scores."""

from __future__ import annotations

import contextlib
import contextvars
import itertools
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from lamr_base.errors import ClosedError, DeadlineExceededError, ServerError
from lamr_model.encoding import Chunk
from lamr_model.model_io import ChunkRequest, ChunkResult

from lamr_client.deadline import Attempts, Deadline, Retry, until_answered
from lamr_client.reading_plan import Pace, Work
from lamr_client.transport import AsyncTransport, Transport

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor  # imported when there is more than one chunk

OVERHEAD_TOKENS = 32
"""What a call costs beside its chunks' tokens, in tokens."""
LAST_WORD_SECONDS = 0.02
"""That calls end before those who leave them behind, so that an error says why there is no answer."""
OnResult = Callable[[tuple[int, int], ChunkResult], None]


class Dispatcher:
    """Threads around one transport, which all callers share.

    Attributes:
        batch_size: how many chunks one call takes best.
        pace: seconds for a token, as its calls were answered.
        work: see `Transport.work`."""

    def __init__(self, transport: Transport, max_concurrency: int, retry: Retry) -> None:
        """Start no thread yet."""
        self._transport = transport
        self._retry = retry
        self._most = min(max_concurrency, transport.concurrency or max_concurrency)
        self.batch_size = transport.batch_size
        self.pace = Pace(OVERHEAD_TOKENS)
        self.work = transport.work
        self._slots = threading.BoundedSemaphore(self._most)
        self._pool: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()
        self._closed = False

    def run(
        self,
        groups: Iterable[list[Chunk]],
        want_rubrics: bool,
        on_result: OnResult,
        deadline: Deadline,
        *,
        leave: bool = False,
    ) -> None:
        """Ask about groups of chunks and hand each result to `on_result`, in the caller's thread and in any order.

        With `leave`, the run ends at the deadline whatever a call is at, which then goes on in its thread; calls that
        can't end in time aren't begun. Raises `ServerError`, `ModelMismatchError`: the first one that retries didn't
        cure; the others are dropped. Raises `ClosedError`: the dispatcher was closed."""
        if self._closed:
            raise closed()
        groups = iter(groups)
        if leave:
            self._transport.check_time(deadline)
            own = last_word(deadline)
        else:
            own = deadline
            first = list(itertools.islice(groups, 1 if self._most == 1 else 2))
            groups = itertools.chain(first, groups)
            if len(first) < 2:  # with nothing to do at once, a thread isn't worth its switch
                for group in groups:
                    deliver(group, self._call(group, want_rubrics, own, leave), on_result)
                return
        self._run_at_once(
            groups, lambda group: self._call(group, want_rubrics, own, leave), on_result, deadline
        )

    def _run_at_once(
        self,
        groups: Iterator[list[Chunk]],
        call: Callable[[list[Chunk]], list[ChunkResult]],
        on_result: OnResult,
        deadline: Deadline,
    ) -> None:
        """Make the calls in threads, a few at once; see `run`."""
        from concurrent.futures import FIRST_COMPLETED, CancelledError, wait  # noqa: PLC0415

        pending: dict[Future[list[ChunkResult]], list[Chunk]] = {}
        pool = self._executor()
        try:
            while True:
                for group in itertools.islice(groups, self._most - len(pending)):
                    context = contextvars.copy_context()  # OpenTelemetry's current span, among others
                    pending[pool.submit(context.run, call, group)] = group
                if not pending:
                    return
                done, _ = wait(pending, deadline.remaining(), return_when=FIRST_COMPLETED)
                for future in done:
                    deliver(pending.pop(future), future.result(), on_result)
        except (RuntimeError, CancelledError) as error:  # what the pool says when it was shut down meanwhile
            if self._closed:
                raise closed() from error
            raise
        finally:
            for future in pending:
                future.cancel()

    def warm(self) -> None:
        """Load now what the first call would load. Raises `ModelMismatchError`, `MissingPackageError`: see
        `Pruner.warm`. Raises `ClosedError`: the dispatcher was closed."""
        if self._closed:
            raise closed()
        self._transport.warm()

    def close(self) -> None:
        """Close the transport, which ends the calls under way, and wait for their threads."""
        with self._lock:
            self._closed = True
            pool, self._pool = self._pool, None
        self._transport.close()
        if pool:
            pool.shutdown(wait=True, cancel_futures=True)

    def _call(
        self, group: list[Chunk], want_rubrics: bool, deadline: Deadline, leave: bool
    ) -> list[ChunkResult]:
        requests = requests_of(group, want_rubrics)

        def ask(failure: ServerError | None) -> list[ChunkResult]:
            if not self._slots.acquire(timeout=deadline.remaining(failure)):
                raise failure or deadline.exceeded()
            try:
                left, size = deadline.remaining(failure), work_of(group, self.work)
                if leave and not self.pace.may_end(size, left):
                    return []
                with timing(self.pace, size, self._transport):
                    return self._transport.infer_many(requests, left)
            finally:
                self._slots.release()

        return until_answered(ask, Attempts(self._retry, deadline, lambda: self._closed))

    def _executor(self) -> ThreadPoolExecutor:
        from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415

        with self._lock:
            if self._closed:
                raise closed()
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self._most, thread_name_prefix="lamr-client")
            return self._pool


def last_word(deadline: Deadline) -> Deadline:
    """Return the deadline of calls that are left behind at a deadline."""
    return deadline.earlier(LAST_WORD_SECONDS)


def closed() -> ClosedError:
    """Return the error of a call after `close`."""
    return ClosedError("this pruner is closed; make a new one")


def grouped(chunks: Iterable[Chunk], size: int) -> Iterator[list[Chunk]]:
    """Yield lists of `size` chunks; the last one may be shorter."""
    iterator = iter(chunks)
    while group := list(itertools.islice(iterator, size)):
        yield group


def requests_of(group: list[Chunk], want_rubrics: bool) -> list[ChunkRequest]:
    """Return the requests about a group of chunks."""
    return [ChunkRequest(chunk.input_ids, chunk.document_span, want_rubrics) for chunk in group]


def work_of(group: list[Chunk], work: Work) -> float:
    """Return what a group of chunks costs, in tokens."""
    return sum(work(chunk.input_ids) for chunk in group)


@contextlib.contextmanager
def timing(pace: Pace, size: float, transport: Transport | AsyncTransport) -> Iterator[None]:
    """Let a pace know what a call took, though it ended without an answer in time; not one that loads a model first."""
    loaded, begin = transport.loaded, time.monotonic()
    try:
        yield
    except DeadlineExceededError:
        if loaded:
            pace.measured(size, time.monotonic() - begin)
        raise
    if loaded:
        pace.measured(size, time.monotonic() - begin)


def deliver(group: list[Chunk], results: list[ChunkResult], on_result: OnResult) -> None:
    """Hand over the results of a group of chunks, one by one; none of a call that wasn't begun."""
    for chunk, result in zip(group, results, strict=True) if results else ():
        on_result(chunk.tokens, result)
