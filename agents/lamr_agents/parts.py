"""A tool's text in its parts: what a host left of a file, and its notices between; each with its place in the file.

Where a host leaves out the middle, the numbers of what follows are the file's only if somebody knows them: the notice,
by the number of all lines, or the file itself, by what the text shows of its end. Otherwise no number is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from lamr_postprocess import SourceFile, split_lines

from lamr_agents.policy import Policy, ToolResult
from lamr_agents.sessions.notices import TruncationInfo, gaps, stated

_NUMBERS = re.compile(r"(?<=\.\.\. )(?P<first>\d+)(?:-(?P<last>\d+))?(?= pruned)")


@dataclass(frozen=True)
class TextPart:
    """Lines of a tool's text that stand together.

    Attributes:
        source: the lines; a notice of the host's where `code` is false.
        row: 0-based place of the first in the whole text.
        first: the file's number of the first; None where it isn't known.
        listed: whether the lines carry these numbers themselves.
        code: whether the lines are the file's.
        keep: first and last line, counted within the part from 1, of what is shown because the session pointed at it.
    """

    source: SourceFile
    row: int
    first: int | None
    listed: bool = False
    code: bool = True
    keep: tuple[tuple[int, int], ...] = ()

    @property
    def text(self) -> str:
        """The lines as a text."""
        return self.source.text

    @property
    def lines(self) -> int:
        """How many there are."""
        return len(self.source.spans)

    def numbered(self, rows: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        """Runs of lines of this part, 1-based, by the file's numbers; none where these aren't known."""
        return [] if self.first is None else [(a + self.first - 1, b + self.first - 1) for a, b in rows]


def parts_of(asked: ToolResult, policy: Policy) -> tuple[TextPart, ...]:
    """The parts of a text, which together make it up; mostly one. The policy says what is kept around pointers."""
    parts = _split(asked)
    if not asked.pointed:
        return parts
    return tuple(
        part if part.first is None else replace(part, keep=tuple(policy.kept(asked, part.first, part.lines)))
        for part in parts
    )


def _split(asked: ToolResult) -> tuple[TextPart, ...]:
    ends = list(gaps(asked.text))
    if not ends:
        end, source = asked.stated.tail and not asked.name, SourceFile(asked.text, asked.path)
        return (_part(source, 0, _of_the_end(source, asked, asked.stated) if end else asked.from_line),)
    pieces, at, said = list[tuple[str, bool]](), 0, asked.stated
    for gap in ends:
        pieces += [(asked.text[at : gap.start], True), (asked.text[gap.start : gap.stop], False)]
        at = gap.stop
        said = replace(said, total=said.total or stated(pieces[-1][0]).total)
    pieces.append((asked.text[at:], True))
    return tuple(_placed([piece for piece in pieces if piece[0]], asked, said))


def _placed(
    pieces: Sequence[tuple[str, bool]], asked: ToolResult, said: TruncationInfo
) -> Iterator[TextPart]:
    row, before = 0, None
    for place, (text, code) in enumerate(pieces):
        source = SourceFile(text, asked.path)
        if not code:
            yield TextPart(source, row, None, code=False)
        elif asked.name:  # it is kept as it came, under the numbers of its own lines
            yield TextPart(source, row, row + 1)
        else:
            first = asked.from_line if row == 0 else None
            if place and place == len(pieces) - 1:
                first = _of_the_end(source, asked, said)
            before = _part(source, row, first, before)
            yield before
        row += len(source.spans)


def _part(source: SourceFile, row: int, first: int | None, before: TextPart | None = None) -> TextPart:
    """A part; numbers that go on after a gap as if there were none are the host's, and not the file's."""
    listing = source.listing
    if listing is None or listing.first is None:
        return TextPart(source, row, first)
    runs_on = before is not None and before.listed and listing.first <= (before.first or 0) + before.lines + 2
    return TextPart(source, row, None if runs_on else listing.first, listed=True)


def _of_the_end(source: SourceFile, asked: ToolResult, said: TruncationInfo) -> int | None:
    """The file's number of the first line of a part that goes to the output's end."""
    count = len(source.spans)
    first = asked.from_line or 1
    if said.total:
        return max(said.total + first - count, 1)
    lines = _bare(asked.whole) if asked.last is None else []
    begins = said.tail or lines[first - 1 : first] == _bare(asked.text)[:1]
    return len(lines) - count + 1 if begins and lines[-count:] == _bare(source.text) else None


def _bare(text: str) -> list[str]:
    return [line.rstrip() for line in split_lines(text)]


def renumbered(text: str, kept: Sequence[int], part: TextPart) -> str:
    """The text of a part that was pruned, with the file's numbers in its markers, or counts where nobody knows these.

    Args:
        text: the lines that are kept and a marker for each run of others, in their order.
        kept: 1-based numbers of these lines within the part.
        part: the part as it came.
    """
    if part.first == 1 or (part.listed and part.first is not None):
        return text
    shift = None if part.first is None else part.first - 1
    out, row, left = [], 0, set(kept)
    for line in split_lines(text):
        if row + 1 in left:
            row += 1
            out.append(line)
            continue
        out.append(_NUMBERS.sub(lambda found: _moved(found, shift), line, count=1))
        while row < part.lines and row + 1 not in left:
            row += 1
    return "".join(out)


def _moved(found: re.Match[str], shift: int | None) -> str:
    numbers = [int(number) for number in (found["first"], found["last"]) if number]
    if shift is None:
        count = numbers[-1] - numbers[0] + 1
        return f"{count} line{'s' if count > 1 else ''}"
    return "-".join(str(number + shift) for number in numbers)
