"""`GrpcChannel` asks a model of a Triton server over one gRPC channel; `GrpcTransport` asks it about chunks.

The channel knows connections, deadlines and calls; `triton_wire` knows what travels. A subclass says what it
means."""

import abc
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

from lamr_base.admission import fingerprint_metadata
from lamr_base.errors import (
    LamrError,
    ModelMismatchError,
    ServerError,
    ServerUnavailableError,
)
from lamr_model.model_io import ChunkRequest, ChunkResult
from lamr_model.names import ENSEMBLE
from lamr_model.spec import ModelSpec

from lamr_client import triton_wire as wire
from lamr_client.connection import Connection, parse_connection
from lamr_client.deadline import Attempts, Deadline, Patience
from lamr_client.tracing import trace_metadata
from lamr_client.transport import Transport

Answer = tuple[int, Any, Exception | None]  # index of the request, result or error
Request = TypeVar("Request")
Result = TypeVar("Result")
Endpoint = TypeVar("Endpoint", bound=wire.ModelEndpoint)


class GrpcChannel(abc.ABC, Generic[Request, Result, Endpoint]):
    """One channel to one model of one server.

    The model's configuration is checked before anything is sent, and again after a failure."""

    def __init__(
        self, address: str | Connection, model: str, fingerprint: str | None, most_bytes: int
    ) -> None:
        """Open a channel and send nothing yet; an answer of more than `most_bytes` is refused before it is read."""
        from tritonclient.grpc import InferenceServerClient  # noqa: PLC0415

        connection = address if isinstance(address, Connection) else parse_connection(address)
        self.address = connection.address
        self._metadata = connection.metadata | fingerprint_metadata(fingerprint)
        self._model = model
        self._client = InferenceServerClient(
            **connection.client_arguments(),
            channel_args=wire.channel_options(connection.address, most_bytes),
        )
        self._endpoint: Endpoint | None = None
        self._lock = threading.Lock()
        self._patience = Patience()
        self._answered = threading.Condition()
        self._under_way = 0
        self._closed = False

    @abc.abstractmethod
    def _read_config(self, config: Any) -> Endpoint:
        """Read the model's `ModelConfig` message before anything is sent. Raises `ModelMismatchError`: it is another
        model."""

    @abc.abstractmethod
    def _tensors(self, request: Request, endpoint: Endpoint) -> tuple[list[Any], list[Any]]:
        """Return a request's tensors, and those to ask for."""

    @abc.abstractmethod
    def read(self, answer: Any, request: Request, endpoint: Endpoint) -> Result:
        """Read an `InferResult`. Raises `ModelMismatchError`: it isn't an answer to the request."""

    def ask(self, requests: Sequence[Request], deadline: Deadline) -> list[Result]:
        """Ask about several things; all are under way at once. Nobody reads what comes too late. Raises
        `ServerError`, `ModelMismatchError`: see `lamr_base.errors`."""
        endpoint = self.connect(deadline)
        answers: SimpleQueue[Answer] = SimpleQueue()
        results: dict[int, Result] = {}
        with self._errors():
            for index, request in enumerate(requests):
                self.send(request, endpoint, deadline, partial(lambda *answer: answers.put(answer), index))
            while len(results) < len(requests):
                try:
                    index, answer, error = answers.get(timeout=deadline.remaining())
                except Empty:
                    raise deadline.exceeded() from None
                if error is not None:
                    raise error
                results[index] = self.read(answer, requests[index], endpoint)
        return [results[index] for index in range(len(requests))]

    def close(self) -> None:
        """Let go of the connection. Calls under way get `wire.LINGER_SECONDS` to be answered."""
        self._closed = True
        with self._answered:
            self._answered.wait_for(lambda: not self._under_way, wire.LINGER_SECONDS)
        self._client.close()

    def send(
        self,
        request: Request,
        endpoint: Endpoint,
        deadline: Deadline,
        put: Callable[[Any, Exception | None], None],
    ) -> None:
        """Send a request; `put` takes the result or the error, in gRPC's thread."""

        def answered(result: Any, error: Exception | None) -> None:
            put(result, error)
            self._leave()

        inputs, outputs = self._tensors(request, endpoint)
        left = deadline.remaining()
        with self._answered:
            self._under_way += 1
        try:
            # Neither a client_timeout nor a cancellation: see `triton_wire`.
            self._client.async_infer(
                endpoint.model,
                inputs,
                answered,
                outputs=outputs,
                timeout=wire.queue_timeout(left),
                parameters=endpoint.parameters,
                headers=self._metadata | trace_metadata(),
            )
        except BaseException:
            self._leave()
            raise

    def _leave(self) -> None:
        with self._answered:
            self._under_way -= 1
            if not self._under_way:
                self._answered.notify_all()

    @property
    def endpoint(self) -> Endpoint | None:
        """What requests must know of the model; None where the server is to be asked for it first."""
        return None if self._closed else self._endpoint

    def connect(self, deadline: Deadline) -> Endpoint:
        """Return what requests must know of the model, and ask for its configuration first where that isn't known.
        Raises `ServerError`, `ModelMismatchError`: see `lamr_base.errors`."""
        if (endpoint := self.endpoint) is not None:
            return endpoint
        left = deadline.remaining()
        if not self._lock.acquire(timeout=-1 if left is None else left):
            raise deadline.exceeded()
        attempts = Attempts(self._patience, deadline)
        try:
            while self._closed or self._endpoint is None:
                if self._closed:
                    raise wire.closed(self.address)
                try:
                    self._endpoint = self.ask_config(deadline)
                except ServerError as error:
                    time.sleep(attempts.failed(error))
            return self._endpoint
        finally:
            self._lock.release()

    def ask_config(self, deadline: Deadline) -> Endpoint:
        """Ask for the model's configuration anew; see `connect`."""
        with self._errors():
            answer = self._client.get_model_config(
                self._model,
                headers=self._metadata | trace_metadata(),
                client_timeout=deadline.remaining(),
            )
            self._patience.reached()
            return self._read_config(answer.config)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn tritonclient's errors, and whatever grpc raises on a channel that is being closed, into the client's."""
        try:
            yield
        except LamrError:
            raise
        except Exception as error:  # ValueError, SystemError: grpc's share no base
            raise self.renamed(error) from error

    def renamed(self, error: Exception) -> LamrError:
        """Return the client's error for one of theirs; the server may be asked whether it is ready."""
        if self._closed:
            return wire.closed(self.address)
        stopping = wire.is_unknown_model(error) and (self._patience.was_reached or self._is_unready())
        failure = wire.error_of(error, self.address, self._model, stopping=stopping)
        if isinstance(failure, (ServerUnavailableError, ModelMismatchError)):
            self._endpoint = None  # another model may be at the address, or come up there
        return failure

    def _is_unready(self) -> bool:
        """Whether the server itself says that it isn't ready."""
        try:
            return not self._client.is_server_ready(
                headers=self._metadata, client_timeout=wire.READINESS_SECONDS
            )
        except Exception as error:
            return wire.is_unavailable(error)


