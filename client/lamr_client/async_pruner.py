"""`AsyncPruner`: `Pruner` for an event loop, which it never blocks: text is worked on in threads."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from lamr_contract.encoding import PromptEncoder
from lamr_contract.errors import LamrError
from lamr_contract.spec import ModelSpec, bundled_repository
from lamr_postprocess.selection import Keep

from lamr_client.async_dispatch import AsyncDispatcher
from lamr_client.deadline import Deadline, Retry
from lamr_client.inputs import decode_code
from lamr_client.job import OnProgress, PruneJob, passthrough
from lamr_client.options import OnError, PruneOptions, check_on_error, check_timeout
from lamr_client.pruner import check_setup
from lamr_client.result import PruneResult
from lamr_client.transport import AsyncTransport, ThreadedTransport, Transport

if TYPE_CHECKING:
    from typing_extensions import Self  # in `typing` from Python 3.11


class AsyncPruner:
    """See `Pruner`. One event loop, any number of `prune` calls at once.

        async with AsyncPruner("localhost:8001") as pruner:
            results = await asyncio.gather(*(pruner.prune(query, code) for code in files))

    Attributes:
        spec: of the model.
    """

    spec: ModelSpec

    def __init__(  # noqa: PLR0913  # keyword-only, each with a default
        self,
        server: str | None = None,
        *,
        model: str | os.PathLike[str] | None = None,
        transport: AsyncTransport | Transport | None = None,
        timeout: float = 30.0,
        max_concurrency: int = 8,
        retries: int = 2,
        on_error: OnError = "raise",
    ) -> None:
        """See `Pruner`. Loading a model blocks; make the pruner before the loop gets busy, or in a thread.

        Args:
            transport: a blocking one is called in threads.
        """
        check_setup(server, transport, timeout, max_concurrency, retries, on_error)
        repository = bundled_repository() if model is None else Path(model)
        self._encoder = PromptEncoder.from_repository(repository)
        self.spec = self._encoder.spec
        self._timeout = timeout
        self._on_error: OnError = on_error
        opened = transport or _open(server, repository, self.spec)
        opened = ThreadedTransport(opened) if isinstance(opened, Transport) else opened
        self._dispatcher = AsyncDispatcher(opened, max_concurrency, Retry(retries))

    async def prune(  # noqa: PLR0913  # keyword-only, each with a default
        self,
        query: str,
        code: str | bytes,
        *,
        path: str | os.PathLike[str] | None = None,
        language: str | None = None,
        threshold: float | None = None,
        ratio: float | None = None,
        max_tokens: int | None = None,
        keep: Iterable[Keep] = (),
        line_numbers: bool = False,
        min_tokens: int = 0,
        on_error: OnError | None = None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> PruneResult:
        """See `Pruner.prune`. A cancelled one returns at once; requests that were sent stay with the server."""
        begin = time.perf_counter()
        on_error = on_error or self._on_error
        check_on_error(on_error)
        check_timeout(timeout)
        deadline = Deadline(self._timeout if timeout is None else timeout)
        options = PruneOptions(
            path, language, threshold, ratio, max_tokens, tuple(keep), line_numbers, min_tokens
        )
        text = await asyncio.to_thread(decode_code, code)
        try:
            job = await asyncio.to_thread(PruneJob, self._encoder, query, text, options, deadline)
            await self._dispatcher.run(job.chunks, job.want_rubrics, job.reporting(on_progress), deadline)
            return await asyncio.to_thread(job.finish)
        except LamrError as error:
            if on_error == "raise":
                raise
            return await asyncio.to_thread(passthrough, self._encoder, text, options, error, begin)

    async def close(self) -> None:
        """Close the transport; calls under way fail. Closing twice is harmless."""
        await self._dispatcher.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def _open(server: str | None, repository: Path, spec: ModelSpec) -> AsyncTransport | Transport:
    if server is None:
        from lamr_client.in_process import InProcessTransport  # noqa: PLC0415  # onnxruntime and the decoder

        return InProcessTransport(repository)
    from lamr_client.async_grpc_transport import AsyncGrpcTransport  # noqa: PLC0415  # gRPC

    return AsyncGrpcTransport(server, spec)
