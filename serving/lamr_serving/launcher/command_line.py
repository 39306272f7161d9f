"""The command line and the environment that start Triton as `ServerOptions` ask for it."""

from __future__ import annotations

import importlib.util
import itertools
import os
import secrets
from pathlib import Path

from lamr_base import children
from lamr_base.cpus import usable_cpus
from lamr_base.errors import how_to_install
from lamr_model.names import CONFIG_FILE

from lamr_serving.errors import ServerStartError
from lamr_serving.launcher.addresses import Addresses
from lamr_serving.launcher.bundle import TritonBundle
from lamr_serving.launcher.server_options import MIB, ServerOptions
from lamr_serving.launcher.workspace import ServerWorkspace
from lamr_serving.onnx_backend.session import THREADS_VARIABLE

NEVER_NEEDED = ("shared-memory", "trace", "logging")
SHARED_MEMORY_BYTES = (
    32 * MIB
)  # of each model process, through which tensors pass: at first, and what it grows by
LISTENING = "http.socket"
"""The file in the server's place at which Triton listens for HTTP."""
_OWN_PACKAGES = ("lamr_base", "lamr_model", "lamr_postprocess", "lamr_serving")
PACKAGES = (*_OWN_PACKAGES, "numpy", "onnxruntime", "tokenizers", "tree_sitter")


def command(
    bundle: TritonBundle, workspace: ServerWorkspace, options: ServerOptions, addresses: Addresses
) -> list[str]:
    """The server's command line. The server must be started in the workspace's `place`."""
    python = {
        "shm-region-prefix-name": workspace.token,
        "shm-default-byte-size": SHARED_MEMORY_BYTES,
        "shm-growth-byte-size": SHARED_MEMORY_BYTES,
    }
    return [
        str(bundle.binary),
        f"--model-repository={workspace.models}",
        f"--backend-directory={workspace.backends}",
        *(f"--backend-config=python,{key}={value}" for key, value in python.items()),
        "--model-control-mode=explicit",  # so that the ensemble can be unloaded before the end, which drains it
        *(f"--load-model={file.parent.name}" for file in sorted(workspace.models.glob(f"*/{CONFIG_FILE}"))),
        *restrictions(),
        "--disable-auto-complete-config",
        "--exit-on-error=true",
        "--strict-readiness=true",
        f"--exit-timeout-secs={max(1, int(options.stop_timeout))}",
        f"--grpc-address={addresses.grpc.rpartition(':')[0]}",
        f"--grpc-port={addresses.grpc_port}",
        # A socket in a folder of the user's own: Triton's HTTP server dies of very many chunks and very deep JSON.
        f"--http-address=unix:{LISTENING}",
        f"--http-port={unused_port(addresses)}",
        # A variable of the environment would switch Vertex AI on, with a port of its own and no restrictions.
        *("--allow-http=true", "--allow-grpc=true", "--allow-sagemaker=false", "--allow-vertex-ai=false"),
        # Triton's HTTP server would read a bare IPv6 address as one of IPv4.
        f"--metrics-address={'ipv6:' * (':' in addresses.metrics_host)}{addresses.metrics_host}",
        f"--metrics-port={addresses.metrics_port}",
        # So many finished requests are kept for the next ones, each with the memory of its largest tensors.
        "--grpc-infer-allocation-pool-size=1",
        f"--log-verbose={options.verbosity}",
        *transport_security(options),
        *options.extra_arguments,
    ]


def unused_port(addresses: Addresses) -> int:
    """A number for the HTTP port, which isn't opened, but must not be another one's."""
    taken = (addresses.grpc_port, addresses.metrics_port)
    return next(port for port in itertools.count(1) if port not in taken)


def restrictions() -> list[str]:
    """The flags that close what a stranger could do harm with; whoever reaches the gRPC port may use everything else.

    Through shared memory a stranger could read and write any segment of the server's user, through logging and tracing
    write files and fill disks, and through the model repository unload and load models. Nobody needs these over gRPC,
    so their key holds a line break, which no header can carry. Over HTTP the repository stays open to the launcher.
    """
    closed = f"lamr-closed={secrets.token_hex(16)}\n"
    return [
        f"--grpc-restricted-protocol={','.join((*NEVER_NEEDED, 'model-repository'))}:{closed}",
        f"--http-restricted-api={','.join(NEVER_NEEDED)}:{closed}",
    ]


def transport_security(options: ServerOptions) -> list[str]:
    """The flags that encrypt the gRPC port; none without a certificate."""
    if options.tls_cert is None or options.tls_key is None:
        return []
    flags = [
        "--grpc-use-ssl=true",
        f"--grpc-server-cert={options.tls_cert.absolute()}",
        f"--grpc-server-key={options.tls_key.absolute()}",
    ]
    if options.tls_client_ca is not None:
        flags += ["--grpc-use-ssl-mutual=true", f"--grpc-root-cert={options.tls_client_ca.absolute()}"]
    return flags


def environment(bundle: TritonBundle, workspace: ServerWorkspace, options: ServerOptions) -> dict[str, str]:
    """The server's environment: this process's, with the workspace's interpreter and the wheel's libraries in front."""
    in_front = {
        "PATH": [workspace.root / "bin"],
        "LD_LIBRARY_PATH": [workspace.root / "lib", bundle.libraries],
    }
    inherited = {"PATH": os.defpath, **children.environment()}
    searched = {
        name: os.pathsep.join([*map(str, folders), *filter(None, [inherited.get(name)])])
        for name, folders in in_front.items()
    }
    return {
        # The decoder's products are small: its threads would spin while they wait for each other, and the encoder needs
        # the CPUs. On two cores one thread answers a loaded decoder's batch in 13 ms, two threads in 23 ms.
        "OPENBLAS_NUM_THREADS": str(max(1, min(4, (options.threads or usable_cpus()) // 2))),
        # With the C library's own limits a batch's arrays go back to the system and are faulted in again for the next
        # batch, which takes a tenth of a lone request's time in the decoder.
        "MALLOC_MMAP_THRESHOLD_": str(32 * MIB),
        "MALLOC_TRIM_THRESHOLD_": str(64 * MIB),
        **inherited,
        **searched,
        THREADS_VARIABLE: str(options.threads),
        "PYTHONDONTWRITEBYTECODE": "1",  # the model repository may be an installed package or read-only
    }


def package_folders() -> list[str]:
    """The folders that hold the packages which the models import. The packages aren't imported here."""
    folders: dict[str, None] = {}
    for package in PACKAGES:
        module = importlib.util.find_spec(package)
        if module is None or module.origin is None:
            raise ServerStartError(f"{package} is not installed; {how_to_install('serve')}")
        folders[str(Path(module.origin).parent.parent)] = None
    return list(folders)
