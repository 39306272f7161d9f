"""`Pruner`: a query and code in, the code that matters out. Blocking; safe to share between threads.

It puts the parts together and owns their lifetime. The steps of a pruning are those of `job`, and the waiting for
answers is that of `dispatch`."""

import dataclasses
import os
from collections.abc import Iterable
from pathlib import Path

from lamr_base.admission import TIMEOUT_SECONDS
from lamr_base.choices import EffortName, OnError
from lamr_base.errors import InvalidInputError, LamrError, own_errors
from lamr_model.encoding import PromptEncoder
from lamr_model.scoring.scorer import Scorer
from lamr_model.spec import ModelSpec, bundled_repository
from lamr_postprocess import LEAST_CUT, SourceFile
from lamr_postprocess.selection import Keep, keep_list

from lamr_client.connection import Connection, parse_connection
from lamr_client.deadline import Retry
from lamr_client.deferred import BATCH_SIZE, DeferredTransport
from lamr_client.dispatch import Dispatcher
from lamr_client.job import OnProgress, PruneJob, Shared
from lamr_client.prune_options import CallDefaults, PruneOptions, decode_code
from lamr_client.result import PruneResult, passthrough
from lamr_client.tracing import in_trace
from lamr_client.transport import Closing, Transport


class Pruner(Closing):
    """Prunes with a server, in process, or through any transport.

        with Pruner("localhost:8001") as pruner:
            print(pruner.prune("How are retries limited?", code, path="client.py").text)

    Attributes:
        spec: the model's prompt, window, chunking and scoring."""

    spec: ModelSpec

    def __init__(  # noqa: PLR0913  # keyword-only, each with a default
        self,
        server: str | None = None,
        *,
        model: str | os.PathLike[str] | None = None,
        transport: Transport | None = None,
        timeout: float = TIMEOUT_SECONDS,
        max_concurrency: int = 8,
        retries: int = 2,
        on_error: OnError = "raise",
        api_key: str | None = None,
        ca: str | os.PathLike[str] | None = None,
        cert: str | os.PathLike[str] | None = None,
        key: str | os.PathLike[str] | None = None,
        cache: str | os.PathLike[str] | None = None,
    ) -> None:
        """Load the client's files of a model. Nothing is sent yet, and the encoder is loaded when it is first needed.

        Args:
            server: `host:port` of a Triton's gRPC port, or `https://host:port` of one with TLS; None prunes in this
                process.
            model: the model repository; default the bundled one. A server must serve the same model.
            transport: takes the place of a server; it is closed with the pruner.
            timeout: seconds for one `prune`, retries included; `math.inf` for no end.
            max_concurrency: requests under way at once, over all threads.
            retries: attempts after the first of a request to a server that is unavailable or overloaded.
            on_error: see `prune`.
            api_key: proves to a front who asks.
            ca: a PEM file of the authorities that may have signed the server's certificate; None trusts gRPC's list.
            cert, key: PEM files of a certificate and its private key, which prove the same as a key.
            cache: names the file beside which a model in this process keeps what it read, for other processes
                (`lamr_base.cache.states_file`); None keeps it in memory alone.

        Raises:
            ModelMismatchError: a client's file of the repository is missing or broken.
            InvalidInputError: an option can't be used."""
        check_setup(server, transport, max_concurrency, retries)
        connection = connect_to(server, api_key=api_key, ca=ca, cert=cert, key=key)
        self._defaults = CallDefaults(timeout, on_error)
        repository = bundled_repository() if model is None else Path(model)
        encoder = PromptEncoder.from_repository(repository)
        self.spec = encoder.spec
        self._shared = Shared(encoder, Scorer.from_repository(repository, self.spec))
        cache = None if cache is None else Path(cache)
        transport = transport or deferred_transport(connection, repository, self.spec, cache)
        self._dispatcher = Dispatcher(transport, max_concurrency, Retry(retries))

    def prune(  # noqa: PLR0913  # keyword-only, each with a default
        self,
        query: str,
        code: str | bytes | SourceFile,
        *,
        task: str = "",
        history: str = "",
        path: str | os.PathLike[str] | None = None,
        language: str | None = None,
        listed: bool = True,
        threshold: float | None = None,
        ratio: float | None = None,
        max_tokens: int | None = None,
        tokenizer: str | os.PathLike[str] | None = None,
        keep: Iterable[Keep] = (),
        line_numbers: bool = False,
        min_tokens: int = 0,
        repair: bool = True,
        markers: str = "comment",
        min_cut: int = LEAST_CUT,
        excerpts: bool = False,
        effort: EffortName = "auto",
        within: float | None = None,
        degrade: bool = True,
        on_error: OnError | None = None,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
        traceparent: str | None = None,
    ) -> PruneResult:
        """Keep the lines of `code` that answer `query`.

        Args:
            query: what is looked for: a question, an intention, or words.
            code: one file; the encoding of bytes is found out. A `SourceFile` is analysed once for any number of calls;
                its own path, language and `listed` count.
            task: what the query serves, such as an issue's text; of any length. The model reads the query whole and
                those parts of the task that say most about this code; `query_read` of the result tells which.
            history: what the session said before the query, such as the agent's earlier words; the latest 3,000
                characters say most. The line model reads it apart from the task, and either counts half.
            path, language: either names the language; without both it is guessed from the content.
            listed: whether `code` may be what a tool printed of files, under numbers or paths; False for a file's own
                text, whose lines may begin with numbers.
            threshold: how likely a line must be to answer, in [0, 1], where 900 tokens of better lines are kept; a
                little less before, and more after. Default the model's own. Without repair, lines are kept that
                score at least this. With a budget (`ratio`, `max_tokens`), no line that scores less is taken to fill
                it; without a threshold, any line may be.
            ratio: a budget: 4 keeps about a quarter of the tokens.
            max_tokens: a budget: never more tokens than this, markers included. With both `ratio` and `max_tokens`,
                the smaller counts.
            tokenizer: what counts tokens: a name of `lamr_model.counters.TOKENIZERS`, or the `tokenizer.json` of
                whoever reads the result. Default: `o200k`.
            keep: a list of what is kept whatever it scores: numbers, (first, last) ranges, or regular expressions.
            line_numbers: write original line numbers before the lines.
            min_tokens: code with fewer tokens passes untouched and unjudged, with
                `status="passthrough"`, because a marker and a request cost more than such a cut saves.
            repair: whether to add the lines that the selection needs; without it the text may not parse.
            markers: `comment`; `named` for comments that name the definitions that begin inside the cut, at most a
                dozen tokens each; or `swe-pruner` for its `(filtered 12 lines)`, which without repair gives exactly
                SWE-Pruner's text.
            min_cut: characters, without indentation, that a cut between two kept lines hides at least; what is smaller
                is kept where all that it needs is, because a marker costs about as much.
            excerpts: of code that wasn't written by lines (one line of 160,000 characters), show the parts around what
                is looked for, each with its place. Without it, such code is answered as it came, unjudged; `reason`
                says what it is.
            effort: how much the encoder reads. `instant`: nothing, the line model alone answers, in milliseconds and
                without a server. `full`: every chunk. `auto`: the chunks that the line model leaves open,
                `effort.AUTO_CHUNKS` at the most; with `within`, the best first until the time is used. A model without
                a line model reads every chunk, and refuses `instant`. The result's `effort` says what was read.
            within: seconds until an answer is wanted, with what was read by then. Default: the timeout. Without a line
                model it is a second timeout.
            degrade: whether the line model answers, with what was read, where a server is overloaded, slow, restarting
                or gone, or the encoder can't be loaded (`effort.DEGRADES`). The result's `effort` and `reason` say
                so. False raises the error.
            on_error: `raise`, or `passthrough`: any `LamrError` about the query, the code or the server gives the
                original text with `status="passthrough"` and the error as `reason`. Code that can't be decoded, and
                options that can't be used, raise all the same. Default: the pruner's.
            timeout: seconds for this call; default the pruner's.
            on_progress: called in the caller's thread after each answer, with the number of tokens that are judged so
                far and the number of all tokens.
            traceparent: the trace that the requests belong to, in W3C's form. Default: OpenTelemetry's current span, or
                else the environment's `TRACEPARENT`.

        Returns:
            The result; for empty code an empty one with status `pruned`.

        Raises:
            InvalidInputError: the query is blank, query, task, history or code holds NUL, the code is no text, or an
                option can't be used.
            BudgetError: the smallest valid output exceeds `max_tokens`.
            ServerUnavailableError, OverloadedError: after the retries that were safe, unless the line model answers.
            QuotaExceededError: the front's quota is used up for longer than the encoder may read.
            DeadlineExceededError: the timeout passed before there was any answer.
            MissingPackageError: the encoder needs onnxruntime, which isn't installed, unless the line model answers.
            AccessDeniedError: the server wants another key.
            ModelMismatchError: the server serves another model than the client's files are of.
            ClosedError: the pruner was closed.
            BrokenOffError: memory or the stack ran out, or a library panicked, over this text."""
        options = PruneOptions(
            task=task,
            history=history,
            path=path,
            language=language,
            listed=listed,
            threshold=threshold,
            ratio=ratio,
            max_tokens=max_tokens,
            tokenizer=tokenizer,
            keep=keep_list(keep),
            line_numbers=line_numbers,
            min_tokens=min_tokens,
            repair=repair,
            markers=markers,
            min_cut=min_cut,
            excerpts=excerpts,
            effort=effort,
            within=within,
            degrade=degrade,
            traceparent=traceparent,
        )
        call = self._defaults.begin(timeout, on_error, within)
        decoded = decode_code(code)
        given = code if isinstance(code, SourceFile) else decoded.text
        dispatcher = self._dispatcher
        try:
            with own_errors():
                job = PruneJob(self._shared, query, given, options, call)
                reading = job.read(on_progress)
                with reading.degrading(), in_trace(traceparent):
                    if job.preload:
                        dispatcher.warm()
                    groups = reading.groups(dispatcher.pace, dispatcher.batch_size, dispatcher.work)
                    dispatcher.run(groups, job.want_rubrics, reading.add, job.until, leave=job.may_stop_early)
                result = reading.finish()
        except LamrError as error:
            if call.on_error == "raise":
                raise
            result = passthrough(self._shared.encoder, decoded.text, options, error, call.begin)
        return dataclasses.replace(result, encoding=decoded.encoding)

    def warm(self) -> None:
        """Load now what the first call of the encoder would load, so that no call with `within` finds it missing.

        Raises:
            ModelMismatchError: a file of the encoder is missing or broken.
            MissingPackageError: the encoder needs onnxruntime, which isn't installed.
            ClosedError: the pruner was closed."""
        self._dispatcher.warm()

    @property
    def answers_at_once(self) -> bool:
        """Whether the model has a line model, so that it can answer without its encoder (`effort="instant"`)."""
        return self._shared.scorer.instant

    @property
    def encoder(self) -> PromptEncoder:
        """The model's prompt and tokenizer, for callers that count or cut as the model does."""
        return self._shared.encoder

    def close(self) -> None:
        """Close the transport; calls under way fail. Closing twice is harmless."""
        self._dispatcher.close()


