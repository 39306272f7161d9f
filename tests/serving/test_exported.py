"""The server serves what the exporter writes, here a random causal model with one rubric."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from lamr_client import ChunkRequest, GrpcTransport, InProcessTransport, LamrError
from lamr_export import export_repository, verify
from lamr_serving import ServerOptions, TritonServer

from tests.export.conftest import TEXTS, write_checkpoint
from tests.export.models import VOCAB
from tests.traces import traced_once

pytestmark = pytest.mark.server


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    folder = tmp_path_factory.mktemp("exported")
    checkpoint = write_checkpoint("swepruner", folder / "checkpoint")
    with traced_once(tmp_path_factory), pytest.MonkeyPatch.context() as patch:
        patch.setattr(verify, "LONGEST", 256)
        export_repository(checkpoint, folder / "repository", texts=TEXTS)
    return folder / "repository"


def test_server_and_process_agree_and_a_bad_chunk_fails_alone(repository):
    rng = np.random.default_rng(5)
    chunks = []
    for length in rng.integers(2, 64, 24):
        start = int(rng.integers(0, length - 1))
        span = (start, int(rng.integers(start + 1, length + 1)))
        chunks.append(ChunkRequest(rng.integers(0, VOCAB, length), span))
    outside = ChunkRequest(np.array([1, VOCAB + 1000, 2]), (0, 3))
    expected = InProcessTransport(repository, threads=1).infer_many(chunks)
    with (
        TritonServer(repository, ServerOptions(threads=1)) as server,
        GrpcTransport(server.addresses.grpc) as transport,
        ThreadPoolExecutor(25) as pool,
    ):
        bad = pool.submit(transport.infer, outside, 60)
        answers = list(pool.map(lambda chunk: transport.infer(chunk, 60), chunks))
        with pytest.raises(LamrError, match="finite"):  # the graph makes NaN of an unknown id's chunk
            bad.result()
    for answer, wanted in zip(answers, expected, strict=True):
        np.testing.assert_array_equal(answer.keep, wanted.keep)
        np.testing.assert_allclose(answer.keep_prob, wanted.keep_prob, atol=1e-4)
        assert answer.relevance == pytest.approx(wanted.relevance, abs=1e-4)
