"""How much of a text the encoder reads, what was read in the end, and which errors end the reading with an answer.

A line model scores all lines by itself; the encoder's chunks make the scores better, one by one. The module knows words
and errors; it reads nothing."""

from collections.abc import Sequence
from typing import get_args

from lamr_base.choices import EffortName
from lamr_base.errors import (
    AccessDeniedError,
    DeadlineExceededError,
    InvalidInputError,
    LamrError,
    MissingPackageError,
    ModelMismatchError,
    OverloadedError,
    QuotaExceededError,
    ServerError,
    ServerUnavailableError,
)
from lamr_base.records import dataclass

AUTO_CHUNKS = 32
"""The most that `auto` reads where the caller doesn't say `within`: those of which most is expected by the line model
alone, so that the same call reads the same chunks on any machine."""

LINE_MODEL, WORDS = "line model", "words"
"""What answers without the encoder: of one file the line model, in packs the words."""
TIME, SETTLED, MOST = "time", "settled", "the most of auto"
"""Why no more was read: there was no time for more, nothing more was expected of it, or `AUTO_CHUNKS` were read."""


def check_effort(effort: str, within: float | None) -> None:
    """Check what a caller says of the encoder's reading. Raises `InvalidInputError`: the effort has no such name, or
    there is no time at all."""
    if effort not in get_args(EffortName):
        efforts = ", ".join(get_args(EffortName))
        raise InvalidInputError(f"effort must be one of {efforts}, not {effort!r}", argument="effort")
    if within is not None and not within > 0:
        raise InvalidInputError(f"within must be more than 0 seconds, not {within!r}", argument="within")


class EncoderLoadingError(ServerUnavailableError):
    """Somebody else is loading the model just now, and the call hasn't the time to wait."""


DEGRADES: Sequence[tuple[type[LamrError], str | None]] = (
    (EncoderLoadingError, "encoder loading"),
    (ServerUnavailableError, "server unavailable"),
    (QuotaExceededError, None),  # the caller's own contract with a front, and waiting mends it
    (OverloadedError, "server overloaded"),
    (DeadlineExceededError, TIME),
    (AccessDeniedError, None),  # a wrong key stays wrong
    (ServerError, "encoder failed"),
    (MissingPackageError, "no onnxruntime"),
)
"""Which errors of reading end it with an answer by what was read, and how that is said; None for those that are raised.
The first row that an error is one of counts; an error that is in no row is raised."""


def why_degraded(error: LamrError) -> str | None:
    """Return in words why an error of reading leaves the answer to the line model; None where it is to be raised.

    A model's file that can't be read in this process is as good as no encoder. Every other mismatch is raised, because
    the answers of another model would be wrong."""
    if isinstance(error, ModelMismatchError):
        return None if error.path is None else "encoder damaged"
    return next((why for kind, why in DEGRADES if isinstance(error, kind)), None)


@dataclass(frozen=True)
class Effort:
    """What was read of a text; as a text it says so in a few words, such as `12 of 40 chunks; time`."""

    read: int  # the chunks that the encoder read
    chunks: int | None  # the chunks that the text has; None where it wasn't cut into chunks
    why: str = ""  # why no more was read; empty where all was, or where nothing was to be read
    alone: str = LINE_MODEL  # what answers where nothing was read

    @property
    def faulty(self) -> bool:
        """Whether a fault kept the encoder from reading, and neither the time nor the scores."""
        return self.why not in ("", TIME, SETTLED, MOST)

    def __str__(self) -> str:
        if self.chunks is not None and self.read >= self.chunks:
            return "the one chunk" if self.chunks == 1 else f"all {self.chunks:,} chunks"
        read = f"{self.read:,} of {self.chunks:,} chunks" if self.read else self.alone
        return f"{read}; {self.why}" if self.why else read
