"""How chunks and answers travel to Triton over gRPC, and which of its statuses is which error.

The threaded and the asyncio transport share this module, which knows tensors and status codes and opens no connection.
tritonclient is imported where it is used, because it takes longer to import than all the rest of the client.

A call that was sent is never cancelled, nor given a deadline on the wire: Triton before 24.12 dies of a cancellation
that meets its answer (server issue 7368). The client waits for as long as it may, then leaves the call alone, and
`queue_timeout` tells the server when the answer is no longer worth waiting for."""

import math
import re
from typing import Any

import numpy as np
from lamr_base.admission import seconds_to_wait
from lamr_base.errors import (
    AccessDeniedError,
    ClosedError,
    DeadlineExceededError,
    LamrError,
    ModelMismatchError,
    OverloadedError,
    QuotaExceededError,
    ServerError,
    ServerUnavailableError,
    visible,
)
from lamr_base.expressions import expression
from lamr_base.records import dataclass
from lamr_model.model_io import ChunkRequest, ChunkResult
from lamr_model.names import (
    DOCUMENT_SPAN,
    FINGERPRINT_PARAMETER,
    GATE,
    INPUT_IDS,
    KEEP,
    KEEP_PROB,
    RELEVANCE,
    RUBRIC_OUTPUTS,
    RUBRIC_PROB,
)
from lamr_model.spec import ModelSpec
from numpy.typing import NDArray

from lamr_client.connection import is_loopback, proxy_of

# A full queue and a wait that was too long have the status of a dead server; only Triton's wording tells them apart.
_OVERLOAD = expression(r"maximum queue size|request timeout expired|queue .*(full|limit)", re.IGNORECASE)
# Triton starts a model's process again when it dies; until then the process's requests fail with an internal error.
_RESTARTING = expression(r"stub process .*not healthy|failed to process the request.*stub", re.IGNORECASE)

_NO_VERSIONS, _UNLOADED = "no available versions", "UNLOADED"  # Triton's words, and ours for the status

_UNTRUSTED = expression(r"CERTIFICATE_VERIFY_FAILED|Hostname Verification|handshake failed", re.IGNORECASE)
_TOO_LARGE = expression(r"bytes .*too large|larger than max", re.IGNORECASE)
_TOO_LARGE_ANSWER = expression(
    r"(received|decompressed) message\b.*larger than max|metadata size exceeds", re.IGNORECASE
)
_MOST_SAID_CHARS = 500
"""Of a server's message that an error repeats: gRPC takes some kB."""
_ROUNDING = 1e-3
"""How far beyond 0 and 1 a probability may lie that was computed in few bits."""

# Pings find a server that vanished without closing its connection. They are sent only while calls are under way, and no
# more often than Triton's default policy forgives. Retries meet a restarted server because the backoff is short, where
# gRPC's own starts at 1 s.
_CHANNEL_OPTIONS = (
    ("grpc.max_send_message_length", -1),
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.keepalive_permit_without_calls", 0),
    ("grpc.http2.max_pings_without_data", 2),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1_000),
)

READINESS_SECONDS = 1.0  # for a server without the model to say whether it is ready
LINGER_SECONDS = 2.0  # how long a channel that is to be closed waits for the answers to its calls

_ASIDE_BYTES = 1 << 20
"""What an answer may have beside its tensors, and a configuration in all: theirs have some kB."""
_MOST_TOKENS, _MOST_RUBRICS = 1 << 17, 16
"""Of an answer where no specification says how many there are."""


def channel_options(address: str, most_bytes: int) -> list[tuple[str, int]]:
    """Return gRPC's options for a channel; nothing larger is read from it, compressed or not. `most_bytes`: of an
    answer, as `most_answer_bytes` gives it."""
    proxied = ("grpc.enable_http_proxy", int(not is_loopback(address)))
    return [*_CHANNEL_OPTIONS, proxied, ("grpc.max_receive_message_length", most_bytes)]


def most_answer_bytes(spec: ModelSpec | None) -> int:
    """Return the bytes that an answer about a chunk has at the most."""
    tokens = spec.chunking.window if spec else _MOST_TOKENS
    rubrics = len(spec.rubrics) if spec else _MOST_RUBRICS
    widths = {name: rubrics if name in RUBRIC_OUTPUTS else 1 for name in _DTYPES}
    return tokens * sum(_DTYPES[name].itemsize * width for name, width in widths.items()) + _ASIDE_BYTES


_DTYPES: dict[str, np.dtype[Any]] = {
    KEEP: np.dtype(np.uint8),
    KEEP_PROB: np.dtype(np.float32),
    RUBRIC_PROB: np.dtype(np.float32),
    GATE: np.dtype(np.float32),
    RELEVANCE: np.dtype(np.float32),
}
_NAMES_OF_TYPES: dict[np.dtype[Any], str] = {np.dtype(np.uint8): "UINT8", np.dtype(np.float32): "FP32"}


