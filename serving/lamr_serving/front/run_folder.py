"""The folder of a running front: generations of rendered files, and the sockets through which it is spoken to.

<temporary folder>/lamr-front-<user>/<hash of the tenants file's path>/
    lock                       held while a front runs
    7/haproxy.cfg, 7/*.map     what was rendered, one folder for each reload
    current                    link to the one in force
    admin.sock, master.sock    HAProxy's own
    state                      which replicas are drained or down, for the next generation
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from lamr_base.private_files import open_private, private_folder, take_lock

from lamr_serving.front.errors import FrontError, FrontStartError
from lamr_serving.front.rendering import CONFIG, FrontPaths

CURRENT = "current"
KEPT = 2  # generations: the one in force, and the one before it, which an old worker may still name
FOLDER_VARIABLE = "LAMR_FRONT_DIR"
MOST_PATH_BYTES = 80
"""Of the folder. A Unix socket's path has at most 107 bytes, and HAProxy adds a number and an ending while it binds."""


class RunFolder:
    """Where the front of one file of tenants keeps what it needs to run."""

    def __init__(self, tenants: Path) -> None:
        """Name the folder; nothing is made yet."""
        parent = os.environ.get(FOLDER_VARIABLE)
        root = Path(parent) if parent else Path(tempfile.gettempdir()) / f"lamr-front-{os.getuid()}"
        self.path = root / hashlib.sha256(str(tenants.resolve()).encode()).hexdigest()[:12]

    def make(self) -> None:
        """Make the folder."""
        if (length := len(os.fsencode(self.path))) > MOST_PATH_BYTES:
            raise FrontError(
                f"{self.path} has {length} bytes, and sockets in it need at most {MOST_PATH_BYTES}; set "
                f"{FOLDER_VARIABLE} to a folder with a shorter path"
            )
        try:
            if os.environ.get(FOLDER_VARIABLE):  # whoever named it says who may enter it
                self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            else:
                private_folder(self.path.parent)
            private_folder(self.path)
        except OSError as error:
            raise FrontError(
                f"{error.filename}: {error.strerror}; set {FOLDER_VARIABLE} to a folder of this user"
            ) from error

    def places(self, generation: int) -> FrontPaths:
        """Where the files of a generation lie."""
        return FrontPaths(self.path / str(generation), self.path)

    @property
    def current(self) -> FrontPaths:
        """The files in force."""
        folder = self.path / CURRENT
        return FrontPaths(folder.resolve() if folder.exists() else folder, self.path)

    @property
    def config(self) -> Path:
        """The path that HAProxy is started with, and reads again at each reload."""
        return self.path / CURRENT / CONFIG

    def next_generation(self) -> int:
        """A number that no generation has."""
        return (
            max((int(each.name) for each in self.path.glob("[0-9]*") if each.name.isdigit()), default=0) + 1
        )

    def put_in_force(self, folder: Path) -> None:
        """Point `current` at a generation's folder, at once."""
        link = self.path / f".{CURRENT}"
        link.unlink(missing_ok=True)
        link.symlink_to(folder.name)
        link.replace(self.path / CURRENT)

    def forget(self, folder: Path) -> None:
        """Remove a generation that didn't come into force."""
        shutil.rmtree(folder, ignore_errors=True)

    def sweep(self) -> None:
        """Remove all generations but the latest ones."""
        in_force = (self.path / CURRENT).resolve()
        numbers = sorted(int(each.name) for each in self.path.glob("[0-9]*") if each.name.isdigit())
        for number in numbers[:-KEPT]:
            if (folder := self.path / str(number)) != in_force:
                self.forget(folder)

    @contextlib.contextmanager
    def held(self, name: str = "lock") -> Iterator[None]:
        """Hold a lock of the folder."""
        descriptor = open_private(self.path / name)
        try:
            if not take_lock(descriptor):
                raise FrontStartError(
                    "a front of this file runs already, or is being reloaded; `lamr front status` shows it"
                )
            yield
        finally:
            os.close(descriptor)
