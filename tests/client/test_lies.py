"""A server that lies: whatever it answers, the error is one of lamr's, bounded, and fit for a terminal."""

import grpc
import numpy as np
import pytest
from lamr_base.admission import MOST_WAIT_SECONDS, seconds_to_wait
from lamr_base.errors import QuotaExceededError
from lamr_client import (
    AsyncGrpcTransport,
    ChunkRequest,
    DeadlineExceededError,
    GrpcTransport,
    LamrError,
    ModelMismatchError,
    ServerError,
    load_spec,
)
from lamr_client import triton_wire as wire
from lamr_client.deadline import Deadline, Retry
from lamr_client.transport import ThreadedTransport

from .lying import infer_result
from .triton_fake import FakeTriton

M = 5
REQUEST = ChunkRequest(np.arange(9), (2, 2 + M), want_rubrics=True)
PLAIN = ChunkRequest(np.arange(9), (2, 2 + M))
HALF = np.full((1, M), 0.5, np.float32)
TRUE = {
    "keep": np.ones((1, M), np.uint8),
    "keep_prob": HALF,
    "relevance": np.full((1, 1), 0.5, np.float32),
    "rubric_prob": np.full((1, M, 2), 0.5, np.float32),
    "gate": np.full((1, M, 2), 0.5, np.float32),
}
ENDPOINT = wire.ModelEndpoint("h:1", "lamr", True, None)


def with_value(value: float) -> np.ndarray:
    changed = HALF.copy()
    changed[0, 3] = value
    return changed


LIES = {
    "strings": {"keep_prob": ("BYTES", (1, M), b"\1\0\0\0x" * M)},
    "another type": {"keep_prob": ("INT64", (1, M), HALF.tobytes())},
    "float64": {"keep_prob": HALF.astype(np.float64)},
    "no type": {"keep_prob": ("", (1, M), HALF.tobytes())},
    "a type with an escape": {"keep_prob": ("\x1b[2J", (1, M), HALF.tobytes())},
    "a huge shape": {"keep_prob": ("FP32", (1, 10**12), HALF.tobytes())},
    "a negative shape": {"keep_prob": ("FP32", (1, -1), HALF.tobytes())},
    "two negative lengths": {"rubric_prob": ("FP32", (-1, -M, 2), TRUE["gate"].tobytes())},
    "many dimensions": {"keep_prob": ("FP32", (1,) * 64 + (M,), HALF.tobytes())},
    "no dimension": {"keep_prob": ("FP32", (), HALF.tobytes())},
    "one too few": {"keep_prob": HALF[:, 1:]},
    "one too many": {"keep": np.ones((1, M + 1), np.uint8)},
    "a cut buffer": {"keep_prob": ("FP32", (1, M), HALF.tobytes()[:-1])},
    "more bytes": {"keep_prob": ("FP32", (1, M), HALF.tobytes() * 2)},
    "no byte": {"keep_prob": ("FP32", (1, M), b"")},
    "rubrics without end": {"rubric_prob": ("FP32", (1, M, 10**9), b"")},
    "two relevances": {"relevance": np.zeros((1, 2), np.float32)},
    "relevance of a document": {"relevance": HALF},
    **{
        f"keep_prob {value}": {"keep_prob": with_value(value)}
        for value in (np.nan, np.inf, -np.inf, -5, 1e30, 1.1)
    },
    "relevance NaN": {"relevance": np.full((1, 1), np.nan, np.float32)},
    "gate -1": {"gate": -TRUE["gate"]},
    "keep 255": {"keep": np.full((1, M), 255, np.uint8)},
}


def test_a_true_answer_is_read() -> None:
    result = wire.result_of(infer_result(**TRUE), REQUEST, ENDPOINT)
    assert result.keep.tolist() == [1] * M
    assert result.rubric_prob is not None
    assert result.rubric_prob.shape == (M, 2)
    flat = {name: value[0] for name, value in TRUE.items()}
    unbatched = wire.ModelEndpoint("h:1", "lamr", False, None)
    assert wire.result_of(infer_result(**flat), REQUEST, unbatched).relevance == 0.5


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_named(lie: str) -> None:
    with pytest.raises(ModelMismatchError, match="lamr at h:1 gives") as caught:
        wire.result_of(infer_result(**{**TRUE, **LIES[lie]}), REQUEST, ENDPOINT)
    assert "\x1b" not in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("name", TRUE)
