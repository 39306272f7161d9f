"""Both gRPC transports against a real gRPC server: tensors, errors, deadlines, cancellation, reconnection."""

import asyncio
import threading
import time

import grpc
import numpy as np
import pytest
from lamr_client import (
    AccessDeniedError,
    AsyncGrpcTransport,
    AsyncPruner,
    ChunkRequest,
    DeadlineExceededError,
    GrpcTransport,
    LamrError,
    MockTransport,
    ModelMismatchError,
    OverloadedError,
    Pruner,
    QuotaExceededError,
    ServerError,
    ServerUnavailableError,
    load_spec,
    parse_connection,
)

from tests import processes
from tests.tiny import program

from .answers import answer
from .triton_fake import FakeTriton

QUERY = "which function computes the area?"


class Blocking:
    """`GrpcTransport` with the asynchronous one's form, so that both run the same tests."""

    def __init__(self, *arguments, **options):
        self._inner = GrpcTransport(*arguments, **options)

    async def infer(self, *arguments):
        return await asyncio.to_thread(self._inner.infer, *arguments)

    async def infer_many(self, *arguments):
        return await asyncio.to_thread(self._inner.infer_many, *arguments)

    async def close(self):
        await asyncio.to_thread(self._inner.close)


@pytest.fixture
def spec(repository):
    return load_spec(repository)


@pytest.fixture
def triton(spec):
    with FakeTriton(spec) as server:
        yield server


@pytest.fixture(params=[Blocking, AsyncGrpcTransport])
async def connect(request, spec):
    opened = []

    def open_one(server, **options):
        address = server.address if isinstance(server, FakeTriton) else server
        opened.append(request.param(address, spec, **options))
        return opened[-1]

    yield open_one
    for transport in opened:
        await transport.close()


@pytest.fixture
def other(spec):
    """Another model's."""
    return type(spec)(**{**vars(spec), "version": "2"})


async def left(connect, spec):
    """A transport whose server has answered once and is gone, and the server's port."""
    with FakeTriton(spec) as triton:
        transport = connect(triton)
        await transport.infer(request_of(9), 5)
    return transport, triton.port


async def under_way(transport, triton):
    """A call that the server holds."""
    triton.hold.clear()
    call = asyncio.ensure_future(transport.infer(request_of(9), 30))
    assert await asyncio.to_thread(triton.waiting.acquire, timeout=5)
    return call


def request_of(length: int, want_rubrics: bool = False) -> ChunkRequest:
    return ChunkRequest(np.arange(length, dtype=np.int64) * 3 % 50, (2, length - 1), want_rubrics)


def assert_equal(result, expected):
    np.testing.assert_array_equal(result.keep, expected.keep)
    np.testing.assert_array_equal(result.keep_prob, expected.keep_prob)
    assert (result.rubric_prob is None) == (expected.rubric_prob is None)
    if expected.rubric_prob is not None:
        np.testing.assert_array_equal(result.rubric_prob, expected.rubric_prob)
        np.testing.assert_array_equal(result.gate, expected.gate)
    assert result.relevance == pytest.approx(expected.relevance, abs=1e-7)


@pytest.mark.parametrize("batched", [False, True])
@pytest.mark.parametrize("want_rubrics", [False, True])
async def test_tensors_arrive_and_come_back(connect, spec, batched, want_rubrics):
    with FakeTriton(spec, batched=batched) as triton:
        transport = connect(triton)
        request = request_of(20, want_rubrics)
        assert_equal(await transport.infer(request, 5), answer(request))
        many = [request_of(n, want_rubrics) for n in (5, 40, 12, 300)]
        for result, one in zip(await transport.infer_many(many, 5), many, strict=True):
            assert_equal(result, answer(one))
        assert await transport.infer_many([], 5) == []
        assert {"rubric_prob" in names for names in triton.asked} == {want_rubrics}


async def test_other_model_is_refused_before_code_is_sent(connect, spec, other):
    for served, named in ((other, other.fingerprint), (None, "none")):
        with FakeTriton(served) as triton:
            transport = connect(triton)
            with pytest.raises(ModelMismatchError, match=f"{named}.*{spec.fingerprint}"):
                await transport.infer(request_of(9), 5)
            assert not triton.asked


async def test_unknown_model_name(connect, triton):
    transport = connect(triton, model="other")
    with pytest.raises(ModelMismatchError, match="no model 'other'"):
        await transport.infer(request_of(9), 5)


