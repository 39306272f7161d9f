"""`AsyncGrpcTransport`: `GrpcTransport` for one event loop, over grpc.aio."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from lamr_contract.admission import fingerprint_metadata
from lamr_contract.errors import (
    LamrError,
    ModelMismatchError,
    ServerError,
    ServerUnavailableError,
)
from lamr_contract.model_io import ChunkRequest, ChunkResult
from lamr_contract.names import ENSEMBLE
from lamr_contract.spec import ModelSpec

from lamr_client import triton_wire as wire
from lamr_client.attempts import Attempts
from lamr_client.connection import Connection, parse_connection
from lamr_client.deadline import Deadline
from lamr_client.deferred import OPENING_SECONDS
from lamr_client.patience import Patience
from lamr_client.tracing import trace_metadata
from lamr_client.transport import AsyncTransport


class AsyncGrpcTransport(AsyncTransport):
    """`GrpcTransport` for one event loop: the loop that first uses it."""

    def __init__(
        self, address: str | Connection, spec: ModelSpec | None = None, *, model: str = ENSEMBLE
    ) -> None:
        """See `GrpcTransport`. A transport may be made outside of a loop."""
        self._connection = address if isinstance(address, Connection) else parse_connection(address)
        self.address = self._connection.address
        self._metadata = self._connection.metadata | fingerprint_metadata(spec.fingerprint if spec else None)
        self._spec = spec
        self._model = model
        self._client: Any = None
        self._endpoint: wire.Endpoint | None = None
        self._lock = asyncio.Lock()
        self._patience = Patience()
        self._calls: set[asyncio.Future[Any]] = set()
        self._closed = False

    async def infer(self, request: ChunkRequest, timeout: float | None = None) -> ChunkResult:
        deadline = Deadline(timeout)
        endpoint = await self._connect(deadline)
        # Neither a client_timeout nor a cancellation may reach the server: see `triton_wire`.
        call = asyncio.ensure_future(
            self._client.infer(
                endpoint.model,
                wire.inputs_of(request, endpoint),
                outputs=wire.outputs_of(request),
                timeout=wire.queue_timeout(deadline.remaining()),
                parameters=endpoint.parameters,
                headers=self._metadata | trace_metadata(),
            )
        )
        self._calls.add(call)
        call.add_done_callback(self._leave)
        await asyncio.wait((call,), timeout=deadline.remaining())
        if not call.done():
            raise deadline.exceeded()
        async with self._errors():
            return wire.result_of(call.result(), request, endpoint)

    @property
    def loaded(self) -> bool:
        return self._client is not None

    async def warm(self) -> None:
        async with self._lock:
            await self._open()

    def check_time(self, deadline: Deadline) -> None:
        if not self.loaded and not deadline.allows(OPENING_SECONDS):
            raise deadline.exceeded()

    async def check(self, timeout: float) -> None:
        """See `AsyncTransport.check`: the model's configuration is asked for anew."""
        deadline = Deadline(timeout)
        async with self._lock:
            if self._closed:
                raise wire.closed(self.address)
            await self._open()
        await self._ask_config(deadline)

    async def close(self) -> None:
        """See `AsyncTransport.close`. Calls under way get `wire.LINGER_SECONDS` to be answered."""
        self._closed = True
        if self._calls:
            await asyncio.wait(self._calls, timeout=wire.LINGER_SECONDS)
        if self._client is not None:
            await self._client.close()

    def _leave(self, call: asyncio.Future[Any]) -> None:
        self._calls.discard(call)
        if not call.cancelled():
            call.exception()  # asyncio complains of an error that nobody looks at

    async def _connect(self, deadline: Deadline) -> wire.Endpoint:
        if self._closed:
            raise wire.closed(self.address)
        if self._endpoint is not None:
            return self._endpoint
        attempts = Attempts(self._patience, deadline)
        async with self._lock:
            await self._open()
            while self._endpoint is None:
                if self._closed:
                    raise wire.closed(self.address)
                try:
                    self._endpoint = await self._ask_config(deadline)
                except ServerError as error:
                    await asyncio.sleep(attempts.failed(error))
            return self._endpoint

    async def _open(self) -> None:
        """Make the client; a channel belongs to the loop that is running when it is made."""
        if self._client is None:
            make_client = await asyncio.to_thread(_import_client)
            self._client = make_client(
                **self._connection.client_arguments(),
                channel_args=wire.channel_options(self.address, wire.most_answer_bytes(self._spec)),
            )

    async def _ask_config(self, deadline: Deadline) -> wire.Endpoint:
        async with self._errors():
            answer = await self._client.get_model_config(
                self._model,
                headers=self._metadata | trace_metadata(),
                client_timeout=deadline.remaining(),
            )
            self._patience.reached()
            return wire.check_config(answer.config, self.address, self._model, self._spec)

    @asynccontextmanager
    async def _errors(self) -> AsyncIterator[None]:
        """Turn tritonclient's errors, and whatever grpc raises on a channel that is being closed, into the client's."""
        try:
            yield
        except LamrError:
            raise
        except (Exception, asyncio.CancelledError) as error:  # grpc's share no base
            if self._closed:
                raise wire.closed(self.address) from error
            if isinstance(error, asyncio.CancelledError):
                raise
            stopping = wire.is_unknown_model(error) and (
                self._patience.was_reached or await self._is_unready()
            )
            failure = wire.error_of(error, self.address, self._model, stopping=stopping)
            if isinstance(failure, (ServerUnavailableError, ModelMismatchError)):
                self._endpoint = None  # another model may be at the address, or come up there
            raise failure from error

    async def _is_unready(self) -> bool:
        """Whether the server itself says that it isn't ready."""
        try:
            return not await self._client.is_server_ready(
                headers=self._metadata, client_timeout=wire.READINESS_SECONDS
            )
        except Exception as error:
            return wire.is_unavailable(error)


def _import_client() -> Any:
    from tritonclient.grpc.aio import InferenceServerClient  # noqa: PLC0415

    return InferenceServerClient
