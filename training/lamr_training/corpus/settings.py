"""The sizes of a corpus. This module imports nothing, so that the command line can read its defaults at once."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class CorpusSettings:
    """Sizes of a corpus.

    Attributes:
        files_per_project: most files taken from one project; small projects give all that fit.
        queries_per_file: most records made of one file.
        min_lines: fewest lines of a file that is taken.
        max_lines: most lines of a file that is taken.
        largest_gold: largest share of a file that may be gold; questions about most of a file teach nothing.
        absent: share of records whose file holds no answer.
        windows: share of records whose file is cut to a run of paragraphs around part of the answer.
        seed: seed of every random choice.
    """

    files_per_project: int = 60
    queries_per_file: int = 4
    min_lines: int = 60
    max_lines: int = 1200
    largest_gold: float = 0.5
    absent: float = 0.08
    windows: float = 0.0
    seed: int = 0
