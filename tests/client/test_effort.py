"""Effort and time: the line model alone, the best chunks first, an answer by then, and faults that don't take it."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from lamr_client import (
    AccessDeniedError,
    AsyncGrpcTransport,
    AsyncPruner,
    ClosedError,
    DeadlineExceededError,
    GrpcTransport,
    InvalidInputError,
    LamrError,
    MissingPackageError,
    MockTransport,
    ModelMismatchError,
    OverloadedError,
    Pruner,
    PruneResult,
    QuotaExceededError,
    ServerError,
    ServerUnavailableError,
)
from lamr_client.deadline import Attempts, Deadline, Retry, until_answered
from lamr_client.deferred import DeferredTransport
from lamr_client.effort import Effort, EncoderLoadingError, why_degraded
from lamr_client.reading_plan import Pace
from lamr_model.model_io import ChunkRequest

from tests.tiny import (
    BERT_PROMPT,
    line_weights,
    lines_scoring,
    make_spec,
    program,
    wordpiece,
    write_client_files,
)

from .answers import answer

QUERY = "which function computes the area?"
CODE = program(40)


@pytest.fixture(scope="module")
def lines(tmp_path_factory) -> Path:
    """Client files of a model that can do without its encoder, which there is none of."""
    tokenizer = wordpiece()
    spec = make_spec(tokenizer, BERT_PROMPT, scoring=lines_scoring(shares=(0.1, 0.5)))
    weights = line_weights(own=1.0, keep_prob=1.0)
    return write_client_files(tmp_path_factory.mktemp("lines"), spec, tokenizer, weights)


def prune(repository: Path, transport: MockTransport, code: str = CODE, **options) -> PruneResult:
    with Pruner(model=repository, transport=transport, retries=0) as pruner:
        return pruner.prune(QUERY, code, path="a.py", **options)


async def prune_async(repository: Path, transport: MockTransport, code: str = CODE, **options) -> PruneResult:
    async with AsyncPruner(model=repository, transport=transport, retries=0) as pruner:
        return await pruner.prune(QUERY, code, path="a.py", **options)


def prune_on_a_loop(*arguments, **options) -> PruneResult:
    return asyncio.run(prune_async(*arguments, **options))


both = pytest.mark.parametrize("call", [prune, prune_on_a_loop])


@both
def test_instant_asks_nobody(lines, call) -> None:
    transport = MockTransport(answer)
    result = call(lines, transport, effort="instant")
    assert not transport.requests
    assert str(result.effort) == "line model"
    assert result.relevance is not None
    assert result.tokens_in >= result.tokens_out > 0


@both
def test_full_reads_all_and_auto_the_same_where_everything_is_open(lines, call) -> None:
    transport = MockTransport(answer)
    full = call(lines, transport, effort="full")
    assert str(full.effort) == f"all {len(transport.requests)} chunks"
    assert len(transport.requests) > 5
    settled = call(lines, transport, threshold=1.0)
    assert str(settled.effort) == "line model; settled", "no line comes near that"
    assert full.line_scores != settled.line_scores


def test_a_text_of_one_chunk_says_so(lines) -> None:
    assert str(prune(lines, MockTransport(answer), program(1), effort="full").effort) == "the one chunk"


def test_tokens_are_estimated_closely_where_nothing_depends_on_them(lines) -> None:
    code = program(300)
    instant, full = (prune(lines, MockTransport(answer), code, effort=each) for each in ("instant", "full"))
    assert instant.tokens_in == pytest.approx(full.tokens_in, rel=0.05)
    small = prune(lines, MockTransport(answer), program(4), effort="instant")
    assert small.tokens_in == prune(lines, MockTransport(answer), program(4), effort="full").tokens_in


def test_limits_are_kept(lines) -> None:
    with Pruner(model=lines) as pruner:
        result = pruner.prune(QUERY, CODE, effort="instant", max_tokens=100, repair=False)
        assert pruner.encoder.table("o200k").count_tokens(result.text) == result.tokens_out <= 100
        small = pruner.prune(QUERY, CODE, effort="instant", min_tokens=10**6)
    assert (small.status, small.effort) == ("passthrough", None)


@pytest.mark.parametrize("budget", [{}, {"max_tokens": 300}])
def test_repair_that_would_be_late_is_left_out_and_the_result_says_so(lines, monkeypatch, budget) -> None:
    monkeypatch.setattr("lamr_client.job._LEAST_FOR_REPAIR", -1.0)
    with Pruner(model=lines) as pruner:
        late = pruner.prune(QUERY, CODE, path="a.py", effort="instant", within=1e-6, **budget)
        bare = pruner.prune(QUERY, CODE, path="a.py", effort="instant", repair=False, **budget)
        whole = pruner.prune(QUERY, CODE, path="a.py", effort="instant", **budget)
    assert "no time was left for repair" in (late.reason or "")
    assert "no time" not in (whole.reason or "") + (bare.reason or "")
    assert set(late.reasons.values()) <= {"semantic", "dependency"}
    assert 0 < len(late.kept_lines) <= len(whole.kept_lines) or budget
    if budget:
        assert late.text == bare.text
        assert late.tokens_out <= 300


def test_instant_loads_no_encoder() -> None:
    code = (
        "import sys\n"
        "from lamr_client import Pruner\n"
        "query, code = 'where is the area?', 'area = 1\\n' * 9\n"
        "for server in (None, '127.0.0.1:1'):\n"
        "    with Pruner(server) as pruner: print(pruner.prune(query, code, effort='instant').effort)\n"
        "print({'onnxruntime', 'tritonclient', 'grpc', 'asyncio'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "line model\nline model\nset()\n"


class Stuck(MockTransport):
    """Answers so many calls and never any more, until it is released."""

    def __init__(self, answers: int) -> None:
        super().__init__(answer)
        self.answers, self.released = answers, threading.Event()

    def infer(self, request: ChunkRequest, timeout: float | None = None):
        result = super().infer(request, timeout)
        if len(self.requests) > self.answers:
            self.released.wait()
        return result


@pytest.fixture
def stuck() -> Iterator[list[Stuck]]:
    made: list[Stuck] = []
    yield made
    for each in made:
        each.released.set()


@pytest.mark.parametrize(
    ("answers", "options", "said"),
    [
        (0, {"within": 0.3}, "line model; time"),
        (0, {"timeout": 0.3}, "line model; time"),
        (0, {"timeout": 0.3, "effort": "full", "within": 0.2}, "line model; time"),
        (2, {"within": 0.5}, "2 of {chunks} chunks; time"),
        (0, {"within": 0.3, "degrade": False}, "line model; time"),
    ],
)
def test_a_server_that_hangs_is_left(lines, stuck, answers, options, said) -> None:
    whole = MockTransport(answer)
    prune(lines, whole, effort="full")
    stuck.append(transport := Stuck(answers))
    pruner = Pruner(model=lines, transport=transport, retries=0, max_concurrency=1)
    result = pruner.prune(QUERY, CODE, threshold=0.5, **options)
    assert str(result.effort) == said.format(chunks=len(whole.requests))
    assert result.cuts or result.reason.startswith("nothing was cut")
    transport.released.set()
    pruner.close()


async def test_a_server_that_hangs_is_left_on_a_loop(lines, stuck) -> None:
    stuck.append(transport := Stuck(0))
    async with AsyncPruner(model=lines, transport=transport) as pruner:
        try:
            result = await pruner.prune(QUERY, CODE, threshold=0.5, within=0.3)
        finally:
            transport.released.set()
    assert str(result.effort) == "line model; time"


DEGRADING = [
    (ServerUnavailableError("gone"), "server unavailable"),
    (OverloadedError("full"), "server overloaded"),
    (EncoderLoadingError("loading"), "encoder loading"),
    (ServerError("onnxruntime failed"), "encoder failed"),
    (DeadlineExceededError("slow"), "time"),
    (MissingPackageError("none", package="onnxruntime"), "no onnxruntime"),
    (ModelMismatchError("damaged", path="model.onnx"), "encoder damaged"),
]
RAISED = [
    QuotaExceededError("used up", retry_after=9.0),
    AccessDeniedError("who?"),
    ModelMismatchError("another model", server="a:1"),
    ModelMismatchError("NaN"),
    ClosedError("closed"),
    InvalidInputError("no"),
]


@both
@pytest.mark.parametrize("effort", ["auto", "full"])
@pytest.mark.parametrize(("error", "why"), DEGRADING, ids=[why for _, why in DEGRADING])
def test_faults_leave_the_answer_to_the_line_model(lines, call, error, why, effort) -> None:
    alone = call(lines, MockTransport(answer), effort="instant")
    result = call(lines, MockTransport(errors=[error] * 99), threshold=alone.threshold, effort=effort)
    assert str(result.effort) == f"line model; {why}"
    assert result.line_scores == alone.line_scores
    late = isinstance(error, DeadlineExceededError)
    assert (str(error) in (result.reason or "")) is not late
    with pytest.raises(type(error)):
        call(lines, MockTransport(errors=[error] * 99), threshold=alone.threshold, degrade=False, within=60.0)


@both
@pytest.mark.parametrize("error", RAISED, ids=lambda error: type(error).__name__)
def test_what_the_caller_must_know_is_raised(lines, call, error) -> None:
    with pytest.raises(type(error)):
        call(lines, MockTransport(errors=[error] * 99), threshold=0.5)


def test_what_was_read_before_a_fault_counts(lines) -> None:
    class Failing(MockTransport):
        def infer(self, request: ChunkRequest, timeout: float | None = None):
            if len(self.requests) == 2:
                raise ServerUnavailableError("gone")
            return super().infer(request, timeout)

    with Pruner(model=lines, transport=Failing(answer), max_concurrency=1, retries=0) as pruner:
        result = pruner.prune(QUERY, CODE, effort="full")
    assert result.effort is not None
    assert (result.effort.read, result.effort.why) == (2, "server unavailable")
    assert str(result.effort).startswith("2 of ")


def test_every_error_has_its_place_in_the_table() -> None:
    assert why_degraded(LamrError("?")) is None
    assert why_degraded(QuotaExceededError("?", retry_after=1)) is None


def test_a_model_without_a_line_model_reads_everything(repository) -> None:
    transport = MockTransport(answer)
    result = prune(repository, transport)
    assert str(result.effort) == f"all {len(transport.requests)} chunks"
    with pytest.raises(InvalidInputError, match=r"no line model.*effort"):
        prune(repository, transport, effort="instant")
    with pytest.raises(ServerUnavailableError):
        prune(repository, MockTransport(errors=[ServerUnavailableError("gone")]))
    with pytest.raises(DeadlineExceededError):
        prune(repository, MockTransport(answer), within=1e-6)
    assert prune(repository, MockTransport(answer), within=1e-6, on_error="passthrough").text == CODE


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"effort": "lazy"}, "effort must be one of auto, instant, full, not 'lazy'"),
        ({"within": 0}, "within must be more than 0"),
        ({"within": float("nan")}, "within must be more than 0"),
    ],
)
def test_options_that_cant_be_used(lines, options, message) -> None:
    with pytest.raises(InvalidInputError, match=message):
        prune(lines, MockTransport(answer), **options)


def test_without_an_encoder_the_line_model_answers_and_says_why(lines) -> None:
    with Pruner(model=lines) as pruner:
        result = pruner.prune(QUERY, CODE, threshold=0.5)
        assert str(result.effort) == "line model; encoder damaged"
        assert result.reason is not None
        assert "decoder.npz" in result.reason
        with pytest.raises(ModelMismatchError):
            pruner.prune(QUERY, CODE, threshold=0.5, degrade=False)
        with pytest.raises(ModelMismatchError):
            pruner.warm()


def test_a_call_in_haste_doesnt_wait_for_somebody_elses_loading() -> None:
    begun, go = threading.Event(), threading.Event()

    def make() -> MockTransport:
        begun.set()
        go.wait()
        return MockTransport(answer)

    transport = DeferredTransport(make)
    assert not transport.loaded
    with pytest.raises(DeadlineExceededError):
        transport.check_time(Deadline(0.01))
    loading = threading.Thread(target=transport.warm)
    loading.start()
    begun.wait()
    with pytest.raises(EncoderLoadingError):
        transport.check_time(Deadline(60.0))
    go.set()
    loading.join()
    transport.check_time(Deadline(0.01))
    assert transport.loaded
    transport.close()


async def test_a_call_in_haste_doesnt_begin_to_load_grpc() -> None:
    transport = AsyncGrpcTransport("127.0.0.1:1")
    assert not transport.loaded
    with pytest.raises(DeadlineExceededError):
        transport.check_time(Deadline(0.01))
    transport.check_time(Deadline(60.0))
    await transport.warm()
    transport.check_time(Deadline(0.01))
    await transport.close()


def test_what_was_read_is_told_in_a_few_words() -> None:
    told = {str(Effort(*each)) for each in [(0, None), (12, 40, "time"), (40, 40), (1, 1), (0, 9, "settled")]}
    assert told == {
        "line model",
        "12 of 40 chunks; time",
        "all 40 chunks",
        "the one chunk",
        "line model; settled",
    }


def failing(*errors: LamrError):
    left = iter(errors)

    def ask(*_: object) -> None:
        raise next(left)

    return ask


GONE, LATE = ServerUnavailableError("gone"), DeadlineExceededError("late")


def test_an_attempt_that_has_too_little_time_doesnt_hide_why_the_one_before_failed() -> None:
    with pytest.raises(ServerUnavailableError):
        until_answered(failing(GONE, LATE), Attempts(Retry(2, first=0.0), Deadline(60.0)))
    with pytest.raises(DeadlineExceededError):
        until_answered(failing(LATE), Attempts(Retry(2), Deadline(60.0)))


def test_nor_does_a_connection_that_has_too_little_time(monkeypatch) -> None:
    for errors in ([GONE, LATE], [LATE]):
        transport = GrpcTransport("127.0.0.1:1")
        monkeypatch.setattr(transport, "ask_config", failing(*errors))
        with pytest.raises(type(errors[0])):
            transport.connect(Deadline(60.0))
        transport.close()


@both
def test_chunks_whose_turn_came_too_late_are_told_of(lines, call, monkeypatch) -> None:
    monkeypatch.setattr(Pace, "may_end", lambda *_: False)
    transport = MockTransport(answer)
    result = call(lines, transport, effort="full", within=600.0)
    assert str(result.effort) == "line model; time"
    assert not transport.requests


@both
def test_a_reading_for_which_there_was_never_time_is_told_of(lines, call) -> None:
    for effort in ("auto", "full"):
        transport = MockTransport(answer)
        result = call(lines, transport, effort=effort, within=1e-9)
        assert str(result.effort) == "line model; time"
        assert not transport.requests
