"""What a session knows of a file before it reads it: what its context holds of the file, and the lines that a search, a
stack trace, a compiler or a person pointed at.

It knows what a search of one file prints (`120:`); `lamr_model.scoring.named_lines` knows how texts name a line. It
knows no host.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lamr_model.scoring.named_lines import named_ranges

from lamr_agents.sessions.commands import Read
from lamr_agents.sessions.events import Event
from lamr_agents.sessions.notices import NOTE, gaps, stated
from lamr_agents.sessions.shown import framed, shown_lines
from lamr_agents.sessions.tools import same_file, searched_file, shown_by

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


class SeenResults:
    """The results that stand in a session's context."""

    def __init__(self) -> None:
        self._asked: dict[str, Event] = {}
        self._answered: list[tuple[Event, str]] = []
        self._held = 0  # place of the first result that is surely in the context

    def hear(self, event: Event) -> None:
        """Take in the next event."""
        if event.kind == "call":
            self._asked[event.call] = event
        elif event.kind == "result":
            call = self._asked.pop(event.call, None)
            if call:
                self._answered.append((call, event.text))
        elif event.kind == "compacted":
            self._answered.clear()
            self._held = 0
        elif event.kind == "cleared":
            gone = [event.call in ("", call.call) for call, _ in self._answered]
            self._held = max((place for place, went in enumerate(gone, 1) if went), default=self._held)

    def has(self, label: str) -> bool:
        """Whether a file, or an output by its name, was shown."""
        return any(
            same_file(label, name or read.path)
            for read, name, text in _naming(self._answered, label)
            if not read.ranged and (len(text) > MOST_ASIDE or NOTE in text)
        )

    def lines_of(self, path: str) -> dict[int, str]:
        """The lines of a file that its latest results show, by their numbers.

        A result in which something was left out, or whose lines have no known numbers, takes away what was known: which
        of two results shows a line last couldn't be told any more.
        """
        known: dict[int, str] = {}
        for read, name, text in _naming(self._answered[self._held :], path):
            if name or read.path != path:
                continue
            before, code, after = framed(text)
            said = stated(before, after)
            if NOTE in text or gaps(code) or said.tail:
                known.clear()
                continue
            shown = shown_lines(text)
            first = shown.first or said.first or max(read.first or 1, 1)
            known.update(enumerate(shown.lines, first))
        return known


def _naming(answered: Sequence[tuple[Event, str]], label: str) -> Iterator[tuple[Read, str, str]]:
    """The reads whose calls hold the last part of a name, each with its own name and what it showed."""
    last = re.split(r"[/\\]", label)[-1]
    for call, text in answered:
        if last in str(call.arguments):  # most name another file
            seen = shown_by(call.tool, call.arguments)
            if seen is not None:
                yield (*seen, text)
