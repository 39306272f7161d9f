"""Where a case is tried: a folder and a home of its own, and `lamr` as a user starts it."""

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

LAMR = Path(sys.executable).with_name("lamr")
PATIENCE = 4.0
"""How much longer than on an idle machine a case may take before it counts as one that hangs."""
_PASSED = ("PATH", "LANG", "LD_LIBRARY_PATH", "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "PYTHONPATH")


@dataclass(frozen=True)
class Ran:
    """What a command did, and what it wrote."""

    code: int | None  # None where it took too long and was ended
    out: bytes
    err: bytes

    @property
    def said(self) -> str:
        """The exit code and the last line of standard error; a traceback says so."""
        lines = self.err.decode("utf-8", "backslashreplace").strip().splitlines()
        how = "hangs" if self.code is None else f"exit {self.code}"
        mark = "TRACEBACK " if b"Traceback (most recent call last)" in self.err else ""
        return f"{how}; {mark}{lines[-1] if lines else ''}".strip()


class Place:
    """A case's own empty `folder`, and a `home` that commands take for the user's."""

    def __init__(self, root: Path) -> None:
        self.folder, self.home = root / "place", root / "home"
        for folder in (self.folder, self.home):
            folder.mkdir()

    def environment(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        """The environment of a user who has just logged in."""
        return {name: os.environ[name] for name in _PASSED if name in os.environ} | {
            "HOME": str(self.home),
            **(more or {}),
        }

    def lamr(
        self,
        *arguments: str | Path,
        cwd: Path | None = None,
        send: bytes = b"",
        seconds: float = 15.0,
        variables: Mapping[str, str] | None = None,
    ) -> Ran:
        """Run `lamr`; one that takes several times `seconds` is ended."""
        return self.run(LAMR, *arguments, cwd=cwd, send=send, seconds=seconds, variables=variables)

    def run(
        self,
        *command: str | Path,
        cwd: Path | None = None,
        send: bytes = b"",
        seconds: float = 15.0,
        variables: Mapping[str, str] | None = None,
    ) -> Ran:
        """Run a command; one that takes several times `seconds` is ended."""
        try:
            done = subprocess.run(
                [str(word) for word in command],
                cwd=cwd or self.folder,
                input=send,
                capture_output=True,
                env=self.environment(variables),
                timeout=seconds * PATIENCE,
                check=False,
            )
        except subprocess.TimeoutExpired as late:
            return Ran(None, late.stdout or b"", late.stderr or b"")
        return Ran(done.returncode, done.stdout, done.stderr)

    def git(self, *arguments: str | Path, cwd: Path | None = None, send: bytes = b"") -> str:
        """Run git to prepare a repository, and return what it printed.

        Raises:
            RuntimeError: git failed."""
        who = {f"GIT_{role}_{what}": "a@b" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        ran = self.run("git", *arguments, cwd=cwd, send=send, variables=who)
        if ran.code:
            raise RuntimeError(f"git {arguments}: {ran.said}")
        return ran.out.decode().strip()
