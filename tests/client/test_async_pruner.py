"""`AsyncPruner` gives what `Pruner` gives, cancels what it started, and leaves the event loop alone."""

import asyncio
import time

import pytest
from lamr_client import (
    AsyncMockTransport,
    AsyncPruner,
    DeadlineExceededError,
    InvalidInputError,
    LamrError,
    MockTransport,
    OverloadedError,
    Pruner,
    ServerError,
    ServerUnavailableError,
)

from tests.tiny import program

from .answers import answer

QUERY = "which function computes the area?"


@pytest.mark.parametrize("transport", [AsyncMockTransport, MockTransport])
async def test_gives_what_the_blocking_one_gives(repository, transport):
    code = program(30)
    with Pruner(model=repository, transport=MockTransport(answer)) as blocking:
        expected = blocking.prune(QUERY, code, path="a.py").to_dict()
    async with AsyncPruner(model=repository, transport=transport(answer)) as pruner:
        result = (await pruner.prune(QUERY, code, path="a.py")).to_dict()
    expected.pop("timings"), result.pop("timings")
    assert result == expected


async def test_concurrency_is_bounded_over_all_calls(repository):
    transport = AsyncMockTransport(answer, delay=0.002)
    async with AsyncPruner(model=repository, transport=transport, max_concurrency=3) as pruner:
        await asyncio.gather(*(pruner.prune(QUERY, program(20 + i)) for i in range(4)))
    assert transport.most_at_once == 3
    assert transport.closed


async def test_cancelling_cancels_calls_under_way(repository):
    transport = AsyncMockTransport(answer, delay=30)
    async with AsyncPruner(model=repository, transport=transport, max_concurrency=4) as pruner:
        task = asyncio.create_task(pruner.prune(QUERY, program(40)))
        while transport.at_once < 4:
            await asyncio.sleep(0.005)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert transport.cancelled == 4
    assert transport.at_once == 0


async def test_first_error_cancels_the_others(repository):
    transport = AsyncMockTransport(answer, delay=0.05, errors=[ServerError("broken")])
    transport_delays = iter([0.01])
    original = transport.infer

    async def infer(request, timeout=None):
        transport.delay = next(transport_delays, 30)
        return await original(request, timeout)

    transport.infer = infer
    begin = time.monotonic()
    async with AsyncPruner(model=repository, transport=transport) as pruner:
        with pytest.raises(ServerError, match="broken"):
            await pruner.prune(QUERY, program(40))
    assert time.monotonic() - begin < 5
    assert transport.at_once == 0
    assert transport.cancelled > 0


async def test_event_loop_runs_on_while_a_large_file_is_tokenized(wide_repository):
    gaps = []

    async def watch():
        last = time.monotonic()
        while True:
            await asyncio.sleep(0.001)
            now = time.monotonic()
            gaps.append(now - last)
            last = now

    code = program(20_000)
    async with AsyncPruner(
        model=wide_repository, transport=AsyncMockTransport(answer), timeout=280
    ) as pruner:
        watcher = asyncio.create_task(watch())
        begin = time.monotonic()
        result = await pruner.prune(QUERY, code, language="text")
        took = time.monotonic() - begin
        watcher.cancel()
    assert result.status == "pruned"
    assert took > 0.2, "too little work to tell"
    assert max(gaps) < took / 2


async def test_retries_deadlines_and_passthrough(repository):
    transport = AsyncMockTransport(answer, errors=[OverloadedError("full"), ServerUnavailableError("gone")])
    async with AsyncPruner(model=repository, transport=transport) as pruner:
        assert (await pruner.prune(QUERY, "area = 1")).kept_lines == (1,)
    assert len(transport.requests) == 3

    slow = AsyncMockTransport(answer, delay=30)
    begin = time.monotonic()
    async with AsyncPruner(model=repository, transport=slow, on_error="passthrough") as pruner:
        with pytest.raises(DeadlineExceededError, match=r"within 0\.1 s"):
            await pruner.prune(QUERY, "area = 1", timeout=0.1, on_error="raise")
        result = await pruner.prune(QUERY, "area = 1", timeout=0.1)
        with pytest.raises(InvalidInputError, match="UTF-8"):
            await pruner.prune(QUERY, b"\xff\1\2")
    assert time.monotonic() - begin < 5
    assert (result.status, result.text) == ("passthrough", "area = 1")
    assert result.reason.startswith("DeadlineExceededError: ")
    assert slow.cancelled == 2


async def test_closed_pruner_says_so(repository):
    async with AsyncPruner(model=repository, transport=AsyncMockTransport(answer)) as pruner:
        pass
    with pytest.raises(LamrError, match="closed"):
        await pruner.prune(QUERY, "x = 1")
    await pruner.close()
