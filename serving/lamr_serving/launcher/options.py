"""What one can choose about a server, and the command line and environment that follow from it.

Knows Triton's flags and how its Python backend finds an interpreter; starts nothing.
"""

from __future__ import annotations

import importlib.util
import os
from dataclasses import dataclass
from pathlib import Path

from lamr_contract.cpus import usable_cpus

from lamr_serving.errors import ServerStartError
from lamr_serving.launcher.bundle import TritonBundle
from lamr_serving.launcher.ports import check_free, free_ports, join, reachable
from lamr_serving.launcher.workspace import Workspace

MIB = 1 << 20
PACKAGES = ("lamr_decoding", "lamr_contract", "lamr_serving", "numpy", "onnxruntime", "array_api_compat")
THREADS_VARIABLE = "LAMR_THREADS"


@dataclass(frozen=True)
class ServerOptions:
    """How to run a server. Ports of None are chosen free.

    Attributes:
        host: address to bind all three ports to; loopback unless you mean otherwise, since nothing is
            authenticated.
        grpc_port, http_port, metrics_port: TCP ports.
        threads: CPU threads of the encoder where its `config.pbtxt` leaves the number open; 0: all usable CPUs.
        log_file: where Triton's log goes; None: a temporary file that failures are quoted from.
        verbosity: Triton's `--log-verbose`; 0 is quiet.
        startup_timeout: seconds until the models must be ready.
        stop_timeout: seconds that requests in flight get to finish when the server stops; then it's killed.
        shared_memory_bytes, shared_memory_growth_bytes: first size and growth step of each model process's
            shared memory, through which tensors pass.
        extra_arguments: passed to `tritonserver` as they are.
    """

    host: str = "127.0.0.1"
    grpc_port: int | None = None
    http_port: int | None = None
    metrics_port: int | None = None
    threads: int = 0
    log_file: Path | None = None
    verbosity: int = 0
    startup_timeout: float = 120.0
    stop_timeout: float = 30.0
    shared_memory_bytes: int = 32 * MIB
    shared_memory_growth_bytes: int = 32 * MIB
    extra_arguments: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("startup_timeout", "stop_timeout", "shared_memory_bytes", "shared_memory_growth_bytes"):
            if getattr(self, name) <= 0:
                raise ServerStartError(f"{name} must be positive, not {getattr(self, name)}")
        if self.threads < 0 or self.verbosity < 0:
            raise ServerStartError("threads and verbosity can't be negative")


@dataclass(frozen=True)
class Addresses:
    """Where a server listens."""

    host: str
    grpc_port: int
    http_port: int
    metrics_port: int

    @property
    def grpc(self) -> str:
        """`host:port` for clients."""
        return join(self.host, self.grpc_port)

    @property
    def http(self) -> str:
        """`host:port` of the HTTP endpoint (health, metadata, inference)."""
        return join(self.host, self.http_port)

    @property
    def metrics(self) -> str:
        """`host:port`; Prometheus reads `/metrics` there."""
        return join(self.host, self.metrics_port)


def choose_addresses(options: ServerOptions) -> Addresses:
    """The given ports, checked, and free ones for the others.

    Raises:
        ServerStartError: a given port is taken or given twice.
    """
    given = {"gRPC": options.grpc_port, "HTTP": options.http_port, "metrics": options.metrics_port}
    taken = [port for port in given.values() if port is not None]
    if len(set(taken)) != len(taken):
        raise ServerStartError(f"gRPC, HTTP and metrics need three different ports, not {taken}")
    for purpose, port in given.items():
        if port is not None:
            check_free(options.host, port, purpose)
    spare = iter([port for port in free_ports(options.host, 6) if port not in taken])
    return Addresses(options.host, *(next(spare) if port is None else port for port in given.values()))


def ports_are_given(options: ServerOptions) -> bool:
    """Whether no port was left for us to choose."""
    return None not in (options.grpc_port, options.http_port, options.metrics_port)


def command(
    bundle: TritonBundle, workspace: Workspace, options: ServerOptions, addresses: Addresses
) -> list[str]:
    """The server's command line."""
    python = {
        "shm-region-prefix-name": workspace.token,
        "shm-default-byte-size": options.shared_memory_bytes,
        "shm-growth-byte-size": options.shared_memory_growth_bytes,
    }
    return [
        str(bundle.binary),
        f"--model-repository={workspace.models}",
        f"--backend-directory={workspace.backends}",
        *(f"--backend-config=python,{key}={value}" for key, value in python.items()),
        "--model-control-mode=none",
        "--disable-auto-complete-config",
        "--exit-on-error=true",
        "--strict-readiness=true",
        f"--exit-timeout-secs={max(1, int(options.stop_timeout))}",
        f"--grpc-address={addresses.host}",
        f"--grpc-port={addresses.grpc_port}",
        f"--http-address={addresses.host}",
        f"--http-port={addresses.http_port}",
        f"--metrics-address={addresses.host}",
        f"--metrics-port={addresses.metrics_port}",
        f"--log-verbose={options.verbosity}",
        *options.extra_arguments,
    ]


def environment(bundle: TritonBundle, workspace: Workspace, options: ServerOptions) -> dict[str, str]:
    """The server's environment: ours, the workspace's interpreter first on PATH, and the wheel's libraries."""
    front = {
        "PATH": [workspace.root / "bin"],
        "LD_LIBRARY_PATH": [workspace.root / "lib", bundle.libraries],
    }
    ours = {"PATH": os.defpath, **os.environ}
    searched = {
        name: os.pathsep.join([*map(str, folders), *filter(None, [ours.get(name)])])
        for name, folders in front.items()
    }
    return {
        # The decoder's products are small: its threads would wait for each other, spinning, while the encoder needs the
        # CPUs. On two cores one thread answers a loaded decoder's batch in 13 ms, two in 23.
        "OPENBLAS_NUM_THREADS": str(max(1, min(4, (options.threads or usable_cpus()) // 2))),
        # The C library's own limits give a batch's arrays back to the system and fault them in anew with the next one:
        # a tenth of a lone request's time in the decoder.
        "MALLOC_MMAP_THRESHOLD_": str(32 * MIB),
        "MALLOC_TRIM_THRESHOLD_": str(64 * MIB),
        **os.environ,
        **searched,
        THREADS_VARIABLE: str(options.threads),
        "PYTHONDONTWRITEBYTECODE": "1",  # the model repository may be an installed package or read-only
    }


def package_folders() -> list[str]:
    """The folders that hold the packages which the models import, without importing those.

    Raises:
        ServerStartError: one of them isn't installed.
    """
    folders: dict[str, None] = {}
    for package in PACKAGES:
        found = importlib.util.find_spec(package)
        if found is None or found.origin is None:
            raise ServerStartError(f"{package} is not installed; pip install 'lamr-server[serve]'")
        folders[str(Path(found.origin).parent.parent)] = None
    return list(folders)


def health_address(addresses: Addresses) -> tuple[str, int]:
    """Where this machine asks the server for its health."""
    return reachable(addresses.host), addresses.http_port
