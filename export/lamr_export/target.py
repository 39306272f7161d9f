"""The folder that an export writes: what may be replaced, and how it is replaced as a whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from lamr_model.names import SPEC_FILE

from lamr_export.errors import ExportError


def check_target(target: Path, models: Collection[str], described: Path) -> None:
    """Refuse to replace anything but an absent or empty folder, or a model repository of the same kind.

    Raises:
        ExportError: it is something else.
    """
    if not target.exists():
        return
    if not target.is_dir():
        raise ExportError(f"{target} is a file; name a folder for the model repository")
    entries = list(target.iterdir())
    strange = sorted(
        path.name for path in entries if path.is_dir() and path.name not in (*models, "__pycache__")
    )
    if entries and (strange or not (described / SPEC_FILE).is_file()):
        content = f" (it holds {', '.join(strange[:3])})" if strange else ""
        raise ExportError(
            f"{target} isn't a model repository of ours{content}; name another folder or empty it"
        )


def files_of(folder: Path) -> dict[str, int]:
    """The size of each file below a folder in bytes, by its path there."""
    return {
        path.relative_to(folder).as_posix(): path.stat().st_size
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """A folder beside the target, which takes the target's place if the block succeeds and is removed if it fails.

    Files at the top of the old repository (a README, a licence) are kept.

    Raises:
        ExportError: the target can't be written.
    """
    fresh, old = (target.parent / f".{target.name}.{os.getpid()}.{kind}" for kind in ("new", "old"))
    try:
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            fresh.mkdir()
            yield fresh
            if target.exists():
                for path in target.iterdir():
                    if path.is_file():
                        shutil.copy2(path, fresh / path.name)
                target.rename(old)
            fresh.rename(target)
        except OSError as error:
            if old.exists() and not target.exists():
                old.rename(target)
            raise ExportError(f"{target} can't be written: {error}") from error
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)
