"""A result read against its file, line by line: what is kept, and where the markers stand. It trusts no other fact."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from lamr_postprocess import split_lines

MARKER = re.compile(r"\.\.\. (?:(\d+)(?:-(\d+))? pruned|(\d+) lines? pruned \((\d+)(?:-(\d+))?\))")


@dataclass(frozen=True)
class Marker:
    """A marker: its row in the result from 0, the lines that it stands for by its place, and what it says."""

    row: int
    first: int
    last: int
    line: str
    count: int
    told: tuple[int, int]

    @property
    def opening(self) -> str:
        """What stands before its words, but for white space, a byte order mark and a filler."""
        words = self.line.split("...")[0].replace("\ufeff", "").split()
        return words[-1] if words else ""


@dataclass(frozen=True)
class Read:
    """A result read line by line against its file: which rows are kept, from 0, and the markers."""

    kept: list[int] = field(default_factory=list)
    markers: list[Marker] = field(default_factory=list)
    trouble: str = ""
    at: int = 0


def read_result(lines: Sequence[str], text: str, *, numbered: bool = False) -> Read:
    """Go through a result; the first line that is neither the file's next one nor a marker ends the reading."""
    read = Read()
    at = 0
    for row, line in enumerate(split_lines(text)):
        match = MARKER.search(line)
        bare = re.sub(r"^\d+\t", "", line) if numbered else line
        if at < len(lines) and bare == lines[at] and (match is None or not _begins(match, at)):
            read.kept.append(at)
            at += 1
        elif match is not None:
            told = _told(match)
            count = int(match[3] or told[1] - told[0] + 1)
            read.markers.append(Marker(row, at, at + count - 1, line, count, told))
            at += count
        else:
            expected = repr(lines[at]) if at < len(lines) else "the end"
            return Read(read.kept, read.markers, f"{line!r:.120} in the place of {expected:.120}", at)
    if at != len(lines):
        return Read(read.kept, read.markers, f"{len(lines)} lines became {at}", at)
    return read


def _begins(marker: re.Match[str], at: int) -> bool:
    return _told(marker)[0] == at + 1


def _told(marker: re.Match[str]) -> tuple[int, int]:
    """The first and last line that a marker names."""
    first, last = marker[1] or marker[4], marker[2] or marker[5]
    return int(first), int(last or first)