@dataclass(frozen=True)
class ModelEndpoint:
    """What a request must know of the served model."""

    address: str  # the server's, for messages
    model: str  # the ensemble's name
    batched: bool  # whether its configuration has a batch dimension, so that tensors carry a leading 1
    # the fingerprint of the model that requests are for. It travels with each request, because gRPC finds a restarted
    # server by itself, which may serve another model. None when the client compares nothing.
    fingerprint: str | None

    @property
    def parameters(self) -> dict[str, str]:
        """The parameters that every request carries beside its tensors."""
        return {FINGERPRINT_PARAMETER: self.fingerprint} if self.fingerprint else {}


def check_config(config: Any, address: str, model: str, spec: ModelSpec | None) -> ModelEndpoint:
    """Read the ensemble's configuration before any code is sent. `spec`: what the client's files say of their model;
    None accepts whatever the server serves. Raises `ModelMismatchError`: the served model's fingerprint is missing or
    another one."""
    parameters = config.parameters
    served = parameters[FINGERPRINT_PARAMETER].string_value if FINGERPRINT_PARAMETER in parameters else None
    if spec is not None and served != spec.fingerprint:
        raise ModelMismatchError(
            f"{address} serves a model with fingerprint {said(served or 'none')}, but the client files are those "
            f"of {spec.name} {spec.version}, fingerprint {spec.fingerprint}; give the client the served "
            "repository (`model`)",
            server=address,
        )
    return ModelEndpoint(address, model, config.max_batch_size > 0, spec.fingerprint if spec else None)


def inputs_of(request: ChunkRequest, endpoint: ModelEndpoint) -> list[Any]:
    """Return the request's tensors as a list of `InferInput`."""
    return [
        input_tensor(INPUT_IDS, np.ascontiguousarray(request.input_ids, np.int64), "INT64", endpoint.batched),
        input_tensor(DOCUMENT_SPAN, np.array(request.document_span, np.int32), "INT32", endpoint.batched),
    ]


def outputs_of(request: ChunkRequest) -> list[Any]:
    """Return the tensors to ask for. Rubrics and gate cost the server time, so they travel only on demand."""
    from tritonclient.grpc import InferRequestedOutput  # noqa: PLC0415

    names = (KEEP, KEEP_PROB, RELEVANCE, *(RUBRIC_OUTPUTS if request.want_rubrics else ()))
    return [InferRequestedOutput(name) for name in names]


def queue_timeout(left: float | None) -> int | None:
    """Return Triton's `timeout` parameter: the microseconds that a request may wait in a queue before it is refused."""
    return None if left is None else max(1, int(left * 1e6))


def result_of(answer: Any, request: ChunkRequest, endpoint: ModelEndpoint) -> ChunkResult:
    """Read an `InferResult`. Raises `ModelMismatchError`: an output is missing, of another type or shape, or no
    probability."""
    m = request.document_span[1] - request.document_span[0]

    def read(name: str, *shape: int) -> NDArray[Any]:
        values = read_output(answer, name, _DTYPES[name], shape, endpoint)
        # NaN is neither.
        if values.size and not (values.min() >= -_ROUNDING and values.max() <= 1 + _ROUNDING):
            raise _mismatch(endpoint, f"a {name} that is no probability; its weights may be broken")
        return values

    rubrics = (read(RUBRIC_PROB, m, -1), read(GATE, m, -1)) if request.want_rubrics else (None, None)
    return ChunkResult(
        keep=read(KEEP, m),
        keep_prob=read(KEEP_PROB, m),
        rubric_prob=rubrics[0],
        gate=rubrics[1],
        relevance=float(read(RELEVANCE, 1)[0]),
    )


def read_output(
    answer: Any, name: str, dtype: np.dtype[Any], shape: tuple[int, ...], endpoint: ModelEndpoint
) -> NDArray[Any]:
    """Read one tensor of an `InferResult`, which is checked before numpy sees a byte of it. A length of -1 is any.
    Raises `ModelMismatchError`: it is missing, or of another type, shape or size."""
    response = answer.get_response()
    places = [place for place, output in enumerate(response.outputs) if output.name == name]
    if len(places) != 1 or len(response.raw_output_contents) != len(response.outputs):
        raise _mismatch(
            endpoint, f"no {name}" if not places else f"{name} more than once, or without content"
        )
    output, content = response.outputs[places[0]], response.raw_output_contents[places[0]]
    given = tuple(output.shape)[1:] if endpoint.batched and output.shape[:1] == [1] else tuple(output.shape)
    fits = len(given) == len(shape) and all(
        b in (-1, a) and a >= 0 for a, b in zip(given, shape, strict=True)
    )
    if output.datatype != _NAMES_OF_TYPES[dtype] or not fits:
        raise _mismatch(
            endpoint,
            f"{name} as {said(output.datatype)} {list(given)[:4]} instead of {_NAMES_OF_TYPES[dtype]} {list(shape)}",
        )
    if len(content) != math.prod(given) * dtype.itemsize:
        raise _mismatch(endpoint, f"{name} of shape {list(given)} in {len(content)} bytes")
    return np.frombuffer(content, dtype).reshape(given)


