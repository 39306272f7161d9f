"""What a session knows of a file before it reads it: whether it has been shown, and the lines that were pointed at by a
search's hits, a stack trace, a compiler's or a person's words.

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
from lamr_sessions.tools import same_file, searched_file, shown_by

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


MOST_ASIDE = 4000
"""Characters of a result that shows no file: an error, or the beginning of an output that the host put aside."""


class Seen:
    """What the session's results have shown so far."""

    def __init__(self) -> None:
        self._asked: dict[str, Event] = {}
        self._answered: list[Event] = []

    def hear(self, event: Event) -> None:
        """Take in the next event."""
        if event.kind == "compacted":
            self._answered.clear()
        elif event.kind == "call":
            self._asked[event.call] = event
        elif event.kind == "result":
            call = self._asked.pop(event.call, None)
            if call and len(event.text) > MOST_ASIDE:
                self._answered.append(call)

    def has(self, label: str) -> bool:
        """Whether a file, or an output by its name, was shown."""
        last = re.split(r"[/\\]", label)[-1]
        calls = (call for call in self._answered if last in str(call.arguments))  # most name another file
        shows = (shown_by(call.tool, call.arguments) for call in calls)
        return any(
            same_file(label, name or read.path) for read, name in filter(None, shows) if not read.ranged
        )
