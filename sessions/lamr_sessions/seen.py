"""The files that a session has been shown, so that another look at one is told from the first.

A range shows a part of a file, so that the first look at the whole comes later. What was shown before the context was
compacted is gone.
"""

from __future__ import annotations

from lamr_sessions.events import Event
from lamr_sessions.tools import same_file, shown_by

MOST_ASIDE = 4000
"""Characters of a result that shows no file: an error, or the beginning of an output that the host put aside."""


class Seen:
    """What the session's results have shown so far."""

    def __init__(self) -> None:
        self._asked: dict[str, str] = {}
        self._shown: list[str] = []

    def hear(self, event: Event) -> None:
        """Take in the next event."""
        if event.kind == "compacted":
            self._shown.clear()
        elif event.kind == "call":
            shows = shown_by(event.tool, event.arguments)
            if shows and not shows[0].ranged:
                self._asked[event.call] = shows[1] or shows[0].path
        elif event.kind == "result":
            label = self._asked.pop(event.call, "")
            if label and len(event.text) > MOST_ASIDE:
                self._shown.append(label)

    def has(self, label: str) -> bool:
        """Whether a file, or an output by its name, was shown."""
        return any(same_file(label, other) for other in self._shown)
