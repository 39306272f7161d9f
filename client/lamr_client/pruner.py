"""`Pruner`: a query and code in, the code that matters out. Blocking; safe to share between threads.

It puts the parts together and owns their lifetime; the steps are those of `job`, the waiting that of `dispatch`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from lamr_contract.encoding import PromptEncoder
from lamr_contract.errors import InvalidInputError, LamrError
from lamr_contract.spec import ModelSpec, bundled_repository
from lamr_postprocess.selection import Keep

from lamr_client.deadline import Deadline, Retry
from lamr_client.dispatch import Dispatcher
from lamr_client.inputs import decode_code
from lamr_client.job import OnProgress, PruneJob, passthrough
from lamr_client.options import OnError, PruneOptions, check_on_error, check_timeout
from lamr_client.result import PruneResult
from lamr_client.transport import Transport

if TYPE_CHECKING:
    from typing_extensions import Self  # in `typing` from Python 3.11


class Pruner:
    """Prunes with a server, in process, or through any transport.

        with Pruner("localhost:8001") as pruner:
            print(pruner.prune("How are retries limited?", code, path="client.py").text)

    Attributes:
        spec: of the model.
    """

    spec: ModelSpec

    def __init__(  # noqa: PLR0913  # keyword-only, each with a default
        self,
        server: str | None = None,
        *,
        model: str | os.PathLike[str] | None = None,
        transport: Transport | None = None,
        timeout: float = 30.0,
        max_concurrency: int = 8,
        retries: int = 2,
        on_error: OnError = "raise",
    ) -> None:
        """Load the client's files of a model; without a server, the model too. Nothing is sent yet.

        Args:
            server: `host:port` of a Triton's gRPC port; None prunes in this process.
            model: the model repository; default the bundled one. A server must serve the same model.
            transport: instead of a server; closed with the pruner.
            timeout: seconds for one `prune`, retries included; `math.inf` for no end.
            max_concurrency: requests under way at once, over all threads.
            retries: attempts after the first of a request to a server that is unavailable or overloaded.
            on_error: see `prune`.

        Raises:
            ModelMismatchError: a file of the repository is missing or broken; names it.
            InvalidInputError: an option can't be used.
            LamrError: pruning in process, and onnxruntime isn't installed.
        """
        check_setup(server, transport, timeout, max_concurrency, retries, on_error)
        repository = bundled_repository() if model is None else Path(model)
        self._encoder = PromptEncoder.from_repository(repository)
        self.spec = self._encoder.spec
        self._timeout = timeout
        self._on_error: OnError = on_error
        transport = transport or _open(server, repository, self.spec)
        self._dispatcher = Dispatcher(transport, max_concurrency, Retry(retries))

    def prune(  # noqa: PLR0913  # keyword-only, each with a default
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
        """Keep the lines of `code` that answer `query`.

        Args:
            query: what is looked for: a question, a task, or words.
            code: one file; bytes must be UTF-8.
            path, language: either names the language; without both it is guessed from the content.
            threshold: lines that score at least this are kept, in [0, 1]; default the model's own.
            ratio: instead of a threshold, 4 keeps about a quarter of the tokens.
            max_tokens: instead of a threshold, never more of the model's tokens than this, markers included. With both,
                the smaller counts.
            keep: lines to keep whatever they score: numbers, (first, last) ranges, or regular expressions.
            line_numbers: write original line numbers before the lines.
            min_tokens: code with fewer of the model's tokens passes untouched and unjudged, with
                `status="passthrough"`: a marker and a request cost more than such a cut saves.
            on_error: `raise`, or `passthrough`: any `LamrError` about the query, the code or the server gives the
                original text with `status="passthrough"` and the error as `reason`. Code that can't be decoded, and
                options that can't be used, raise all the same. Default: the pruner's.
            timeout: instead of the pruner's.
            on_progress: called in the caller's thread after each answer, with the tokens judged so far and all of them.

        Returns:
            The result; for empty code an empty one with status `pruned`.

        Raises:
            InvalidInputError: the query is blank or longer than the window allows, the code holds NUL or isn't UTF-8,
                or an option can't be used.
            ServerUnavailableError, OverloadedError, DeadlineExceededError: after the retries that were safe.
            ModelMismatchError: the server serves another model than the client's files are of.
        """
        begin = time.perf_counter()
        on_error = on_error or self._on_error
        check_on_error(on_error)
        check_timeout(timeout)
        deadline = Deadline(self._timeout if timeout is None else timeout)
        options = PruneOptions(
            path, language, threshold, ratio, max_tokens, tuple(keep), line_numbers, min_tokens
        )
        text = decode_code(code)
        try:
            job = PruneJob(self._encoder, query, text, options, deadline)
            self._dispatcher.run(job.chunks, job.want_rubrics, job.reporting(on_progress), deadline)
            return job.finish()
        except LamrError as error:
            if on_error == "raise":
                raise
            return passthrough(self._encoder, text, options, error, begin)

    def close(self) -> None:
        """Close the transport; calls under way fail. Closing twice is harmless."""
        self._dispatcher.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def check_setup(  # noqa: PLR0913, PLR0917
    server: str | None,
    transport: object | None,
    timeout: float,
    max_concurrency: int,
    retries: int,
    on_error: str,
) -> None:
    """Refuse what no pruner can be made of.

    Raises:
        InvalidInputError: names the option.
    """
    if server is not None and transport is not None:
        raise InvalidInputError("give either a server or a transport, not both", argument="transport")
    if server is not None and not server.rpartition(":")[2].isdigit():
        raise InvalidInputError(f"server must be host:port of a gRPC port, not {server!r}", argument="server")
    if max_concurrency < 1 or retries < 0:
        raise InvalidInputError("max_concurrency must be at least 1 and retries at least 0")
    check_timeout(timeout)
    check_on_error(on_error)


def _open(server: str | None, repository: Path, spec: ModelSpec) -> Transport:
    if server is None:
        from lamr_client.in_process import InProcessTransport  # noqa: PLC0415  # onnxruntime and the decoder

        return InProcessTransport(repository)
    from lamr_client.grpc_transport import GrpcTransport  # noqa: PLC0415  # gRPC

    return GrpcTransport(server, spec)
