"""One server's temporary folder and its lock, and the command line and environment that start Triton in it.

    lamr-serving-<token>/
        lock                      held by everything that belongs to the server; free = all of it is gone
        backends/python/          the wheel's Python backend, with the stub of the running interpreter
        backends/onnxruntime/     link to our python-based backend
        pyvenv.cfg, bin/, lib/    a virtual environment that sees the packages which the models import
        models                    link to the model repository
        place/                    where the server stands, with the socket of its HTTP endpoint
        triton.log                unless a log file was named

The token is also the prefix of the server's shared memory regions, so that whatever a killed server leaves can be told
from everybody else's and removed."""

import contextlib
import importlib.util
import os
import re
import secrets
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lamr_base import children
from lamr_base.cpus import usable_cpus
from lamr_base.errors import how_to_install
from lamr_base.private_files import cache_folder, take_lock
from lamr_model.names import CONFIG_FILE

from lamr_serving.errors import ServerStartError
from lamr_serving.launcher.bundle import STUB, TritonBundle
from lamr_serving.launcher.server_options import MIB, Addresses, ServerOptions
from lamr_serving.launcher.supervisor import remove_shared_memory
from lamr_serving.onnx_backend.session import THREADS_VARIABLE

PREFIX = "lamr-serving-"
TOKEN_BYTES = 6
LOCK = "lock"
BACKENDS = Path(__file__).parents[1] / "backends"
_UNSAFE = frozenset(" \t\n'\"\\$&;|<>()*?[]#~`!{}")
"""The Python backend puts paths into a bash command, unquoted."""
NEVER_NEEDED = ("shared-memory", "trace", "logging")
SHARED_MEMORY_BYTES = 32 * MIB  # of each model process, for tensors: at first, and what it grows by
LISTENING = "http.socket"  # the file in the server's place at which Triton listens for HTTP
_OWN_PACKAGES = ("lamr_base", "lamr_model", "lamr_postprocess", "lamr_serving")
PACKAGES = (*_OWN_PACKAGES, "numpy", "onnxruntime", "tokenizers", "tree_sitter")


@dataclass(frozen=True)
class ServerWorkspace:
    """A temporary folder and the lock on it. Made by `create_workspace`."""

    root: Path
    lock: int

    @property
    def models(self) -> Path:
        return self.root / "models"

    @property
    def place(self) -> Path:
        """The server's current folder: an interpreter that Triton embeds imports from there first."""
        return self.root / "place"


def create_workspace(bundle: TritonBundle, repository: Path, packages: Sequence[str]) -> ServerWorkspace:
    """A new folder for one server, its lock held; the repository may lie where bash would trip over its path."""
    sweep()
    parents = _parents()
    if not parents:
        raise ServerStartError(
            "no folder for temporary files that programs can be loaded from; set TMPDIR to one"
        )
    root = parents[0] / f"{PREFIX}{secrets.token_hex(TOKEN_BYTES)}"
    root.mkdir(mode=0o700)
    lock = _lock(root)
    try:
        folder = root / "backends" / "python"
        folder.mkdir(parents=True)
        for source in bundle.python_backend.iterdir():
            if source.is_file():
                shutil.copyfile(source, folder / source.name)  # Triton refuses a library that links elsewhere
        (folder / STUB).symlink_to(bundle.stub)
        (root / "backends" / "onnxruntime").symlink_to(BACKENDS / "onnxruntime")
        (root / "models").symlink_to(repository.resolve())
        (root / "place").mkdir()
        _make_environment(root, packages)
        if bundle.libpython is not None:
            (root / "lib" / bundle.libpython.name).symlink_to(bundle.libpython)
    except BaseException:
        os.close(lock)
        remove(root)
        raise
    return ServerWorkspace(root, lock)


def remove(root: Path) -> None:
    """Remove a server's folder and its shared memory. Harmless when there's nothing left to remove."""
    remove_shared_memory(root.name)
    shutil.rmtree(root, ignore_errors=True)


def sweep() -> None:
    """Remove the folders of servers that are wholly gone (the machine's kill -9 leaves nobody to do it)."""
    for parent in _parents():
        for root in _own(parent):
            if in_use(root) is False:
                remove(root)