def test_what_is_missing_or_doubled_is_named(name: str) -> None:
    without = {each: value for each, value in TRUE.items() if each != name}
    with pytest.raises(ModelMismatchError, match=f"gives no {name}"):
        wire.result_of(infer_result(**without), REQUEST, ENDPOINT)
    doubled = infer_result(**TRUE)
    doubled.get_response().outputs.add(name=name)
    with pytest.raises(ModelMismatchError, match="more than once, or without content"):
        wire.result_of(doubled, REQUEST, ENDPOINT)


def test_what_was_not_asked_for_is_not_read() -> None:
    lies = {**TRUE, "rubric_prob": ("FP32", (-3,), b"?"), "more": HALF}
    assert wire.result_of(infer_result(**lies), PLAIN, ENDPOINT).rubric_prob is None


class Hostile(FakeTriton):
    """A server whose answers are padded, compressed or not, and whose configuration is padded likewise."""

    compressed = trails = hangs = False
    padding = config_padding = 0

    def ModelConfig(self, request, context):
        if self.hangs:
            self.hold.wait(20)
        response = super().ModelConfig(request, context)
        response.config.parameters["more"].string_value = "x" * self.config_padding
        return response

    def ModelInfer(self, request, context):
        response = super().ModelInfer(request, context)
        if self.compressed:
            context.set_compression(grpc.Compression.Gzip)
        if self.trails:
            context.set_trailing_metadata([("x", "y" * 5000)] * 50)
        response.id = "x" * self.padding
        return response


PADDED = ({"padding": 8 << 20}, {"padding": 8 << 20, "compressed": True}, {"config_padding": 8 << 20})


@pytest.mark.parametrize("make", [GrpcTransport, AsyncGrpcTransport])
@pytest.mark.parametrize("case", PADDED)
async def test_more_than_was_asked_for_is_not_read(make, case, repository) -> None:
    spec = load_spec(repository)
    with Hostile(spec) as server:
        vars(server).update(case)
        transport = make(server.address, spec)
        transport = ThreadedTransport(transport) if isinstance(transport, GrpcTransport) else transport
        with pytest.raises(ServerError, match="more than was asked for") as caught:
            await transport.infer(PLAIN, 10)
        assert type(caught.value) is ServerError
        await transport.close()


def test_what_a_server_says_of_itself_is_bounded_too(repository) -> None:
    spec = load_spec(repository)
    loud = type("Loud", (), {"fingerprint": "\x1b[2J" * 10_000})
    for served, options, error in (
        (loud, {}, ModelMismatchError),
        (spec, {"trails": True}, LamrError),
        (spec, {"hangs": True}, DeadlineExceededError),
    ):
        with Hostile(served) as server:
            vars(server).update(options)
            server.hold.clear() if "hangs" in options else None
            transport = GrpcTransport(server.address, spec)
            with pytest.raises(error) as caught:
                transport.infer(PLAIN, 1)
            assert str(caught.value).isprintable()
            assert len(str(caught.value)) < 1000
            transport.close()


RAISED = (SystemError("x"), ValueError("Cannot invoke RPC on closed channel!"), RuntimeError(), KeyError(1))


@pytest.mark.parametrize("error", RAISED, ids=repr)
def test_whatever_grpc_raises_is_one_of_lamrs_errors(error: Exception, repository, monkeypatch) -> None:
    spec = load_spec(repository)
    with FakeTriton(spec) as server:
        transport = GrpcTransport(server.address, spec)

        def raises(*_arguments: object, **_options: object) -> None:
            raise error

        monkeypatch.setattr(transport._client, "async_infer", raises)
        with pytest.raises(ServerError, match=type(error).__name__):
            transport.infer(PLAIN, 5)
        monkeypatch.setattr(transport._client, "get_model_config", raises)
        transport._endpoint = None
        with pytest.raises(LamrError):
            transport.infer(PLAIN, 5)
        transport.close()


def test_messages_of_a_server_are_short_and_visible() -> None:
    message = "\x1b]0;owned\x07\n\u202e" + "x" * 100_000
    told = str(wire.error_of(Exception(message), "h:1", "lamr"))
    assert not set("\x1b\x07\n\u202e") & set(told)
    assert len(told) < 700


@pytest.mark.parametrize("seconds", ["1000000000", "9" * 400, "86401.5"])
def test_a_server_can_make_nobody_wait_for_ever(seconds: str) -> None:
    wait = seconds_to_wait(f"come back in {seconds} s")
    assert wait == MOST_WAIT_SECONDS
    error = QuotaExceededError("x", retry_after=wait)
    assert Retry().pause(1, error, Deadline(60)) is None
    assert Retry().pause(1, error, Deadline(None)) is None
