"""How many questions are made, and of which files. It imports little, so that the command line reads it at once."""

from __future__ import annotations

from dataclasses import dataclass

from lamr_training.records.source_files import FileLimits


@dataclass(frozen=True, kw_only=True)
class MadeSettings(FileLimits):
    """Sizes; the defaults are those of a repository.

    Attributes:
        min_lines, max_lines, max_characters: see `FileLimits`.
        per_project: most records of one package or repository.
        per_file: most records of one file.
        largest_gold: share of a file that gold lines may be; questions about most of a file teach nothing.
        tests: share of the test files that is taken.
        absent: share of records whose file holds no answer.
        windows: share of records whose file is cut to a run of paragraphs around part of the answer.
        seed: of every choice.
    """

    min_lines: int = 150
    max_lines: int = 1200
    max_characters: int = 60_000
    per_project: int = 30
    per_file: int = 3
    largest_gold: float = 0.4
    tests: float = 0.3
    absent: float = 0.0
    windows: float = 0.0
    seed: int = 0


OF_PACKAGES = MadeSettings(min_lines=60, per_project=240, per_file=4, largest_gold=0.5, absent=0.08)
"""Sizes of a corpus of packages."""
