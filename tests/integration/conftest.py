"""One real Triton on the shipped model for every integration test, and the files they prune."""

import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest
from lamr_client import Pruner, bundled_repository
from lamr_serving import ServerOptions, TritonServer

STDLIB = Path(sysconfig.get_path("stdlib"))


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TritonServer]:
    """A server as `lamr serve` runs it: a model process that a busy machine halts for 0.7 s is the end of a server.

    Its log is a file of its own, because `TritonServer.log` has only what the latest start wrote."""
    log = tmp_path_factory.mktemp("triton") / "triton.log"
    with TritonServer(bundled_repository(), ServerOptions(restart=True, log_file=log)) as running:
        yield running


@pytest.fixture(scope="session")
def served(server: TritonServer) -> Iterator[Pruner]:
    with Pruner(server.addresses.grpc, timeout=120) as pruner:
        yield pruner


@pytest.fixture(scope="session")
def in_process() -> Iterator[Pruner]:
    with Pruner(timeout=120) as pruner:
        yield pruner
