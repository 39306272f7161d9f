"""A change of a host's settings: what a file says, what it is to say, and how it is written."""

from __future__ import annotations

import contextlib
import difflib
from dataclasses import dataclass, replace
from pathlib import Path

from lamr_contract.private_files import write_whole

from lamr_agents.errors import SettingsError
from lamr_agents.installing.record import Written, remember


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
