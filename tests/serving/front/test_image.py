"""What the image for servers starts and how it ends: its own command line on the bundled Triton, and `lamr-drain`."""

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import grpc
import pytest
from lamr_client import DeadlineExceededError, LamrError, Pruner, ServerUnavailableError, bundled_repository
from lamr_serving import ServerOptions
from lamr_serving.launcher import workspace
from lamr_serving.launcher.bundle import find_bundle
from lamr_serving.launcher.server_options import free_ports
from lamr_serving.launcher.workspace import environment, package_folders
from tritonclient.grpc import service_pb2

from tests.processes import all_end, below, commanded, eventually
from tests.tiny import IN_FULL

from .conftest import stub_of
from .test_client import QUERY

pytestmark = pytest.mark.server
DOCKER = Path(__file__).resolve().parents[3] / "docker"
READY = b"\x08\x01"  # grpc.health.v1's SERVING
SECONDS = 120.0
STARTS = 3
"""Kubernetes starts a container again whose Triton a busy machine made crash (`lamr_serving.launcher.server`)."""


@dataclass
class Container:
    """A server that was started as the image starts it."""

    process: subprocess.Popen[bytes]
    grpc: str
    http: str
    log: Path

    @property
    def suffered(self) -> bool:
        """Whether a busy machine ended the server or a model's process: the tests send no signal but SIGTERM."""
        status = self.process.poll()
        return (status is not None and status < 0) or "stood still for" in self.log.read_text()

    def await_health(self) -> None:
        """Wait until the server is healthy."""
        deadline = time.monotonic() + SECONDS
        while not self.is_healthy():
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.1)

    def is_healthy(self) -> bool:
        """What Kubernetes' gRPC probes ask."""
        with grpc.insecure_channel(self.grpc) as channel:
            try:
                return channel.unary_unary("/grpc.health.v1.Health/Check")(b"", timeout=5) == READY
            except grpc.RpcError:
                return False


@contextmanager
def container(folder: Path) -> Iterator[Container]:
    (entrypoint,) = re.findall(r"^ENTRYPOINT (\[.*?\])", (DOCKER / "Dockerfile").read_text(), re.M | re.S)
    program, models, *flags = json.loads(entrypoint.replace("\\\n", "\n"))
    assert (program, models) == ("tritonserver", "--model-repository=/models")
    bundle = find_bundle()
    space = workspace.create_workspace(bundle, bundled_repository(), package_folders())
    ports = dict(zip(("grpc", "http", "metrics"), free_ports("127.0.0.1", 3), strict=True))
    log = folder / "triton.log"
    command = [
        *(str(bundle.binary), f"--model-repository={space.models}", *flags),
        f"--backend-directory={space.root / 'backends'}",
        f"--backend-config=python,shm-region-prefix-name={space.root.name}",
        *(f"--{name}-port={port}" for name, port in ports.items()),
        "--grpc-address=127.0.0.1",
    ]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [each.replace("=0.0.0.0", "=127.0.0.1") for each in command],
            env=environment(bundle, space, ServerOptions(threads=1)),
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        own = Container(process, f"127.0.0.1:{ports['grpc']}", f"127.0.0.1:{ports['http']}", log)
        yield own
    finally:
        with suppress(ProcessLookupError):  # a server that crashed leaves its models' processes
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        workspace.remove(space.root)
        os.close(space.lock)


def test_the_image_serves_and_drains_before_it_ends(tmp_path: Path) -> None:
    for starts_left in reversed(range(STARTS)):
        with container(tmp_path) as own:
            try:
                serve_and_drain(own)
            except ServerUnavailableError:  # a model's process stood still too long, and ended itself
                if not starts_left:
                    raise
                continue
            except (AssertionError, LamrError):
                if own.suffered and starts_left:
                    continue
                raise
            break


def alive(own: Container, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `lamr-alive` for a server."""
    variables = {"LAMR_HTTP": own.http, "LAMR_SERVER_PID": str(own.process.pid), "TMPDIR": str(folder)}
    command = ["sh", str(DOCKER / "alive.sh"), *arguments]
    environment = {**os.environ, **variables}
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
    )


def test_a_server_that_lost_a_models_process_is_told_to_end(tmp_path: Path) -> None:
    with container(tmp_path) as own:
        own.await_health()
        # HTTP listens a little later than gRPC
        assert eventually(lambda: not alive(own, tmp_path).returncode, SECONDS), own.log.read_text()
        assert alive(own, tmp_path, "--end").returncode == 0
        stubs = commanded(below(own.process.pid), "triton_python_backend_stub")
        stubs[0].kill()
        assert all_end(stubs[:1])
        lacking = alive(own, tmp_path)
        assert lacking.returncode == 1
        assert f"{len(stubs) - 1} of {len(stubs)} models' processes are left" in lacking.stderr
        assert own.process.poll() is None
        assert alive(own, tmp_path, "--end").returncode == 1
        own.process.wait(SECONDS)


def serve_and_drain(own: Container) -> None:
    code = "".join(f"def step_{n}(value):\n    return value * {n}\n\n" for n in range(100))
    own.await_health()
    with Pruner(own.grpc, timeout=60, retries=0) as pruner:
        expected = pruner.prune(QUERY, code, **IN_FULL).text
        with grpc.insecure_channel(own.grpc) as channel, pytest.raises(grpc.RpcError, match="restricted"):
            stub_of(channel).RepositoryModelUnload(
                service_pb2.RepositoryModelUnloadRequest(model_name="lamr"), timeout=10
            )
        with ThreadPoolExecutor(4) as pool:
            under_way = [pool.submit(pruner.prune, QUERY, code, **IN_FULL) for _ in range(4)]
            time.sleep(0.1)
            drained = subprocess.run(
                ["sh", str(DOCKER / "drain.sh"), "30"],
                env={**os.environ, "LAMR_HTTP": own.http},
                capture_output=True,
                text=True,
                timeout=SECONDS,
                check=False,
            )
        assert drained.returncode == 0, drained.stderr
        ended = [each.exception() or each.result().text for each in under_way]
        assert all(each == expected or isinstance(each, ServerUnavailableError) for each in ended)
        assert own.process.poll() is None
        with pytest.raises((ServerUnavailableError, DeadlineExceededError)):
            pruner.prune(QUERY, code, timeout=2, **IN_FULL)
        own.process.send_signal(signal.SIGTERM)
        assert own.process.wait(SECONDS) == 0, own.log.read_text()
