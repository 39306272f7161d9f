"""One server's temporary folder: what Triton needs on disk, and the lock that says the folder is in use.

    lamr-serving-<token>/
        lock                      held by everything that belongs to the server; free = all of it is gone
        backends/python/          the wheel's Python backend, with the stub of the running interpreter
        backends/onnxruntime/     link to our python-based backend
        pyvenv.cfg, bin/, lib/    a virtual environment that sees the packages which the models import
        models                    link to the model repository
        place/                    where the server stands, with the socket of its HTTP endpoint
        triton.log                unless a log file was named

The token is also the prefix of the server's shared memory regions, so that whatever a killed server leaves can be told
from everybody else's and removed.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lamr_base.private_files import cache_folder, take_lock

from lamr_serving.errors import ServerStartError
from lamr_serving.launcher.bundle import STUB, TritonBundle
from lamr_serving.launcher.supervisor import remove_shared_memory

PREFIX = "lamr-serving-"
TOKEN_BYTES = 6
LOCK = "lock"
BACKENDS = Path(__file__).parents[1] / "backends"
_UNSAFE = frozenset(" \t\n'\"\\$&;|<>()*?[]#~`!{}")
"""The Python backend puts paths into a bash command, unquoted."""


@dataclass(frozen=True)
class ServerWorkspace:
    """A temporary folder and the lock on it. Made by `create_workspace`."""

    root: Path
    lock: int

    @property
    def token(self) -> str:
        """Names this server's folder and shared memory."""
        return self.root.name

    @property
    def backends(self) -> Path:
        return self.root / "backends"

    @property
    def models(self) -> Path:
        return self.root / "models"

    @property
    def place(self) -> Path:
        """Where the server stands: an interpreter that Triton embeds imports from the current folder first."""
        return self.root / "place"

    @property
    def log(self) -> Path:
        return self.root / "triton.log"


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
    `python3` that it finds on PATH. It imports numpy before any code of ours could help it to.
    """
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
