"""`AsyncGrpcTransport`: `GrpcTransport` for an event loop. gRPC's thread brings answers; none is spent on a call."""

import asyncio
import contextlib
from functools import partial
from typing import Any

from lamr_base.errors import LamrError
from lamr_model.model_io import ChunkRequest, ChunkResult
from lamr_model.names import ENSEMBLE
from lamr_model.spec import ModelSpec

from lamr_client import triton_wire as wire
from lamr_client.connection import Connection, parse_connection
from lamr_client.deadline import Deadline
from lamr_client.deferred import OPENING_SECONDS
from lamr_client.grpc_transport import GrpcTransport
from lamr_client.transport import AsyncTransport


class AsyncGrpcTransport(AsyncTransport):
    """`GrpcTransport` for one event loop: the loop that first uses it."""

    def __init__(
        self, address: str | Connection, spec: ModelSpec | None = None, *, model: str = ENSEMBLE
    ) -> None:
        """See `GrpcTransport`. A transport may be made outside of a loop."""
        connection = address if isinstance(address, Connection) else parse_connection(address)
        self.address = connection.address
        self._make = partial(GrpcTransport, connection, spec, model=model)
        self._channel: GrpcTransport | None = None
        self._lock = asyncio.Lock()
        self._closed = False

    async def infer(self, request: ChunkRequest, timeout: float | None = None) -> ChunkResult:
        deadline = Deadline(timeout)
        channel = await self._opened()
        endpoint = channel.endpoint
        if endpoint is None:
            async with self._lock:  # one thread waits for the server, whoever else does
                endpoint = channel.endpoint
                if endpoint is None:
                    endpoint = await asyncio.to_thread(channel.connect, deadline)
        answer: asyncio.Future[tuple[Any, Exception | None]] = asyncio.get_running_loop().create_future()
        try:
            channel.send(request, endpoint, deadline, partial(_put, answer))
            await asyncio.wait((answer,), timeout=deadline.remaining())
            if not answer.done():
                raise deadline.exceeded()
            result, error = answer.result()
            if error is not None:
                raise error
            return channel.read(result, request, endpoint)
        except LamrError:
            raise
        except Exception as error:  # ValueError, SystemError: grpc's share no base
            raise await asyncio.to_thread(channel.renamed, error) from error

    @property
    def loaded(self) -> bool:
        return self._channel is not None

    async def warm(self) -> None:
        await self._opened()

    def check_time(self, deadline: Deadline) -> None:
        if not self.loaded and not deadline.allows(OPENING_SECONDS):
            raise deadline.exceeded()

    async def check(self, timeout: float) -> None:
        """See `AsyncTransport.check`: the model's configuration is asked for anew."""
        deadline = Deadline(timeout)
        await asyncio.to_thread((await self._opened()).ask_config, deadline)

    async def close(self) -> None:
        """See `AsyncTransport.close`. Calls under way get `wire.LINGER_SECONDS` to be answered."""
        self._closed = True
        if self._channel is not None:
            await asyncio.to_thread(self._channel.close)

    async def _opened(self) -> GrpcTransport:
        """The channel, made in a thread: tritonclient takes longer to import than most calls."""
        if self._closed:
            raise wire.closed(self.address)
        if self._channel is None:
            async with self._lock:
                if self._channel is None:
                    self._channel = await asyncio.to_thread(self._make)
            if self._closed:
                self._channel.close()
        return self._channel


def _put(answer: asyncio.Future[tuple[Any, Exception | None]], result: Any, error: Exception | None) -> None:
    """Take an answer from gRPC's thread to the loop, where somebody may still wait for it."""

    def settle() -> None:
        if not answer.done():
            answer.set_result((result, error))

    with contextlib.suppress(RuntimeError):  # the loop is closed
        answer.get_loop().call_soon_threadsafe(settle)
