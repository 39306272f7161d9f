"""The way from one chunk to its scores, as an interface, and what crosses it.

A transport knows how to reach a model and nothing of files, queries or merging; what is above it knows no wire.
Write another by subclassing `Transport` (one method) and passing it to `Pruner(transport=...)`. `async_transport` is
the same for an event loop.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING

from lamr_contract.model_io import ChunkRequest, ChunkResult

from lamr_client.deadline import Deadline

if TYPE_CHECKING:
    from typing_extensions import Self  # in `typing` from Python 3.11


class Transport(abc.ABC):
    """Asks a model, from threads. Must be safe to use from several at once.

    Attributes:
        batch_size: how many requests `infer_many` takes best in one call; 1 where each travels alone.
        concurrency: most calls that help at once; None leaves it to the caller.
    """

    batch_size: int = 1
    concurrency: int | None = None

    @abc.abstractmethod
    def infer(self, request: ChunkRequest, timeout: float | None = None) -> ChunkResult:
        """Ask about one chunk.

        Args:
            timeout: seconds; None waits for as long as it takes.

        Raises:
            ServerError, ModelMismatchError: see `lamr_contract.errors`.
        """

    def infer_many(self, requests: Sequence[ChunkRequest], timeout: float | None = None) -> list[ChunkResult]:
        """Ask about several chunks within one timeout; results in the order of the requests."""
        deadline = Deadline(timeout)
        return [self.infer(request, deadline.remaining()) for request in requests]

    def close(self) -> None:  # noqa: B027  # not every transport holds something
        """Let go of connections and memory. Calls under way fail; closing twice is harmless."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