@pytest.mark.parametrize(
    ("status", "message", "expected"),
    [
        ("UNAVAILABLE", "[request id: <id_unknown>] Exceeds maximum queue size", OverloadedError),
        ("UNAVAILABLE", "Request timeout expired", OverloadedError),
        ("RESOURCE_EXHAUSTED", "too much", OverloadedError),
        ("UNAVAILABLE", "Socket closed", ServerUnavailableError),
        (
            "UNAVAILABLE",
            "Request for unknown model: 'lamr' has no available versions",
            ServerUnavailableError,
        ),
        ("NOT_FOUND", "Request for unknown model: 'lamr' has no available versions", ServerUnavailableError),
        # The model was there a moment ago, so the server is stopping.
        ("NOT_FOUND", "Request for unknown model: 'lamr' is not found", ServerUnavailableError),
        ("UNAUTHENTICATED", "this API key isn't known", AccessDeniedError),
        ("PERMISSION_DENIED", "this call isn't for clients", AccessDeniedError),
        ("RESOURCE_EXHAUSTED", "quota of tenant a: 3 requests in 9 s; come back in 7 s", QuotaExceededError),
        ("INVALID_ARGUMENT", "a request of 70000 bytes or more is too large; 60000 are allowed", ServerError),
        ("INVALID_ARGUMENT", "unexpected shape for input 'input_ids'", ModelMismatchError),
        ("DEADLINE_EXCEEDED", "Deadline Exceeded", DeadlineExceededError),
        ("INTERNAL", "onnx runtime error 6", ServerError),
        ("INTERNAL", "Stub process 'lamr_decoder_0_0' is not healthy.", ServerUnavailableError),
    ],
)
async def test_statuses_become_errors(connect, spec, status, message, expected):
    with FakeTriton(spec, faults=[(grpc.StatusCode[status], message)] * 2) as triton:
        transport = connect(triton)
        for call in (transport.infer(request_of(9), 5), transport.infer_many([request_of(9)] * 2, 5)):
            with pytest.raises(expected, match=triton.address) as caught:
                await call
            assert type(caught.value) is expected


@pytest.mark.parametrize(("ready", "expected"), [(False, ServerUnavailableError), (True, ModelMismatchError)])
async def test_a_server_without_the_model_is_asked_whether_it_is_ready(connect, triton, ready, expected):
    triton.ready = ready
    transport = connect(triton, model="other")
    with pytest.raises(expected):
        await transport.infer(request_of(9), 1)


async def test_a_key_travels_with_each_call(connect, triton):
    connection = parse_connection(triton.address, api_key="lamr_secret")
    assert "lamr_secret" not in repr(connection)
    transport = connect(connection)
    await transport.infer(request_of(9), 5)
    assert [dict(seen)["authorization"] for seen in triton.metadata] == ["Bearer lamr_secret"] * 2


async def test_missing_output_is_named(connect, spec):
    with FakeTriton(spec, drop=("keep_prob",)) as triton:
        transport = connect(triton)
        with pytest.raises(ModelMismatchError, match="keep_prob"):
            await transport.infer(request_of(9), 5)


async def test_nobody_there(connect, free_port):
    transport = connect(f"127.0.0.1:{free_port}")
    begin = time.monotonic()
    with pytest.raises(ServerUnavailableError, match=f"127.0.0.1:{free_port}"):
        await transport.infer(request_of(9), 10)
    assert time.monotonic() - begin < 5


async def test_deadline_is_kept_and_the_queue_told_but_never_the_wire(connect, triton):
    transport = connect(triton)
    await transport.infer(request_of(9), 5)
    triton.hold.clear()
    begin = time.monotonic()
    for call in (transport.infer(request_of(9), 0.3), transport.infer_many([request_of(9)] * 2, 0.3)):
        with pytest.raises(DeadlineExceededError):
            await call
    assert time.monotonic() - begin < 5
    for _ in range(4):
        assert await asyncio.to_thread(triton.waiting.acquire, timeout=3)
    assert triton.cancelled.acquire(timeout=3), "the first call has ended"
    assert not triton.cancelled.acquire(timeout=0.5), "the others go on, and nobody waits for them"
    triton.hold.set()
    await transport.close()
    for _ in range(3):
        assert triton.cancelled.acquire(timeout=3)
    assert triton.wire_deadlines == [None] * 4
    assert 0 < triton.queue_timeouts[0] <= 5_000_000
    assert all(0 < timeout <= 300_000 for timeout in triton.queue_timeouts[1:])


async def test_without_a_deadline_the_queue_keeps_its_own(connect, triton):
    transport = connect(triton)
    await transport.infer(request_of(9))
    assert triton.queue_timeouts == [None]


async def test_closing_lets_calls_be_answered_first(connect, triton):
    transport = connect(triton)
    call = await under_way(transport, triton)
    closing = asyncio.ensure_future(transport.close())
    await asyncio.sleep(0.1)
    triton.hold.set()
    assert_equal(await call, answer(request_of(9)))
    await closing


async def test_server_killed_in_mid_request(connect, triton):
    call = await under_way(connect(triton), triton)
    begin = time.monotonic()
    stopper = threading.Thread(target=triton.stop)
    stopper.start()
    with pytest.raises(ServerUnavailableError):
        await call
    assert time.monotonic() - begin < 8
    triton.hold.set()
    await asyncio.to_thread(stopper.join)


