"""A real HAProxy before replicas that speak Triton's protocol, on free ports of loopback."""

import io
import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import grpc
import pytest
import trustme
from lamr_base.admission import key_metadata
from lamr_model.spec import bundled_repository, load_spec
from lamr_serving.front import control
from lamr_serving.front.fleet import hash_of, make_key
from lamr_serving.front.running import Front
from lamr_serving.launcher.server_options import free_ports
from tritonclient.grpc import service_pb2, service_pb2_grpc

from tests.client.triton_fake import FakeTriton
from tests.processes import eventually

SECONDS = 90.0  # for what takes a tenth of one on an idle machine


class Replica(FakeTriton):
    """`FakeTriton` with the calls that tell whether a server is ready."""

    def __init__(self, *arguments, **options) -> None:
        super().__init__(*arguments, **options)
        self.asked_with: list[dict[str, str]] = []

    def ModelReady(self, request, context):
        if self.ready is None:
            context.abort(grpc.StatusCode.UNAVAILABLE, "exiting")
        return service_pb2.ModelReadyResponse(ready=self.ready)

    def ServerLive(self, request, context):
        return service_pb2.ServerLiveResponse(live=True)

    def ServerMetadata(self, request, context):
        return service_pb2.ServerMetadataResponse(name="triton")

    def ModelMetadata(self, request, context):
        return service_pb2.ModelMetadataResponse(name=request.name)

    def ModelInfer(self, request, context):
        self.asked_with.append(dict(context.invocation_metadata()))
        return super().ModelInfer(request, context)


@dataclass
class Site:
    """A file of tenants, and whatever a test starts around it.

    Attributes:
        keys: a key of each tenant."""

    folder: Path
    stack: ExitStack
    keys: dict[str, str] = field(default_factory=dict)
    replicas: list[Replica] = field(default_factory=list)
    port: int = 0
    operations: int = 0
    report: io.StringIO = field(default_factory=io.StringIO)

    @property
    def file(self) -> Path:
        return self.folder / "tenants.toml"

    @property
    def log(self) -> Path:
        return self.folder / "requests.jsonl"

    def write(self, tenants: dict[str, str], settings: str = "", replicas: str | None = None) -> None:
        """Write the file: for each tenant the lines of its table, and a key."""
        if not self.port:
            self.port, self.operations = free_ports("127.0.0.1", 2)
        lines = [
            "[front]",
            f'listen = "127.0.0.1:{self.port}"',
            f'operations = "127.0.0.1:{self.operations}"',
            settings,
        ]
        if replicas is None:
            for index, replica in enumerate(self.replicas):
                lines += [f"[replicas.r{index}]", f'grpc = "{replica.address}"']
        else:
            lines.append(replicas)
        for name, table in tenants.items():
            self.keys.setdefault(name, make_key()[0])
            lines += [
                f"[tenants.{name}]",
                table,
                f"[[tenants.{name}.keys]]",
                f'hash = "sha256:{hash_of(self.keys[name])}"',
            ]
        self.file.write_text("\n".join(lines) + "\n", encoding="utf-8")

    def start(self, *, wait: bool = True) -> Front:
        """Start the front, and wait until each replica is up."""
        log = self.stack.enter_context(self.log.open("ab"))
        front = self.stack.enter_context(Front(self.file, log=log, report=self.report))
        if wait:
            self.until(lambda: all(each.state == "up" for each in control.read_status(self.file).replicas))
        return front

    def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds."""
        assert eventually(holds, SECONDS), self.report.getvalue()

    def channel(self) -> grpc.Channel:
        """A channel with a connection of its own: gRPC shares connections, also with a server that was killed since."""
        options = [("grpc.use_local_subchannel_pool", 1)]
        return self.stack.enter_context(grpc.insecure_channel(f"127.0.0.1:{self.port}", options=options))

    def metadata(self, tenant: str) -> list[tuple[str, str]]:
        return list(key_metadata(self.keys[tenant]).items())

    def logged(self) -> list[dict]:
        return [json.loads(line) for line in self.log.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A place for a front; it ends with the test, and so does what runs there."""
    with ExitStack() as stack:
        # Sockets need short paths, and those of pytest's folders grow with its workers' names.
        run = stack.enter_context(tempfile.TemporaryDirectory(prefix="lamr-"))
        monkeypatch.setenv("LAMR_FRONT_DIR", run)
        yield Site(tmp_path, stack)


@pytest.fixture
def free_port() -> int:
    """A port that nothing listens on."""
    return free_ports("127.0.0.1", 1)[0]


@pytest.fixture
def replica(site: Site) -> Replica:
    """A replica of the site."""
    server = site.stack.enter_context(Replica(load_spec(bundled_repository())))
    site.replicas.append(server)
    return server


@pytest.fixture(scope="session")
def authority() -> trustme.CA:
    return trustme.CA()


def stub_of(channel: grpc.Channel) -> service_pb2_grpc.GRPCInferenceServiceStub:
    return service_pb2_grpc.GRPCInferenceServiceStub(channel)


def inference(model: str = "lamr", tokens: int = 4) -> service_pb2.ModelInferRequest:
    """A request as a client sends it, for code of so many tokens."""
    import numpy as np

    request = service_pb2.ModelInferRequest(model_name=model)
    for name, kind, values in (
        ("input_ids", "INT64", np.arange(tokens, dtype=np.int64)),
        ("document_span", "INT32", np.array([0, tokens], np.int32)),
    ):
        request.inputs.add(name=name, datatype=kind, shape=values.shape)
        request.raw_input_contents.append(values.tobytes())
    for name in ("keep", "keep_prob", "relevance"):
        request.outputs.add(name=name)
    return request
