"""A change of a host's settings: how it is written, and what was put in, so that it comes out to the last character."""

import contextlib
import difflib
import json
import os
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from lamr_base import private_files
from lamr_base.records import dataclass

from lamr_agents.host import HostSettingsError

_RECORD, _LOCK = "installed.json", "installed.lock"
_MOST_SECONDS = 30.0  # longest wait for another run
MOST_BYTES = 4 << 20  # largest settings file that is read
UNCHANGED = "nothing was changed"


def read_settings(path: Path) -> str | None:
    """A file's text; None where there is none."""
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not stat.S_ISREG(status.st_mode) or status.st_size > MOST_BYTES:
        raise HostSettingsError(f"{path}: no file of at most {MOST_BYTES >> 20} MiB; {UNCHANGED}")
    try:
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise HostSettingsError(f"{path}: no UTF-8 ({error}); mend it first, {UNCHANGED}") from error


@dataclass(frozen=True)
class WrittenPiece:
    """A piece that was put into a file."""

    text: str  # the piece that was put in
    instead: str  # what had stood in its place
    at: int  # where, in characters
    new: bool = False  # whether the file was made
    made: int = 0  # how many containers were made for the entry
    folders: tuple[str, ...] = ()  # the folders that were made for the file, the innermost first

    def put_in(self, text: str) -> str:
        return text[: self.at] + self.text + text[self.at + len(self.instead) :]

    def taken_out(self, text: str) -> str | None:
        """The text without the piece; None where it isn't sure which one it is, or there is none."""
        at = self.at if text.startswith(self.text, self.at) else text.find(self.text)
        if at < 0 or (at != self.at and text.count(self.text) > 1):
            return None
        return text[:at] + self.instead + text[at + len(self.text) :]


def recall(host: str, path: Path) -> tuple[WrittenPiece, ...]:
    """Pieces that were put into a file for a host, the latest first; a killed run leaves an earlier one there."""
    try:
        return tuple(
            WrittenPiece(**{**each, "folders": tuple(each["folders"])})
            for each in _all().get(_key(host, path), ())
        )
    except (TypeError, KeyError):  # another version's
        return ()


def remember(
    host: str, path: Path, written: WrittenPiece | None, write: Callable[[], object] = lambda: None
) -> None:
    """Record what is put into a file and write the file, while no other run does; what killed ones left beside it goes.

    The record is written before a piece is put in, and after it was taken out, so that a run that is killed in between
    leaves a record of whatever stands there. Where nothing can be recorded, the entry is found by its form later, and
    comes out with the blanks that it needs."""
    with _locked() as folder:
        if folder is not None:
            private_files.sweep_parts(path)
        if written is None:
            write()
        if folder is not None:
            with contextlib.suppress(OSError):
                _record(folder / _RECORD, host, path, written)
        if written is not None:
            write()


@contextlib.contextmanager
def _locked() -> Iterator[Path | None]:
    """Hold the lock of all runs, and give the folder of the record; None where nothing can be kept."""
    try:
        folder = private_files.private_folder(private_files.state_folder())
        lock = _lock(folder / _LOCK)
    except (OSError, private_files.NoHomeError):
        yield None
        return
    try:
        yield folder
    finally:
        if not (folder / _RECORD).exists():
            with contextlib.suppress(OSError):  # Windows removes no open file
                (folder / _LOCK).unlink()
        os.close(lock)


def _lock(path: Path) -> int:
    deadline = time.monotonic() + _MOST_SECONDS
    while time.monotonic() < deadline:
        lock = private_files.open_private(path)
        if private_files.take_lock(lock) and os.fstat(lock).st_nlink:  # whoever held it may have removed it
            return lock
        os.close(lock)
        time.sleep(0.02)
    raise HostSettingsError(f"another run of lamr changes settings and holds {path}; try again, {UNCHANGED}")


def _record(file: Path, host: str, path: Path, written: WrittenPiece | None) -> None:
    everything = {key: value for key, value in _all().items() if key != _key(host, path)}
    if written is not None:
        earlier = [each for each in recall(host, path) if each.text != written.text]
        everything[_key(host, path)] = [asdict(each) for each in (written, *earlier)]
    private_files.sweep_parts(file)
    if everything:
        private_files.write_whole(file, json.dumps(everything, indent=1) + "\n")
    else:
        file.unlink(missing_ok=True)


def _key(host: str, path: Path) -> str:
    return f"{host} {path.absolute()}"


def _all() -> Mapping[str, Any]:
    try:
        found = json.loads((private_files.state_folder() / _RECORD).read_text(encoding="utf-8"))
    except (OSError, private_files.NoHomeError, ValueError, RecursionError):
        return {}  # without it, entries are found by their form
    return found if isinstance(found, dict) else {}


@dataclass(frozen=True)
class SettingsChange:
    """A settings file before and after a change."""

    host: str  # the host's name
    path: Path  # the file
    before: str | None  # the text; None where there is no file; equal to `after` where there is nothing to do
    after: str | None
    written: WrittenPiece | None = None  # what lamr has put in afterwards; None for nothing
    folders: tuple[str, ...] = ()  # folders to remove if they are empty, the innermost first

    @property
    def diff(self) -> str:
        before, after = ((text or "").splitlines(keepends=True) for text in (self.before, self.after))
        lines = difflib.unified_diff(before, after, str(self.path), str(self.path))
        return "".join(
            line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
        )

    @property
    def is_one(self) -> bool:
        return self.before != self.after

    def write(self) -> None:
        target = self.path.resolve()  # it may be a link into a folder of dotfiles
        if not self.is_one and self.written:
            return
        if self.is_one and target.exists() and not target.stat().st_mode & 0o222:
            raise HostSettingsError(f"{self.path} is read-only; make it writable first, {UNCHANGED}")
        made = tuple(str(each) for each in target.parents if not each.exists())
        written = self.written and replace(self.written, folders=self.written.folders or made)
        remember(self.host, self.path, written, self._write)

    def _write(self) -> None:
        target = self.path.resolve()
        if read_settings(self.path) not in {self.before, self.after}:
            raise HostSettingsError(f"{self.path} was changed meanwhile; try again, {UNCHANGED}")
        if self.after is not None:
            if self.is_one:
                target.parent.mkdir(parents=True, exist_ok=True)
                private_files.write_whole(self.path, self.after)
            return
        target.unlink(missing_ok=True)
        for folder in self.folders:
            with contextlib.suppress(OSError):  # it holds something by now
                Path(folder).rmdir()