async def test_restarted_server_is_found_again_and_checked_again(connect, spec, other):
    transport, port = await left(connect, spec)
    with pytest.raises(ServerUnavailableError):
        await transport.infer(request_of(9), 5)
    with FakeTriton(other, port=port):
        assert await eventually(transport, ModelMismatchError)
    assert await eventually(transport, ServerUnavailableError)
    with FakeTriton(spec, port=port):
        assert await eventually(transport, None)


async def test_a_server_that_is_replaced_while_nobody_asks_is_seen(connect, spec, other):
    transport, port = await left(connect, spec)
    with FakeTriton(other, port=port) as replaced:
        errors = []
        for _ in range(3):  # the first may meet the old connection
            with pytest.raises(LamrError) as caught:
                await transport.infer(request_of(9), 5)
            errors.append(type(caught.value))
        assert errors[-1] is ModelMismatchError
        assert not replaced.asked


async def eventually(transport, expected) -> bool:
    """Whether inference ends with this error (None: well) within five seconds."""
    end = time.monotonic() + 5
    while time.monotonic() < end:
        try:
            await transport.infer(request_of(9), 1)
            found = None
        except LamrError as error:
            found = type(error)
        if found is expected:
            return True
        await asyncio.sleep(0.05)
    return False


async def test_closing_ends_calls_under_way(connect, triton):
    transport = connect(triton)
    call = await under_way(transport, triton)
    await transport.close()
    with pytest.raises(LamrError, match="closed"):
        await call
    with pytest.raises(LamrError, match="closed"):
        await transport.infer(request_of(9), 5)


async def test_cancelling_is_quick_and_never_reaches_the_server(repository, spec):
    with FakeTriton(spec) as triton:
        async with AsyncPruner(triton.address, model=repository, max_concurrency=3) as pruner:
            triton.hold.clear()
            task = asyncio.create_task(pruner.prune(QUERY, program(40)))
            for _ in range(3):
                assert await asyncio.to_thread(triton.waiting.acquire, timeout=5)
            task.cancel()
            begin = time.monotonic()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert time.monotonic() - begin < 5
            assert not triton.cancelled.acquire(timeout=0.5)
            triton.hold.set()
            assert (await pruner.prune(QUERY, program(2))).relevance is not None


async def test_a_server_that_was_reached_is_waited_for(connect, spec):
    transport, port = await left(connect, spec)
    with pytest.raises(ServerUnavailableError):
        await transport.infer(request_of(9), 5)
    call = asyncio.ensure_future(transport.infer(request_of(9), 30))
    await asyncio.sleep(1)
    assert not call.done()
    with FakeTriton(spec, port=port):
        assert_equal(await call, answer(request_of(9)))


async def test_waiting_for_a_server_keeps_the_deadline(connect, spec):
    transport, _ = await left(connect, spec)
    with pytest.raises(ServerUnavailableError):
        await transport.infer(request_of(9), 5)
    begin = time.monotonic()
    with pytest.raises(ServerUnavailableError):
        await transport.infer(request_of(9), 0.5)
    assert 0.2 < time.monotonic() - begin < 5


async def test_the_first_error_leaves_the_other_calls_alone(connect, spec):
    with FakeTriton(spec, faults=[(grpc.StatusCode.INTERNAL, "one fails")]) as triton:
        transport = connect(triton)
        with pytest.raises(ServerError, match="one fails"):
            await transport.infer_many([request_of(9)] * 4, 5)
        assert await asyncio.to_thread(processes.eventually, lambda: len(triton.asked) == 3, 60)


def test_pruning_over_grpc_equals_pruning_over_a_mock(repository, spec):
    code = program(30)
    with Pruner(model=repository, transport=MockTransport(answer)) as reference:
        expected = reference.prune(QUERY, code, path="a.py")
    overload = (grpc.StatusCode.UNAVAILABLE, "Exceeds maximum queue size")
    with (
        FakeTriton(spec, faults=[overload] * 2) as triton,
        Pruner(triton.address, model=repository) as pruner,
    ):
        result = pruner.prune(QUERY, code, path="a.py")
    assert result.text == expected.text
    assert result.kept_lines == expected.kept_lines
    assert result.line_scores == pytest.approx(expected.line_scores, abs=1e-6)


def test_dead_server_passes_through_on_demand(repository, free_port):
    with Pruner(f"127.0.0.1:{free_port}", model=repository, on_error="passthrough") as pruner:
        result = pruner.prune(QUERY, "x = 1")
    assert result.status == "passthrough"
    assert f"127.0.0.1:{free_port}" in result.reason
    assert result.reason.startswith("ServerUnavailableError")
