"""Copies what a client reads beside the specification: the tokenizer, and the weights of the scoring if it has any.

In a checkpoint and in a model repository they lie side by side.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from lamr_contract.names import SCORING_FILE, TOKENIZER_FILE


def copy_client_files(tokenizer: Path, folder: Path) -> None:
    """Copy a tokenizer, and the weights of the scoring beside it, into a folder; files that are there already stay.

    Raises:
        OSError: a file can't be copied.
    """
    for source, name in (
        (tokenizer, TOKENIZER_FILE),
        (tokenizer.with_name(SCORING_FILE), SCORING_FILE),
    ):
        target = folder / name
        if source.is_file() and source.resolve() != target.resolve():
            shutil.copyfile(source, target)
