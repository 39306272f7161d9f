"""What callers see when the server isn't there, goes away, is too slow or serves something else."""

import random
import shutil
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import psutil
import pytest
from lamr_client import (
    ChunkRequest,
    DeadlineExceededError,
    GrpcTransport,
    ModelMismatchError,
    Pruner,
    ServerUnavailableError,
    bundled_repository,
    load_spec,
)
from lamr_client import triton_wire as wire
from lamr_model.names import ENSEMBLE
from lamr_serving import ModelRepositoryError, ServerStartError, TritonServer
from tritonclient.grpc import InferenceServerClient
from tritonclient.utils import InferenceServerException

from tests.counted import counted
from tests.integration.conftest import STDLIB
from tests.processes import runs
from tests.tiny import IN_FULL

QUERY = "Where is the exit status of a child decoded?"
CODE = (STDLIB / "subprocess.py").read_text(encoding="utf-8")


@pytest.mark.server
def test_server_killed_in_mid_request() -> None:
    with TritonServer(bundled_repository()) as server, Pruner(server.addresses.grpc, timeout=60) as pruner:
        assert pruner.prune(QUERY, "x = 1\n", **IN_FULL).kept_lines == (1,)
        caught: list[BaseException] = []

        def ask() -> None:
            try:
                pruner.prune(QUERY, CODE * 40, **IN_FULL)
            except BaseException as error:
                caught.append(error)

        before = counted(server.addresses.grpc)
        asking = threading.Thread(target=ask)
        asking.start()
        counted(server.addresses.grpc, before, 1, seconds=60)
        assert asking.is_alive(), "the request is still under way"
        psutil.Process(server.pid).kill()
        begin = time.monotonic()
        asking.join(45)
        assert not asking.is_alive()
        assert time.monotonic() - begin < 45
    assert [type(error) for error in caught] == [ServerUnavailableError]


@pytest.mark.server
def test_deadline(server: TritonServer) -> None:
    with Pruner(server.addresses.grpc, timeout=0.3) as pruner, pytest.raises(DeadlineExceededError):
        pruner.prune(QUERY, CODE * 20, **IN_FULL)


@pytest.mark.server
def test_deadlines_and_cancellations_of_other_clients_do_not_kill_the_server(server: TritonServer) -> None:
    # Triton 24.10 died of them within seconds when the encoder's queue had a limit (docs/lab/survival.md).
    process = psutil.Process(server.pid)
    spec = load_spec(bundled_repository())
    request = ChunkRequest(np.full(spec.chunking.window, 2000, np.int64), (8, spec.chunking.window - 1))
    endpoint = wire.ModelEndpoint(server.addresses.grpc, ENSEMBLE, batched=True, fingerprint=None)
    until = time.monotonic() + 5
    given_up: Counter[str] = Counter()

    def impatient(number: int) -> None:
        chance = random.Random(number)
        with InferenceServerClient(server.addresses.grpc) as client:
            while time.monotonic() < until:
                inputs, outputs = wire.inputs_of(request, endpoint), wire.outputs_of(request)
                calls = [
                    client.async_infer(ENSEMBLE, inputs, lambda **_: None, outputs=outputs) for _ in range(4)
                ]
                try:
                    client.infer(ENSEMBLE, inputs, outputs=outputs, client_timeout=chance.uniform(0.005, 0.2))
                except InferenceServerException as error:
                    given_up[str(error.status())] += 1
                for call in calls:
                    call.cancel()

    with ThreadPoolExecutor(24) as pool:
        for _ in pool.map(impatient, range(24)):
            pass
    assert given_up["StatusCode.DEADLINE_EXCEEDED"] > 24
    with Pruner(server.addresses.grpc, timeout=60, retries=10) as pruner:
        assert pruner.prune(QUERY, "x = 1\n", **IN_FULL).kept_lines == (1,)
    # On a busy machine a model process may stand still for so long that it ends the server by itself.
    assert server.options.log_file is not None
    assert runs(process.pid) or "stood still for" in server.options.log_file.read_text()


def test_wrong_model_name(server: TritonServer) -> None:
    transport = GrpcTransport(server.addresses.grpc, load_spec(bundled_repository()), model="lamr_none")
    with Pruner(transport=transport) as pruner, pytest.raises(ModelMismatchError, match="lamr_none"):
        pruner.prune(QUERY, CODE, **IN_FULL)


@pytest.mark.server
def test_client_files_of_another_model(server: TritonServer, tmp_path: Path) -> None:
    other = tmp_path / "lamr" / "1"
    own = bundled_repository() / "lamr" / "1"
    shutil.copytree(own, other)
    (other / "lamr.json").write_text((own / "lamr.json").read_text().replace("lamr-mini", "lamr-other"))
    with (
        Pruner(server.addresses.grpc, model=tmp_path) as pruner,
        pytest.raises(ModelMismatchError, match="lamr-other"),
    ):
        pruner.prune(QUERY, CODE, **IN_FULL)


@pytest.mark.parametrize(  # the other files: tests/serving/repository_check
    "file",
    [
        "lamr/1/scoring.npz",
        "lamr_encoder/1/model.onnx",
        "lamr_encoder/1/part.onnx",
        "lamr_encoder/1/fusion.onnx",
        "lamr_decoder/1/model.py",
    ],
)
@pytest.mark.parametrize("damage", ["missing", "truncated"])
def test_server_refuses_a_damaged_repository_and_names_the_file(
    file: str, damage: str, tmp_path: Path
) -> None:
    repository = tmp_path / "repository"
    shutil.copytree(bundled_repository(), repository)
    path = repository / file
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    left_to_triton = damage == "truncated" and path.name in ("part.onnx", "fusion.onnx", "model.py")
    with pytest.raises(ServerStartError if left_to_triton else ModelRepositoryError, match=path.name):
        TritonServer(repository).start()
