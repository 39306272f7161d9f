"""Finds the bundled Triton: the server binary, its Python backend and stub, and the libraries that they need.

Everything comes from the `nvidia-pytriton` wheel. The wheel is never imported, because an import would start machinery
of its own. It starts nothing but the stub, which prints its usage."""

import importlib.metadata
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from lamr_base import children
from lamr_base.errors import how_to_install

from lamr_serving.errors import ServerStartError

INSTALL = how_to_install("serve")
DISTRIBUTION = "nvidia-pytriton"
STUB = "triton_python_backend_stub"


def check_machine() -> None:
    processor = platform.machine().lower()
    if sys.platform != "linux" or processor not in ("x86_64", "amd64"):
        raise ServerStartError(
            f"the bundled Triton runs on Linux x86-64 only, and this is {platform.system()} on {processor}; prune in "
            f"process ({how_to_install('local')}), or serve the model with a container (docs/serve.md)"
        )


@dataclass(frozen=True)
class TritonBundle:
    """The parts of an installed wheel that serving uses."""

    version: str  # the wheel's; the server says its own
    binary: Path
    python_backend: Path  # the folder of `libtriton_python.so` and `triton_python_backend_utils.py`
    stub: Path  # the process that hosts a Python model, for the running interpreter's version
    libraries: Path
    libpython: Path | None  # the interpreter's shared library where the loader might find another one or none


def find_bundle() -> TritonBundle:
    check_machine()
    wheel = importlib.util.find_spec("pytriton")
    places = list(wheel.submodule_search_locations or []) if wheel else []
    if not places:
        raise ServerStartError(f"the bundled Triton is not installed; {INSTALL}")
    check_numpy(importlib.metadata.version("numpy"))
    package = Path(places[0])
    minor = f"{sys.version_info.major}.{sys.version_info.minor}"
    server = package / "tritonserver"
    libraries = package.parent / "nvidia_pytriton.libs"
    bundle = TritonBundle(
        version=importlib.metadata.version(DISTRIBUTION),
        binary=server / "bin" / "tritonserver",
        python_backend=server / "backends" / "python",
        stub=server / "python_backend_stubs" / minor / STUB,
        libraries=libraries,
        libpython=_libpython(),
    )
    if not bundle.stub.is_file():
        known = sorted(path.parent.name for path in (server / "python_backend_stubs").glob(f"*/{STUB}"))
        raise ServerStartError(
            f"{DISTRIBUTION} {bundle.version} has no Python backend for Python {minor}; it has {', '.join(known)}"
        )
    for path in (bundle.binary, bundle.python_backend / "libtriton_python.so", libraries):
        if not path.exists():
            raise ServerStartError(
                f"{path} is missing: {DISTRIBUTION} is damaged; reinstall it with {INSTALL}"
            )
    return bundle


def check_numpy(version: str) -> None:
    """Refuse a numpy that the stub can't read: built against numpy 1, it sends arrays of numpy 2 without their data."""
    if int(version.partition(".")[0]) >= 2:
        raise ServerStartError(
            f"numpy {version} is installed, but the bundled Triton passes tensors as numpy 1 lays them out; "
            "pip install 'numpy<2', which has wheels for Python 3.10 to 3.12"
        )


def check_stub(bundle: TritonBundle, environment: dict[str, str]) -> None:
    """Run the stub without arguments. Wherever it can run at all, it prints its usage and exits with 1.

    When a library is missing, Triton itself reports an unhealthy stub, and only after half a minute."""
    if shutil.which("bash", path=environment.get("PATH", os.defpath)) is None:
        raise ServerStartError(
            "Triton's Python backend starts its processes through bash, which is not on PATH"
        )
    try:
        done = subprocess.run(
            [bundle.stub],
            cwd=children.standing_place(),
            env=environment,
            capture_output=True,
            timeout=30,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ServerStartError(f"{bundle.stub} can't run here: {error}") from error
    if done.returncode == 1:
        return
    said = done.stderr.decode(errors="replace").strip() or f"exit status {done.returncode}"
    library = f"libpython{sys.version_info.major}.{sys.version_info.minor}"
    raise ServerStartError(
        f"Triton's Python backend can't run here: {said}\n"
        f"It needs the shared library of Python itself: install {library} (Debian and Ubuntu: "
        f"apt install {library}), or use a Python that was built with --enable-shared."
    )


def _libpython() -> Path | None:
    """The shared library of the running interpreter, if it lies where the interpreter was installed."""
    name = f"libpython{sys.version_info.major}.{sys.version_info.minor}.so.1.0"
    bases = (Path(base, "lib") for base in (sys.base_prefix, sys.base_exec_prefix))
    for folder in (sysconfig.get_config_var("LIBDIR"), *bases):
        if folder and (path := Path(folder, name)).is_file():
            return path
    return None