class GrpcTransport(GrpcChannel[ChunkRequest, ChunkResult, wire.ModelEndpoint], Transport):
    """One channel to one server.

    The served model's fingerprint is compared with the client's before any code is sent, and again after a failure. It
    travels with each call, too: a front chooses the server by it, and a server of another model refuses
    it."""

    def __init__(
        self, address: str | Connection, spec: ModelSpec | None = None, *, model: str = ENSEMBLE
    ) -> None:
        """Open a channel; nothing is sent yet.

        Args:
            address: see `GrpcChannel`.
            spec: what the client's files say of their model, to compare with the served one; None compares nothing.
            model: the ensemble's name."""
        super().__init__(address, model, spec.fingerprint if spec else None, wire.most_answer_bytes(spec))
        self._spec = spec

    def infer(self, request: ChunkRequest, timeout: float | None = None) -> ChunkResult:
        return self.infer_many([request], timeout)[0]

    def infer_many(self, requests: Sequence[ChunkRequest], timeout: float | None = None) -> list[ChunkResult]:
        """See `Transport.infer_many`; all are under way at once. Nobody reads what comes too late."""
        return self.ask(requests, Deadline(timeout))

    def _read_config(self, config: Any) -> wire.ModelEndpoint:
        return wire.check_config(config, self.address, self._model, self._spec)

    def _tensors(self, request: ChunkRequest, endpoint: wire.ModelEndpoint) -> tuple[list[Any], list[Any]]:
        return wire.inputs_of(request, endpoint), wire.outputs_of(request)

    def read(self, answer: Any, request: ChunkRequest, endpoint: wire.ModelEndpoint) -> ChunkResult:
        return wire.result_of(answer, request, endpoint)
