"""What a session was shown already, so that the same lines need not be shown again while they stand in its context."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lamr_agents.lossless.rows import Row, marked, size

WINDOW = 8
"""Lines that must be alike, one after the other, for a place to be looked at."""
LEAST_CHARACTERS = 400
"""What a run must have that is named instead of shown."""
MOST_LINES = 200_000
"""Lines of a session that are remembered; the oldest texts go first."""


@dataclass(frozen=True)
class _Seen:
    name: str
    texts: tuple[str, ...]
    numbers: tuple[int, ...]


class Earlier:
    """The texts that a session was shown, and where their runs of lines begin."""

    def __init__(self) -> None:
        self._seen: list[_Seen] = []
        self._places: dict[int, tuple[int, int]] = {}
        self._lines = 0

    def clear(self) -> None:
        """Forget all: the context was compacted."""
        self.__init__()  # type: ignore[misc]  # begins anew

    def add(self, name: str, rows: Sequence[Row]) -> None:
        """Remember what was shown.

        Args:
            name: what the agent knows it by: the file, or the command.
            rows: as they were shown; marks aren't remembered.
        """
        if self._lines > MOST_LINES:
            self.clear()
        own = [row for row in rows if not row.mark]
        seen = _Seen(name, tuple(row.text for row in own), tuple(row.first for row in own))
        for at, window in enumerate(_windows(seen.texts)):
            self._places[window] = (len(self._seen), at)
        self._seen.append(seen)
        self._lines += len(own)

    def without(self, rows: Sequence[Row]) -> list[Row]:
        """Rows with each run that was shown before named instead, by where it stands."""
        texts = [row.text for row in rows]
        windows = list(_windows(texts))
        out: list[Row] = []
        at = 0
        while at < len(rows):
            length, where = self._longest(texts, windows, at)
            gone = rows[at : at + length]
            if gone and size(gone) >= LEAST_CHARACTERS and not any(row.mark for row in gone):
                out.append(marked(f"{length} lines ({gone[0].first}-{gone[-1].last}) are as shown above, {where}", gone))
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
        first, last = seen.numbers[start], seen.numbers[start + length - 1]
        return length, f"{seen.name} {first}-{last}"


def _windows(texts: Sequence[str]) -> Iterator[int]:
    """A hash of each run of `WINDOW` lines."""
    hashes = [hash(text) for text in texts]
    for at in range(len(hashes) - WINDOW + 1):
        yield hash(tuple(hashes[at : at + WINDOW]))
