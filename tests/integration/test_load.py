"""Many chunks at once: Triton forms batches, and nobody's answer depends on the company it was computed in."""

import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from lamr_client import ChunkRequest, GrpcTransport, PromptEncoder, bundled_repository
from lamr_serving import TritonServer

from tests.counted import MODELS, counted
from tests.integration.conftest import STDLIB

REQUESTS = 64


def _requests() -> list[ChunkRequest]:
    """64 chunks of different lengths out of a real file."""
    encoder = PromptEncoder.from_repository(bundled_repository())
    ids, _ = encoder.encode_document((STDLIB / "subprocess.py").read_text(encoding="utf-8"))
    query = encoder.encode_query("How is a child process waited for with a timeout?")
    room = min(encoder.spec.chunking.tokens, encoder.code_room(len(query)))
    before = encoder.chunk(query, ids[:1], np.array([[0, 1]]), "x")[0]
    span = before.document_span
    lengths = np.linspace(1, room, REQUESTS).astype(int)
    assert len(set(lengths)) == REQUESTS
    made = []
    for start, length in zip(np.linspace(0, len(ids) - room, REQUESTS).astype(int), lengths, strict=True):
        code = ids[start : start + length]
        whole = np.concatenate([before.input_ids[: span[0]], code, before.input_ids[span[1] :]])
        made.append(ChunkRequest(whole, (span[0], span[0] + length), want_rubrics=True))
    return made


@pytest.fixture
def patient(tmp_path: Path) -> Iterator[TritonServer]:
    """A server that refuses no chunk for its wait, however slow the machine is."""
    repository = Path(shutil.copytree(bundled_repository(), tmp_path / "repository"))
    config = repository / "lamr_encoder" / "config.pbtxt"
    limited = config.read_text("utf-8")
    waiting = limited.replace("default_timeout_microseconds: 2000000", "default_timeout_microseconds: 0")
    assert waiting != limited
    config.write_text(waiting, "utf-8")
    with TritonServer(repository) as server:
        yield server


@pytest.mark.server
def test_64_at_once_are_batched_and_equal_to_one_by_one(patient: TritonServer) -> None:
    requests = _requests()
    with GrpcTransport(patient.addresses.grpc) as transport:
        warmed = counted(patient.addresses.grpc)
        with ThreadPoolExecutor(REQUESTS) as pool:
            together = list(pool.map(lambda request: transport.infer(request, 120), requests))
        models = counted(patient.addresses.grpc, warmed, REQUESTS)
        alone = [transport.infer(request, 120) for request in requests]
    for name in MODELS:
        requested = models[name].requests - warmed[name].requests  # warm-up at load counts too
        mean = requested / (models[name].executions - warmed[name].executions)
        print(f"{name}: {requested} requests, mean batch {mean:.2f}")
        assert requested == REQUESTS
        assert models[name].failures == 0
        assert mean > 1.5
    for request, one, other in zip(requests, together, alone, strict=True):
        assert len(one.keep) == request.document_span[1] - request.document_span[0]
        np.testing.assert_array_equal(one.keep, other.keep)
        np.testing.assert_allclose(one.keep_prob, other.keep_prob, atol=1e-4)
        np.testing.assert_allclose(one.rubric_prob, other.rubric_prob, atol=1e-4)
        assert one.relevance == pytest.approx(other.relevance, abs=1e-4)
