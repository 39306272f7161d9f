"""A case of the campaign: something that is tried, and what must be said of it. This module knows no kind of attack."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass

from tests.attack.place import Place


@dataclass(frozen=True)
class Case:
    """One thing that is tried."""

    kind: (
        str  # which promise it is about, as `docs/security.md` names it: `git`, `paths`, `lists`, `folder`, …
    )
    name: str  # what is tried, in a line
    attempt: Callable[[Place], str]  # tries it in a place of its own and returns in a few words what happened
    holds: str  # the regular expression that all of these words must match
    seconds: float = 10.0  # at most, on two idle cores; an attempt bounds itself by a multiple of it
    quick: bool = False  # whether `make test` runs it, too; for what takes a second or two

    def __str__(self) -> str:
        return f"{self.kind}: {self.name}"


@dataclass(frozen=True)
class Outcome:
    """What came of a case."""

    case: Case
    said: str  # the attempt's words, or what it raised
    held: bool  # whether they are what must be said
    seconds: float  # that it took


def outcome(case: Case, place: Place) -> Outcome:
    """Try a case in a place of its own."""
    begin = time.monotonic()
    try:
        said = case.attempt(place)
    except Exception as error:  # whatever an attempt meets is an outcome
        said = f"!!! {type(error).__name__}: {error}"
    return Outcome(
        case, said, re.fullmatch(case.holds, said, re.DOTALL) is not None, time.monotonic() - begin
    )
