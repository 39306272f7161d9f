"""A command that is watched: which names it looks up, where it connects to, and what it leaves in a fresh home.

The watch is a small library that is preloaded, built by the C compiler that every machine with `make` has."""

import atexit
import functools
import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tests.attack.place import Place

_SOURCE = Path(__file__).with_name("watch.c")
_HERE = ("-", "localhost", "127.0.0.1", "::1", "0.0.0.0", "::", "::ffff:127.0.0.1")
_OWN = (".cache/lamr/", ".local/state/lamr/", ".config/lamr/", ".claude/")


@functools.cache
def library() -> Path:
    """The watching library, built once.

    Raises:
        RuntimeError: there is no C compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise RuntimeError("no C compiler")
    folder = Path(tempfile.mkdtemp(prefix="lamr-watch-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    built = folder / "watch.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", built, _SOURCE, "-ldl"], check=True)
    return built


class Watch:
    """What is preloaded into commands of a place, and what it saw."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._log = place.home.parent / "watched"

    @property
    def variables(self) -> Mapping[str, str]:
        """The environment of a command that is watched."""
        return {"LD_PRELOAD": str(library()), "LAMR_WATCH": str(self._log)}

    def said(self) -> str:
        """What left this machine, and what of others' or for others' eyes lies in the home; `nothing` if nothing."""
        lines = self._log.read_text(errors="replace").splitlines() if self._log.exists() else []
        away = sorted({line for line in lines if line.partition(" ")[2] not in _HERE})
        foreign, open_ = [], []
        for path in self._place.home.rglob("*"):
            name = str(path.relative_to(self._place.home))
            if path.is_dir() or path.is_symlink():
                continue
            if not name.startswith(_OWN):
                foreign.append(name)
            elif stat.S_IMODE(os.lstat(path).st_mode) & 0o077:
                open_.append(name)
        parts = {"away": away, "foreign": foreign, "open": open_}
        return (
            "; ".join(f"{what} {', '.join(found)[:300]}" for what, found in parts.items() if found)
            or "nothing"
        )
