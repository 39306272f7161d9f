"""A change of a host's settings: how it is written, and what was put in, so that it comes out to the last character."""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from lamr_contract.private_files import NoHomeError, private_folder, state_folder, write_whole

from lamr_agents.errors import SettingsError


@dataclass(frozen=True)
class Splice:
    """A piece of text that is put in.

    Attributes:
        at: before which character of the text as it was.
        text: the piece.
    """

    at: int
    text: str


def put_in(text: str, splices: Sequence[Splice]) -> str:
    """The text with the pieces, whose places rise."""
    for splice in reversed(splices):
        text = text[: splice.at] + splice.text + text[splice.at :]
    return text


def taken_out(text: str, splices: Sequence[Splice]) -> str | None:
    """The text without the pieces, where it is what `put_in` gave; None where a piece isn't in its place."""
    for splice in splices:
        end = splice.at + len(splice.text)
        if text[splice.at : end] != splice.text:
            return None
        text = text[: splice.at] + text[end:]
    return text


def without(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """The text without what lies between these places, of which none overlap."""
    for start, end in sorted(spans, reverse=True):
        text = text[:start] + text[end:]
    return text


_NAME = "installed.json"


@dataclass(frozen=True)
class Written:
    """What was put into a file.

    Attributes:
        digest: of the text that the file had then.
        splices: the pieces that were put in.
        made: how many containers were made for the entry.
        new: whether the file was made.
        folders: the folders that were made for it, the innermost first.
    """

    digest: str
    splices: tuple[Splice, ...]
    made: int
    new: bool
    folders: tuple[str, ...] = ()


def digest_of(text: str) -> str:
    """What tells a text from others."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def recall(host: str, path: Path) -> Written | None:
    """What was put into a file for a host; None where nothing is known of it."""
    found = _all().get(_key(host, path))
    try:
        return (
            Written(**{**found, "splices": tuple(Splice(**each) for each in found["splices"])})
            if found
            else None
        )
    except (TypeError, KeyError):  # another version's
        return None


def remember(host: str, path: Path, written: Written | None) -> None:
    """Keep what was put into a file; None where nothing is in it any more.

    Where nothing can be kept, the entry is found by its form later, and comes out with the blanks that it needs.
    """
    everything = {key: value for key, value in _all().items() if key != _key(host, path)}
    if written is not None:
        everything[_key(host, path)] = asdict(written)
    with contextlib.suppress(OSError, NoHomeError):
        file = state_folder() / _NAME
        if not everything:
            file.unlink(missing_ok=True)
            return
        private_folder(file.parent)
        write_whole(file, json.dumps(everything, indent=1) + "\n")


def _key(host: str, path: Path) -> str:
    return f"{host} {path.absolute()}"


def _all() -> Mapping[str, Any]:
    try:
        found = json.loads((state_folder() / _NAME).read_text(encoding="utf-8"))
    except (OSError, NoHomeError, ValueError, RecursionError):  # without it, entries are found by their form
        return {}
    return found if isinstance(found, dict) else {}


@dataclass(frozen=True)
class Change:
    """What a file of settings says, and what it is to say.

    Attributes:
        host: whose settings they are.
        path: the file.
        before, after: its text; None where there is no file. They are equal where there is nothing to do.
        written: what lamr has put in afterwards; None for nothing.
        folders: folders to remove if they are empty, the innermost first.
    """

    host: str
    path: Path
    before: str | None
    after: str | None
    written: Written | None = None
    folders: tuple[str, ...] = ()

    @property
    def diff(self) -> str:
        """The difference between both, as a unified diff; empty where there is none."""
        before, after = ((text or "").splitlines(keepends=True) for text in (self.before, self.after))
        lines = difflib.unified_diff(before, after, str(self.path), str(self.path))
        return "".join(
            line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
        )

    @property
    def is_one(self) -> bool:
        """Whether there is something to do."""
        return self.before != self.after

    def write(self) -> None:
        """Write the file whole or not at all, or remove it.

        Raises:
            SettingsError: it is read-only.
            OSError: it can't be written.
        """
        if not self.is_one:
            return
        target = self.path.resolve()  # it may be a link into a folder of dotfiles
        if target.exists() and not target.stat().st_mode & 0o222:
            raise SettingsError(f"{self.path} is read-only; make it writable first, nothing was changed")
        if self.after is None:
            self._remove(target)
            remember(self.host, self.path, None)
            return
        made = _make_folder(target.parent)
        write_whole(self.path, self.after)
        kept = self.written and replace(self.written, folders=self.written.folders or made)
        remember(self.host, self.path, kept)

    def _remove(self, target: Path) -> None:
        target.unlink()
        if self.path.is_symlink():
            self.path.unlink()
        with contextlib.suppress(OSError):  # it holds something by now
            for folder in self.folders:
                Path(folder).rmdir()


def _make_folder(folder: Path) -> tuple[str, ...]:
    """Make a folder, and return it and those above it that were made, the innermost first."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    return tuple(map(str, missing))
