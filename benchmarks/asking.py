"""Calls of a pruner that have a time to be answered in, and what became of each; a library for `in_time.py`."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lamr_client import AsyncPruner, Pruner, PruneResult
from lamr_client.effort import Effort

from benchmarks.sources import library_module

if TYPE_CHECKING:
    from typing_extensions import Self

Prune = Callable[..., PruneResult]
QUERY = "What happens when the queue is full, with and without a timeout?"
CODE = library_module("queue.py")
STEADY_WITHIN = (0.1, 1.0)
"""Seconds that the calls of steady callers have: the least and the most."""
PAUSE = 0.3
"""Seconds that a steady caller rests between calls at the most: this is about faults, not about load."""
BACK_SECONDS = 60.0


@dataclass(frozen=True)
class Answer:
    """What became of a call.

    Attributes:
        within: seconds that it had.
        took: seconds until it ended.
        effort: what was read; None of a call without an answer, or of one that doesn't say.
        error: the name of the error that the call ended with; empty for one with an answer.
    """

    within: float
    took: float
    effort: Effort | None
    error: str = ""

    @property
    def failed(self) -> bool:
        """Whether there is no answer."""
        return bool(self.error)

    @property
    def read(self) -> int:
        """Chunks that the encoder read."""
        return self.effort.read if self.effort else 0

    @property
    def share(self) -> float:
        """Of the chunks, those that the encoder read."""
        return self.read / max(1, (self.effort and self.effort.chunks) or 1)

    @property
    def said(self) -> str:
        """How much was read and why no more, in words that are few enough to count."""
        if self.effort is None:
            return self.error or "nothing"
        much = "some" if 0 < self.share < 1 else "all" if self.read else "line model"
        return f"{much}; {self.effort.why}" if self.effort.why else much

    def explained(self, reasons: Collection[str]) -> bool:
        """Whether all was read, or the answer says why not in words that are expected."""
        return self.effort is not None and (self.share == 1 or self.effort.why in reasons)


def ask(prune: Prune, query: str, code: str, within: float, **options: Any) -> Answer:
    """Make a call, and take its time."""
    begin = time.perf_counter()
    effort, error = None, ""
    try:
        effort = prune(query, code, within=within, **options).effort
    except Exception as failure:  # whatever it is, the caller has no answer
        error = type(failure).__qualname__
    return Answer(within, time.perf_counter() - begin, effort, error)


@contextmanager
def looping(server: str | None, model: Path, api_key: str | None = None) -> Iterator[Prune]:
    """An `AsyncPruner` on a loop of its own, for callers in threads."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    pruner = AsyncPruner(server, model=model, api_key=api_key)

    def prune(*arguments: Any, **options: Any) -> PruneResult:
        return asyncio.run_coroutine_threadsafe(pruner.prune(*arguments, **options), loop).result()

    try:
        yield prune
    finally:
        asyncio.run_coroutine_threadsafe(pruner.close(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


class Callers:
    """Threads that call from `with` until its end."""

    def ready(self, *calls: Callable[[], None]) -> None:
        """Take what each thread does; it ends when `stopped` is set."""
        self.stopped = threading.Event()
        self._threads = [threading.Thread(target=call) for call in calls]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopped.set()
        for thread in self._threads:
            thread.join()


@dataclass
class Steady(Callers):
    """Callers that ask all the time, from `with` until its end."""

    prunes: list[Prune]
    answers: list[Answer] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.ready(*(partial(self._run, *each) for each in enumerate(self.prunes)))

    def more(self, count: int) -> None:
        """Wait for so many more answers."""
        goal = len(self.answers) + count
        while len(self.answers) < goal:
            time.sleep(0.02)

    def reading(self) -> bool:
        """Wait until the encoder reads again, and return whether it does."""
        end, before = time.monotonic() + BACK_SECONDS, len(self.answers)
        while time.monotonic() < end:
            if any(answer.read for answer in self.answers[before:]):
                return True
            time.sleep(0.02)
        return False

    def _run(self, number: int, prune: Prune) -> None:
        chance = random.Random(number)
        while not self.stopped.is_set():
            effort = chance.choice(["auto", "full"])
            self.answers.append(ask(prune, QUERY, CODE, chance.uniform(*STEADY_WITHIN), effort=effort))
            self.stopped.wait(chance.uniform(0, PAUSE))


@contextmanager
def steady_callers(server: str, model: Path, api_key: str | None = None) -> Iterator[Steady]:
    """Two callers with an event loop and two without, once they are warm and have been answered."""
    with Pruner(server, model=model, api_key=api_key) as pruner, looping(server, model, api_key) as on_a_loop:
        for prune in (pruner.prune, on_a_loop):
            prune(QUERY, CODE, effort="full")
        with Steady([pruner.prune, on_a_loop] * 2) as steady:
            steady.more(8)
            steady.answers.clear()
            yield steady
