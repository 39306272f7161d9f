"""Writes the pages that commands make: they show code, so that a new one is for its owner alone."""

from __future__ import annotations

import os
from pathlib import Path

from lamr_contract.files import naming


def write_page(path: Path, text: str) -> None:
    """Write a page to the file that the user named; one that is there keeps its mode, and a link is followed.

    Raises:
        OSError: it can't be written.
    """

    def owned(name: str, flags: int) -> int:
        return os.open(name, flags, 0o600)

    with (
        naming(path),
        open(path, "w", encoding="utf-8", errors="replace", newline="", opener=owned) as page,
    ):
        page.write(text)
