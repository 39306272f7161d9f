"""How much of a repository's best chunks the encoder may read, and what was read. This module reads nothing."""

from __future__ import annotations

from dataclasses import dataclass, field

from lamr_client.deadline import Deadline
from lamr_contract.choices import EffortName

READING_SECONDS = 5.0
"""That the encoder reads where the effort is `auto` and the caller doesn't say `within`; loading it isn't counted."""


@dataclass(frozen=True)
class Reading:
    """How much of the chosen chunks the encoder reads.

    Attributes:
        effort, degrade: see `PackOptions`.
        until: when its answers must be there. Without an end, `auto` reads for `READING_SECONDS` from when the model is
            loaded.
    """

    effort: EffortName = "full"
    degrade: bool = False
    until: Deadline = field(default_factory=lambda: Deadline(None))

    def seconds(self) -> float | None:
        """Return the seconds that the encoder has from now on; None where it reads everything."""
        left = self.until.seconds()
        if left is not None:
            return max(left, 0.0)
        return READING_SECONDS if self.effort == "auto" else None


@dataclass(eq=False)
class JudgeCount:
    """What was read.

    Attributes:
        chosen: the chunks that hold the best candidates.
        chunks: how many of them were judged.
        cached: how many of these were found in the cache.
        why: why no more was judged; empty where all chosen ones were.
        trouble: the fault that kept the encoder from reading, in a sentence; empty without one.
        query_read: what the model read of a question that is too long for it; None where it read all.
    """

    chosen: int = 0
    chunks: int = 0
    cached: int = 0
    why: str = ""
    trouble: str = ""
    query_read: str | None = None
