"""The lines of a file that a session has pointed at: a search's hits, a stack trace, a compiler's or a person's words.

It knows what a search of one file prints (`120:`); `lamr_contract.scoring.named_lines` knows how texts name a line. It
knows no host.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from lamr_contract.scoring.named_lines import named_ranges

from lamr_sessions.events import Event
from lamr_sessions.tools import same_file, searched_file

RECENT = 60
"""How many events back a session still has a line in mind."""
_LONGEST = 200_000  # characters of one text; what is longer is no answer to a question about lines
_HIT = re.compile(r"^(\d{1,7}):", re.MULTILINE)
_SPEAKING = frozenset({"user", "assistant", "thought", "result"})


@dataclass(frozen=True)
class _Said:
    """A text of a session, and the one file whose lines its numbers are; empty where it isn't a search of one file."""

    text: str
    file: str


class Pointers:
    """What the latest events of a session say of lines."""

    def __init__(self) -> None:
        self._recent: deque[_Said] = deque(maxlen=RECENT)
        self._searched: dict[str, str] = {}

    def hear(self, event: Event) -> None:
        """Take in the next event."""
        if event.kind == "call":
            self._searched[event.call] = searched_file(event.tool, event.arguments)
        file = self._searched.get(event.call, "") if event.kind == "result" else ""
        text = event.text if event.kind in _SPEAKING else ""
        self._recent.append(_Said(text[:_LONGEST], file))

    def at(self, path: str) -> tuple[int, ...]:
        """The lines of a file that were pointed at, 1-based, ascending."""
        return tuple(sorted({number for said in self._recent for number in _numbers(said, path)} - {0}))


def _numbers(said: _Said, path: str) -> Iterator[int]:
    if said.file and same_file(said.file, path):
        yield from map(int, _HIT.findall(said.text))
    # A number without a path may be that of any file that the session has read.
    yield from (first for first, _ in named_ranges(said.text, path, bare=False))
