"""Which trace a request says that it belongs to: the argument's, OpenTelemetry's or the environment's."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest
from lamr_client import AsyncPruner, InvalidInputError, Pruner, load_spec
from opentelemetry import trace
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, TraceState

from tests.tiny import program

from .triton_fake import FakeTriton

QUERY = "which function computes the area?"
NAMED = "00-abababababababababababababababab-cdcdcdcdcdcdcdcd-01"
OF_THE_PROCESS = "00-33333333333333333333333333333333-4444444444444444-00"
SPAN = SpanContext(
    0x5555, 0x6666, is_remote=False, trace_flags=TraceFlags(1), trace_state=TraceState([("us", "x1")])
)
OF_THE_SPAN = f"00-{0x5555:032x}-{0x6666:016x}-01"


@pytest.fixture
def triton(repository):
    with FakeTriton(load_spec(repository)) as server:
        yield server


@pytest.fixture(params=["blocking", "asyncio"])
def prune(request, repository, triton):
    """Prunes code of several chunks, in a thread or a loop of its own."""

    def blocking(**options) -> None:
        with Pruner(triton.address, model=repository) as pruner:
            pruner.prune(QUERY, program(20), **options)

    async def asynchronous(**options) -> None:
        async with AsyncPruner(triton.address, model=repository) as pruner:
            await pruner.prune(QUERY, program(20), **options)

    return blocking if request.param == "blocking" else lambda **options: asyncio.run(asynchronous(**options))


def sent(triton: FakeTriton) -> list[tuple[str | None, str | None]]:
    """`traceparent` and `tracestate` of each call since the last look."""
    calls = [dict(metadata) for metadata in triton.metadata]
    triton.metadata.clear()
    assert len(calls) > 3
    return [(call.get("traceparent"), call.get("tracestate")) for call in calls]


def test_the_argument_comes_before_the_current_span_and_that_before_the_environment(
    prune, triton, monkeypatch
):
    prune()
    assert set(sent(triton)) == {(None, None)}
    monkeypatch.setenv("TRACEPARENT", OF_THE_PROCESS)
    monkeypatch.setenv("TRACESTATE", "them=y2")
    prune()
    assert set(sent(triton)) == {(OF_THE_PROCESS, "them=y2")}
    with trace.use_span(NonRecordingSpan(SPAN)):
        prune()
        assert set(sent(triton)) == {(OF_THE_SPAN, "us=x1")}
        prune(traceparent=NAMED)
        assert set(sent(triton)) == {(NAMED, None)}
    prune()
    assert set(sent(triton)) == {(OF_THE_PROCESS, "them=y2")}


@pytest.mark.parametrize(
    "wrong", ["", "abc", NAMED.upper(), f"{NAMED}\n", f"ff{NAMED[2:]}", f"00-{'0' * 32}-2222222222222222-01"]
)
def test_what_is_no_trace(prune, triton, monkeypatch, wrong):
    with pytest.raises(InvalidInputError, match="traceparent") as error:
        prune(traceparent=wrong, on_error="passthrough")
    assert error.value.argument == "traceparent"
    assert not triton.metadata
    monkeypatch.setenv("TRACEPARENT", wrong)
    prune()
    assert set(sent(triton)) == {(None, None)}


@pytest.mark.parametrize("state", ["x" * 513, "näh", "a\tb"])
def test_a_state_that_cannot_travel_stays_behind(prune, triton, monkeypatch, state):
    monkeypatch.setenv("TRACEPARENT", NAMED)
    monkeypatch.setenv("TRACESTATE", state)
    prune()
    assert set(sent(triton)) == {(NAMED, None)}


def test_nobody_who_has_no_opentelemetry_loads_it(repository: Path, triton):
    program = (
        "import sys; from lamr_client import Pruner\n"
        f"with Pruner({triton.address!r}, model={str(repository)!r}) as pruner: pruner.prune('area?', 'x = 1')\n"
        "print(any(name.startswith('opentelemetry') for name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