def _own(parent: Path) -> Iterator[Path]:
    """The folders in a folder that have a server's name and are this user's; those of others tell nothing."""
    name = re.compile(re.escape(PREFIX) + f"[0-9a-f]{{{2 * TOKEN_BYTES}}}")
    with contextlib.suppress(OSError), os.scandir(parent) as entries:
        for entry in entries:
            if name.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False):
                with contextlib.suppress(OSError):  # it goes meanwhile
                    if entry.stat(follow_symlinks=False).st_uid == os.geteuid():
                        yield Path(entry.path)


def in_use(root: Path) -> bool | None:
    """Whether some process still holds the folder's lock; None when that can't be told (foreign, or half made)."""
    try:
        descriptor = os.open(root / LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        return not take_lock(descriptor)
    except OSError:
        return True
    finally:
        os.close(descriptor)


def _make_environment(root: Path, packages: Sequence[str]) -> None:
    """Make `root` a virtual environment of the running interpreter, with `packages` on its path.

    The stub embeds an interpreter that ignores PYTHONPATH and user site-packages, and takes its prefix from the
    `python3` that it finds on PATH. It imports numpy before any code of ours could help it to."""
    base = Path(getattr(sys, "_base_executable", "") or sys.executable)
    site = root / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    site.mkdir(parents=True)
    (site / "lamr.pth").write_text("".join(f"{folder}\n" for folder in packages), encoding="utf-8")
    (root / "bin").mkdir()
    (root / "bin" / "python3").symlink_to(base)
    (root / "pyvenv.cfg").write_text(
        f"home = {base.parent}\ninclude-system-site-packages = false\n", encoding="utf-8"
    )


def _lock(root: Path) -> int:
    # Locked before it gets its name, so that a sweep never meets a live folder with a free lock.
    descriptor = os.open(root / f".{LOCK}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    take_lock(descriptor)  # nobody else knows the file
    (root / f".{LOCK}").rename(root / LOCK)
    return descriptor


def _parents() -> list[Path]:
    """Folders that can hold a server's folder, best first."""
    usual = [Path(tempfile.gettempdir()), Path("/tmp"), Path("/var/tmp")]
    with contextlib.suppress(RuntimeError):  # a user without a name and a home
        usual.append(cache_folder().parent)
    # Paths with such signs can't be used, nor folders that libraries can't be loaded from: many mount /tmp noexec.
    return [
        folder
        for folder in dict.fromkeys(usual)
        if not _UNSAFE.intersection(str(folder))
        and os.access(folder, os.W_OK | os.X_OK)
        and not os.statvfs(folder).f_flag & os.ST_NOEXEC
    ]


def command(
    bundle: TritonBundle, workspace: ServerWorkspace, options: ServerOptions, addresses: Addresses
) -> list[str]:
    """The server's command line. The server must be started in the workspace's `place`."""
    python = {
        "shm-region-prefix-name": workspace.root.name,
        "shm-default-byte-size": SHARED_MEMORY_BYTES,
        "shm-growth-byte-size": SHARED_MEMORY_BYTES,
    }
    return [
        str(bundle.binary),
        f"--model-repository={workspace.models}",
        f"--backend-directory={workspace.root / 'backends'}",
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
        # A number that isn't opened, but must not be another one's.
        f"--http-port={min({1, 2, 3} - {addresses.grpc_port, addresses.metrics_port})}",
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


def restrictions() -> list[str]:
    """The flags that close what a stranger could do harm with; whoever reaches the gRPC port may use everything else.

    Through shared memory a stranger could read and write any segment of the server's user, through logging and tracing
    write files and fill disks, and through the model repository unload and load models. Nobody needs these over gRPC,
    so their key holds a line break, which no header can carry. Over HTTP the repository stays open to the launcher."""
    closed = f"lamr-closed={secrets.token_hex(16)}\n"
    return [
        f"--grpc-restricted-protocol={','.join((*NEVER_NEEDED, 'model-repository'))}:{closed}",
        f"--http-restricted-api={','.join(NEVER_NEEDED)}:{closed}",
    ]


def transport_security(options: ServerOptions) -> list[str]:
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
    folders: dict[str, None] = {}
    for package in PACKAGES:
        module = importlib.util.find_spec(package)
        if module is None or module.origin is None:
            raise ServerStartError(f"{package} is not installed; {how_to_install('serve')}")
        folders[str(Path(module.origin).parent.parent)] = None
    return list(folders)
