"""Mocks answer by their rule and remember what they were asked, for threads and for an event loop."""

import numpy as np
import pytest
from lamr_client import (
    AsyncMockTransport,
    AsyncPruner,
    ChunkRequest,
    MockTransport,
    Pruner,
    ServerError,
    uniform_answer,
)

from tests.tiny import IN_FULL

QUERY = "Where is the timeout of a connection read from the configuration?"
CODE = "def area(width):\n    return width\n"


def test_without_a_rule_all_is_kept():
    with Pruner(transport=MockTransport()) as pruner:
        kept = pruner.prune("which?", CODE, path="a.py", **IN_FULL)
    assert kept.status == "passthrough"
    assert kept.reason.startswith("nothing was cut: every line is selected")
    assert kept.relevance is not None
    assert kept.relevance > 0.999


@pytest.mark.parametrize(("rubrics", "wanted"), [(1, True), (3, True), (2, False)])
def test_a_uniform_answer_fits_any_model(rubrics: int, wanted: bool):
    result = uniform_answer(ChunkRequest(np.arange(9), (2, 7), wanted), 0.25, rubrics)
    assert result.keep.tolist() == [0] * 5
    assert result.keep_prob.tolist() == [0.25] * 5
    assert result.relevance == 0.25
    if wanted:
        assert result.rubric_prob.shape == result.gate.shape == (5, rubrics)
        np.testing.assert_allclose(result.gate.sum(axis=1), 1, rtol=1e-6)
    else:
        assert result.rubric_prob is result.gate is None


def test_a_rule_decides_and_questions_are_remembered():
    transport = MockTransport(lambda request: uniform_answer(request, 0.125), errors=[ServerError("once")])
    with Pruner(transport=transport, timeout=30) as pruner:
        with pytest.raises(ServerError, match="once"):
            pruner.prune(QUERY, CODE, **IN_FULL)
        relevance = pruner.prune(QUERY, CODE, **IN_FULL).relevance
    assert relevance is not None
    assert relevance < 0.2
    assert len(transport.requests) == len(transport.timeouts) == 2
    assert all(0 < timeout <= 30 for timeout in transport.timeouts)
    assert (transport.most_at_once, transport.at_once, transport.closed) == (1, 0, True)


async def test_an_event_loop_has_a_mock_of_its_own():
    transport = AsyncMockTransport(errors=[ServerError("once")])
    async with AsyncPruner(transport=transport) as pruner:
        with pytest.raises(ServerError, match="once"):
            await pruner.prune("which?", CODE, **IN_FULL)
        relevance = (await pruner.prune("which?", CODE, **IN_FULL)).relevance
    assert relevance is not None
    assert relevance > 0.999
    assert (len(transport.requests), transport.cancelled, transport.closed) == (2, 0, True)
