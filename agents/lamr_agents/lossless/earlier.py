"""What a session was shown already, so that the same lines need not be shown again while they stand in its context."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lamr_agents.lossless.rows import Row, marked, size
from lamr_agents.words import SHOWN_ABOVE


@dataclass(frozen=True)
class Context:
    """One agent's context; a sub-agent has one of its own.

    Attributes:
        session: the name under which its reads are recorded: the host's for the session, followed by `/` and the
            agent's for a sub-agent.
        since: when it was last compacted, in seconds since 1970; 0 where it never was. What was shown before is gone.
    """

    session: str
    since: float = 0.0


WINDOW = 5
"""Lines that must be alike, one after the other, for a place to be looked at."""
LEAST_CHARACTERS = 250
"""What a run must have that is named instead of shown."""
MOST_LINES = 200_000
"""Lines of a session that are remembered; with more, it begins anew."""


@dataclass(frozen=True)
class _Seen:
    name: str
    texts: tuple[str, ...]
    numbers: tuple[int, ...]


class Earlier:
    """The texts that a session was shown, and where their runs of lines begin; threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: list[_Seen] = []
        self._places: dict[int, tuple[int, int]] = {}
        self._lines = 0
        self._cut: set[str] = set()

    def clear(self) -> None:
        """Forget all: the context was compacted."""
        with self._lock:
            self._seen.clear()
            self._places.clear()
            self._cut.clear()
            self._lines = 0

    def add(self, name: str, rows: Sequence[Row], first: int | None = 1) -> None:
        """Remember what was shown.

        Args:
            name: what the agent knows it by: the file, or what printed it.
            rows: as they were shown; marks aren't remembered.
            first: the number of the text's first line where it is from; None where the lines' numbers aren't known.
        """
        own = [row for row in rows if not row.mark]
        if len(own) < WINDOW:
            return
        numbers = () if first is None else tuple(row.first + first - 1 for row in own)
        seen = _Seen(name, tuple(row.text for row in own), numbers)
        if self._lines + len(own) > MOST_LINES:
            self.clear()
        with self._lock:
            for at, window in enumerate(_windows(seen.texts)):
                self._places[window] = (len(self._seen), at)
            self._seen.append(seen)
            self._lines += len(own)

    def was_cut(self, name: str) -> bool:
        """Whether lines of a text are missing that were cut when it was shown last: a second look wants all of it."""
        return name in self._cut

    def note_cut(self, name: str, cut: bool) -> None:
        """Remember whether a text was last shown with lines cut."""
        with self._lock:
            (self._cut.add if cut else self._cut.discard)(name)

    def without(self, rows: Sequence[Row], first: int | None = 1) -> list[Row]:
        """Rows with each run that was shown before named instead, by where it stands.

        Args:
            rows: of a text.
            first: the number of the text's first line where it is from; None where the lines' numbers aren't known.
        """
        with self._lock:
            return self._without(rows, first)

    def _without(self, rows: Sequence[Row], first: int | None) -> list[Row]:
        texts = [row.text for row in rows]
        windows = list(_windows(texts))
        out: list[Row] = []
        at = 0
        while at < len(rows):
            length, where = self._longest(texts, windows, at)
            gone = rows[at : at + length]
            if gone and size(gone) >= LEAST_CHARACTERS and not any(row.mark for row in gone):
                lines = f"{length} lines"
                if first is not None:
                    lines = f"lines {gone[0].first + first - 1}-{gone[-1].last + first - 1}"
                out.append(marked(SHOWN_ABOVE.format(lines=lines, where=where), gone))
                at += length
            else:
                out.append(rows[at])
                at += 1
        return out

    def _longest(self, texts: Sequence[str], windows: Sequence[int], at: int) -> tuple[int, str]:
        """How many lines from there stand alike in a text that was shown, and where."""
        found = self._places.get(windows[at]) if at < len(windows) else None
        if found is None:
            return 0, ""
        seen, start = self._seen[found[0]], found[1]
        length = 0
        while (
            at + length < len(texts)
            and start + length < len(seen.texts)
            and texts[at + length] == seen.texts[start + length]
        ):
            length += 1
        if length < WINDOW:  # two windows by one hash
            return 0, ""
        numbers = seen.numbers[start : start + length]
        return length, f"{seen.name} {numbers[0]}-{numbers[-1]}" if numbers else seen.name


def _windows(texts: Sequence[str]) -> Iterator[int]:
    """A hash of each run of `WINDOW` lines."""
    hashes = [hash(text) for text in texts]
    for at in range(len(hashes) - WINDOW + 1):
        yield hash(tuple(hashes[at : at + WINDOW]))


class Contexts:
    """What each agent was shown that still stands in its context, for the agents that were last heard of.

    Args:
        most: agents that are remembered.
    """

    def __init__(self, most: int = 32) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._known: OrderedDict[str, tuple[float, Earlier]] = OrderedDict()

    def of(self, context: Context) -> Earlier:
        """What an agent was shown since its context was last compacted."""
        with self._lock:
            since, earlier = self._known.pop(context.session, (context.since, Earlier()))
            if since != context.since:
                earlier = Earlier()
            self._known[context.session] = (context.since, earlier)
            while len(self._known) > self._most:
                self._known.popitem(last=False)
            return earlier