def check_setup(server: str | None, transport: object | None, max_concurrency: int, retries: int) -> None:
    """Refuse arguments that no pruner can be made of. Raises `InvalidInputError`: names the argument."""
    if server is not None and transport is not None:
        raise InvalidInputError("give either a server or a transport, not both", argument="transport")
    if max_concurrency < 1:
        raise InvalidInputError("max_concurrency must be at least 1", argument="max_concurrency")
    if retries < 0:
        raise InvalidInputError("retries must be at least 0", argument="retries")


def connect_to(
    server: str | None,
    *,
    api_key: str | None,
    ca: str | os.PathLike[str] | None,
    cert: str | os.PathLike[str] | None,
    key: str | os.PathLike[str] | None,
) -> Connection | None:
    """Return how to reach a server; None without one. Raises `InvalidInputError`: see `parse_connection`; or there is
    something to show and no server to show it to."""
    if server is not None:
        return parse_connection(server, api_key=api_key, ca=ca, cert=cert, key=key)
    given = {"api_key": api_key, "ca": ca, "cert": cert, "key": key}
    for name, value in given.items():
        if value is not None:
            raise InvalidInputError(f"{name} is for a server; give one", argument=name)
    return None


def deferred_transport(
    connection: Connection | None, repository: Path, spec: ModelSpec, cache: Path | None = None
) -> Transport:
    """Return a blocking transport to a server, or to the model in this process, that is made when it is needed."""

    def local() -> Transport:
        from lamr_base.cache import states_file  # noqa: PLC0415  # SQLite
        from lamr_model.encoder.kept_states import KeptStates  # noqa: PLC0415

        from lamr_client.in_process import InProcessTransport  # noqa: PLC0415  # onnxruntime and the decoder

        kept = KeptStates(file=None if cache is None else states_file(cache))
        return InProcessTransport(repository, kept=kept)

    if connection is None:
        return DeferredTransport(local, BATCH_SIZE, 1)

    def served() -> Transport:
        from lamr_client.grpc_transport import GrpcTransport  # noqa: PLC0415  # gRPC

        return GrpcTransport(connection, spec)

    return DeferredTransport(served)
