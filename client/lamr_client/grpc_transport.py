"""`GrpcTransport`: chunks to a Triton server over one gRPC channel, from threads.

Knows connections, deadlines and calls; what travels is `triton_wire`'s.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from queue import SimpleQueue
from typing import Any

from lamr_contract.errors import LamrError, ServerUnavailableError
from lamr_contract.model_io import ChunkRequest, ChunkResult
from lamr_contract.names import ENSEMBLE
from lamr_contract.spec import ModelSpec

from lamr_client import triton_wire as wire
from lamr_client.deadline import Deadline
from lamr_client.transport import Transport


class GrpcTransport(Transport):
    """One channel to one server.

    The served model's fingerprint is compared with the client's once, and again after the connection was lost,
    before any code is sent.
    """

    def __init__(self, address: str, spec: ModelSpec | None = None, *, model: str = ENSEMBLE) -> None:
        """Nothing is sent yet.

        Args:
            address: `host:port` of the server's gRPC port.
            spec: of the client's files, compared with the served model; None compares nothing.
            model: name of the ensemble.
        """
        from tritonclient.grpc import InferenceServerClient  # noqa: PLC0415

        self.address = address
        self._spec = spec
        self._model = model
        self._client = InferenceServerClient(address, channel_args=list(wire.CHANNEL_OPTIONS))
        self._endpoint: wire.Endpoint | None = None
        self._lock = threading.Lock()
        self._closed = False

    def infer(self, request: ChunkRequest, timeout: float | None = None) -> ChunkResult:
        deadline = Deadline(timeout)
        endpoint = self._connect(deadline)
        with self._errors():
            answer = self._client.infer(
                endpoint.model,
                wire.inputs_of(request, endpoint),
                outputs=wire.outputs_of(request),
                client_timeout=deadline.remaining(),
            )
        return wire.result_of(answer, request, endpoint)

    def infer_many(self, requests: Sequence[ChunkRequest], timeout: float | None = None) -> list[ChunkResult]:
        """See `Transport.infer_many`; all are under way at once. The first error cancels the others."""
        if len(requests) == 1:  # without the callback's thread switch
            return [self.infer(requests[0], timeout)]
        deadline = Deadline(timeout)
        endpoint = self._connect(deadline)
        answers: SimpleQueue[tuple[int, Any, Exception | None]] = SimpleQueue()
        calls: list[Any] = []
        results: dict[int, ChunkResult] = {}
        try:
            with self._errors():
                for index, request in enumerate(requests):
                    call = self._client.async_infer(
                        endpoint.model,
                        wire.inputs_of(request, endpoint),
                        partial(_put, answers, index),
                        outputs=wire.outputs_of(request),
                        client_timeout=deadline.remaining(),
                    )
                    calls.append(call)
                while len(results) < len(requests):
                    index, answer, error = answers.get()
                    if error is not None:
                        raise error
                    results[index] = wire.result_of(answer, requests[index], endpoint)
        finally:
            for call in calls:
                call.cancel()
        return [results[index] for index in range(len(requests))]

    def close(self) -> None:
        self._closed = True
        self._client.close()

    def _connect(self, deadline: Deadline) -> wire.Endpoint:
        endpoint = self._endpoint
        if endpoint is not None:
            return endpoint
        left = deadline.remaining()
        if not self._lock.acquire(timeout=-1 if left is None else left):
            raise deadline.exceeded()
        try:
            if self._endpoint is None:
                with self._errors():
                    answer = self._client.get_model_config(self._model, client_timeout=deadline.remaining())
                self._endpoint = wire.check_config(answer.config, self.address, self._model, self._spec)
            return self._endpoint
        finally:
            self._lock.release()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn tritonclient's errors, and grpc's for a closed channel, into the client's."""
        from tritonclient.utils import InferenceServerException  # noqa: PLC0415

        try:
            yield
        except ValueError as error:  # what grpc raises on a closed channel, among others
            if self._closed and not isinstance(error, LamrError):
                raise wire.closed(self.address) from error
            raise
        except InferenceServerException as error:
            if self._closed:
                raise wire.closed(self.address) from error
            failure = wire.error_of(error, self.address, self._model)
            if isinstance(failure, ServerUnavailableError):
                self._endpoint = None  # another model may come up at the address
            raise failure from error


def _put(
    answers: SimpleQueue[tuple[int, Any, Exception | None]], index: int, result: Any, error: Any
) -> None:
    answers.put((index, result, error))
