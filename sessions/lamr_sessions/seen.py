"""The files that a session has been shown, so that another look at one is told from the first.

A range shows a part of a file, so that the first look at the whole comes later. What was shown before the context was
compacted is gone.
"""

from __future__ import annotations

import re

from lamr_sessions.events import Event
from lamr_sessions.tools import same_file, shown_by

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
