"""The way from one chunk to its scores, as an interface, and what crosses it.

A transport knows how to reach a model and nothing of files, queries or merging; what is above it knows no wire.
Write another by subclassing `Transport` (one method) and passing it to `Pruner(transport=...)`. `async_transport` is
the same for an event loop.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lamr_client.deadline import Deadline
from lamr_client.errors import InvalidInputError

if TYPE_CHECKING:
    from typing_extensions import Self  # in `typing` from Python 3.11


@dataclass(frozen=True, eq=False)
class ChunkRequest:
    """One model input.

    Attributes:
        input_ids: int64 [t], t ≥ 1.
        document_span: first and one-past-last code token within `input_ids`, not empty.
        want_rubrics: ask for `rubric_prob` and `gate` too.

    Raises:
        InvalidInputError: nothing to judge. Servers with a C++ encoder don't check, and an empty sequence would spoil
            the others of its batch.
    """

    input_ids: NDArray[np.int64]
    document_span: tuple[int, int]
    want_rubrics: bool = False

    def __post_init__(self) -> None:
        first, last = self.document_span
        if not 0 <= first < last <= len(self.input_ids):
            raise InvalidInputError(
                f"document_span [{first}, {last}) must be a non-empty part of {len(self.input_ids)} tokens"
            )


@dataclass(frozen=True, eq=False)
class ChunkResult:
    """What a model says of the m code tokens of one chunk.

    Attributes:
        keep: uint8 [m], Viterbi's labels under the fused CRF.
        keep_prob: float32 [m], the fused CRF's marginals.
        rubric_prob: float32 [m, K], each rubric's marginals; None unless asked for.
        gate: float32 [m, K], each rubric's weight; None unless asked for.
        relevance: P("yes") of the whole chunk.
    """

    keep: NDArray[np.uint8]
    keep_prob: NDArray[np.float32]
    rubric_prob: NDArray[np.float32] | None
    gate: NDArray[np.float32] | None
    relevance: float


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
            ServerError, ModelMismatchError: see `lamr_client.errors`.
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