def said(text: str) -> str:
    """Return words of a server as an error repeats them: not too many, and nothing in them that can't be seen."""
    return visible(text if len(text) <= _MOST_SAID_CHARS else f"{text[:_MOST_SAID_CHARS]}…")


def _mismatch(endpoint: ModelEndpoint, what: str) -> ModelMismatchError:
    return ModelMismatchError(
        f"{endpoint.model} at {endpoint.address} gives {what}; serve a model of this lamr",
        server=endpoint.address,
    )


def is_unknown_model(error: Exception) -> bool:
    """Whether Triton says that it doesn't have the model: it never had, or it has begun to stop."""
    return "unknown model" in message_of(error).lower() and status_of(error) != _UNLOADED


def is_unavailable(error: Exception) -> bool:
    """Whether nothing answered, or something that is about to stop."""
    return status_of(error) in ("UNAVAILABLE", _UNLOADED)


def error_of(error: Exception, address: str, model: str, *, stopping: bool = False) -> LamrError:
    """Return the client's error for an `InferenceServerException`, or for whatever else gRPC raises in trouble.
    `stopping`: whether a server without the model is one that has had it before, or that says that it isn't ready:
    then it is being stopped or replaced, and there is one to wait for."""
    status = status_of(error)
    message = message_of(error)
    if status == "DEADLINE_EXCEEDED" or message == "Deadline Exceeded":
        return DeadlineExceededError(f"{address} gave no answer in time", server=address)
    if (refusal := _refusal(status, message, address)) is not None:
        return refusal
    if status == "RESOURCE_EXHAUSTED" or (status == "UNAVAILABLE" and _OVERLOAD.search(message)):
        return OverloadedError(
            f"{address} is overloaded ({message}); ask again later, or with fewer requests at once",
            server=address,
        )
    if (absence := _absence(status, message, address, stopping=stopping)) is not None:
        return absence
    if (unknown := is_unknown_model(error)) or status in ("NOT_FOUND", "INVALID_ARGUMENT", "UNIMPLEMENTED"):
        what = f"serves no model {model!r}" if unknown else "doesn't serve what this client asks for"
        return ModelMismatchError(f"{address} {what} ({message}); is it a lamr server?", server=address)
    return ServerError(
        f"{address} failed ({status or type(error).__name__}: {message}); its log says more", server=address
    )


def _refusal(status: str, message: str, address: str) -> ServerError | None:
    """The error for what a front says to a client that may not ask, or not so much, and gRPC to a server likewise."""
    if _TOO_LARGE_ANSWER.search(message):
        return ServerError(f"{address} answers with more than was asked for ({message})", server=address)
    if status in ("UNAUTHENTICATED", "PERMISSION_DENIED"):
        return AccessDeniedError(f"{address} refuses: {message}", server=address)
    if status == "RESOURCE_EXHAUSTED" and (wait := seconds_to_wait(message)) is not None:
        return QuotaExceededError(f"{address} refuses: {message}", server=address, retry_after=wait)
    if status == "INVALID_ARGUMENT" and _TOO_LARGE.search(message):
        return ServerError(
            f"{address} refuses: {message}; it must take requests as large as the model's chunks",
            server=address,
        )
    return None


def _absence(status: str, message: str, address: str, *, stopping: bool) -> ServerUnavailableError | None:
    """The error for a server that isn't there, or not for long. Inference changes nothing, so asking again is safe."""
    restarting = _RESTARTING.search(message)
    stopping = stopping or status == _UNLOADED
    if not (restarting or stopping or status in ("UNAVAILABLE", "CANCELLED")):
        return None
    remedy = "is the server running there?"
    if restarting:
        remedy = "a model's process is being restarted"
    elif stopping:
        remedy = "it is stopping"
    elif _UNTRUSTED.search(message):
        remedy = "its certificate isn't trusted; give the authority that signed it (`ca`, LAMR_CA)"
    elif proxy := proxy_of(address):
        remedy = f"is it running there, and does {proxy} reach it? Where it must not be used, add the host to no_proxy"
    return ServerUnavailableError(f"{address} can't be reached ({message}); {remedy}", server=address)


def closed(address: str) -> ClosedError:
    """Return the error of a call on a transport that its owner has closed."""
    return ClosedError(f"the transport to {address} is closed; make a new one")


def input_tensor(name: str, values: NDArray[Any], dtype: str, batched: bool) -> Any:
    """Return a request's tensor as an `InferInput`, with a leading 1 where the model has a batch dimension."""
    from tritonclient.grpc import InferInput  # noqa: PLC0415

    values = values[None] if batched else values
    tensor = InferInput(name, list(values.shape), dtype)
    tensor.set_data_from_numpy(values)
    return tensor


def status_of(error: Exception) -> str:
    """A status code's name; `_UNLOADED` for whatever status a model has that is unloaded, because its server stops."""
    if _NO_VERSIONS in message_of(error):
        return _UNLOADED
    return str(getattr(error, "status", lambda: "")() or "").removeprefix("StatusCode.")


def message_of(error: Exception) -> str:
    """What an error of tritonclient's or gRPC's says, fit to be repeated."""
    return said(str(getattr(error, "message", lambda: error)()))
