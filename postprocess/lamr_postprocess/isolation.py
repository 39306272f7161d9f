"""Finding the few rows of a damaged text without which the rest parses; mending headers and ends where that is enough.

A block that doesn't parse by itself is opened: if its frame parses, the damage is in one of the blocks inside. Each is
tried in the frames around it, half of a run of blocks at a time, so that what is parsed in all grows with the text and
the number of faults. A frame that doesn't parse gets the end that it lacks, or a plain header in place of its own; the
rows inside keep their structure then. What no attempt mends is blanked: it belongs to no tree."""

from collections.abc import Iterator
from dataclasses import field, replace

from lamr_base.expressions import expression
from lamr_base.records import dataclass

from lamr_postprocess.blocks import Blocks
from lamr_postprocess.syntax import Allowance, Grammar, parses

Span = tuple[int, int]

_NAME = expression(rb"([^\W\d]\w*)\s*(?:final\s*)?(?:[(<:{]|\bextends\b|\bimplements\b|$)")
_NO_NAME = b"_"
_KEYWORDS = frozenset(
    b"func function fn def class struct enum union interface namespace if for while switch catch match do try".split()
)
_CONTROL = expression(
    rb"\b(?:if|else|for|foreach|while|switch|do|try|catch|match|loop|with|unless|synchronized)\b"
)
_REPORTS, _REPORTS_PER_KILOBYTE = 6_000, 40
"""What parsers may report in all trials; what isn't found by then stays, or is blanked in larger pieces."""
_MOST_ENDS = 4
"""Rows that close a block of which one may be too much."""
_DEEPEST = 16
"""Blocks within one another that are opened."""


@dataclass(frozen=True, eq=False)
class Mending:
    """What makes a damaged text parse."""

    blanked: set[int] = field(default_factory=set)  # the rows that were blanked
    edited: dict[int, bytes] = field(default_factory=dict)  # the rows that have another text, with that text
    appended: dict[int, bytes] = field(default_factory=dict)  # what is added to the end of a row

    def apply(self, rows: list[bytes]) -> None:
        """Mend the text's rows in place; they stay as many."""
        for row in self.blanked:
            rows[row] = blank(rows[row])
        for row, text in self.edited.items():
            rows[row] = text
        for row, more in self.appended.items():
            text = rows[row].rstrip(b"\r\n")
            rows[row] = text + more + rows[row][len(text) :]

    @property
    def touched(self) -> frozenset[int]:
        """The rows that aren't parsed as they are."""
        return frozenset(self.blanked | self.edited.keys() | self.appended.keys())


def blank(row: bytes) -> bytes:
    """A row of spaces, as many bytes as the given one, with its line end."""
    text = row.rstrip(b"\r\n")
    return b" " * len(text) + row[len(text) :]


def isolate(blocks: Blocks, grammar: Grammar, span: Span, head: bytes, *, readable: bool = False) -> Mending:
    """Find what to mend in the rows of a span, whose outermost blocks are tried.

    Args:
        blocks: the text's.
        grammar: the text's; `stand_ins`, `ending` and the fillers of lists of its table are used.
        span: the first row, and the one after the last.
        head: what every text begins with (`<?php`).
        readable: whether the grammar reads the span but for errors inside; what isn't found stays as it is
            then."""
    isolation = _Isolation(blocks, grammar, span, head, readable)
    isolation.find(blocks.split(*span), b"", b"")
    return isolation.mending


@dataclass(frozen=True, eq=False)
class _Frame:
    """A block's frame: the rows from `first` to `stop` but for the runs inside, with what was mended of it."""

    first: int
    stop: int
    header: int  # the row after the header
    runs: list[Span]  # the runs of rows inside
    edited: dict[int, bytes] = field(default_factory=dict)  # rows with another text
    blanked: frozenset[int] = frozenset()  # rows that are left out
    ending: bytes = b""  # the end that it lacks


class _Isolation:
    """One search; `mending` has what was found."""

    def __init__(self, blocks: Blocks, grammar: Grammar, span: Span, head: bytes, readable: bool) -> None:
        self._blocks, self._grammar, self._head, self._readable = blocks, grammar, head, readable
        self._language = language = grammar.language
        size = sum(map(len, blocks.rows[slice(*span)]))
        self._allowance = Allowance(size, _REPORTS, _REPORTS_PER_KILOBYTE)
        self._depth = 0
        self._filler = next((kind.filler for kind in language.lists.values() if kind.filler), "").encode()
        self.mending = Mending()

    def find(self, spans: list[Span], before: bytes, after: bytes, *, known: bool = False) -> bool:
        """Mend a run of blocks that stands between two texts; returns whether there was anything to mend.

        Where it is known that there is, nothing is tried."""
        if not spans or not (known or self._fails(before, self._text(spans[0][0], spans[-1][1]), after)):
            return False
        if self._allowance.left < 0:
            self._blank(spans[0][0], spans[-1][1])
        elif len(spans) == 1:
            self._open(*spans[0], before, after)
        else:
            self._halve(spans, before, after)
        return True

    def _halve(self, spans: list[Span], before: bytes, after: bytes) -> None:
        middle = len(spans) // 2
        halves = (spans[:middle], spans[middle:])
        found = [self.find(half, before, after) for half in halves]  # both, whatever the first gives
        if not any(found):
            self._blank(spans[0][0], spans[-1][1])

    def _open(self, first: int, stop: int, before: bytes, after: bytes) -> None:
        """Mend a block that doesn't parse between two texts."""
        header, runs = self._blocks.parts(first, stop)
        plain = _Frame(first, stop, header, runs)
        frame = next((each for each in self._frames(plain) if self._stands(each, before, after)), None)
        if frame is None or self._depth >= _DEEPEST:
            self._blank(first, stop)
            return
        found = False
        self._depth += 1
        for at, run in enumerate(runs):
            around = (before + self._frame_text(frame, upto=at), self._frame_text(frame, since=at) + after)
            known = frame is plain and len(runs) == 1  # that is the block itself
            found |= self.find(self._blocks.split(*run), *around, known=known)
        self._depth -= 1
        if not found and frame is plain:
            self._blank(first, stop)
            return
        self.mending.edited.update(frame.edited)
        self.mending.blanked.update(frame.blanked)
        if frame.ending:
            row, appended = self._last(frame), self.mending.appended
            appended[row] = appended.get(row, b"") + frame.ending

    def _stands(self, frame: _Frame, before: bytes, after: bytes) -> bool:
        return not self._fails(before, self._frame_text(frame), after)

    def _frames(self, plain: _Frame) -> Iterator[_Frame]:
        """The frame as it is if the fault may be inside, and what may be meant by it, the likeliest first."""
        if plain.runs:
            yield plain
        ending = b" " + self._language.ending.encode() if self._language.ending else b""
        if ending:
            yield replace(plain, ending=ending)
        inside = {row for run in plain.runs for row in range(*run)}
        rows = range(plain.header, plain.stop)
        closing = [row for row in rows if self._blocks.closes[row] and row not in inside]
        for row in closing[: -_MOST_ENDS - 1 : -1]:
            yield replace(plain, blanked=frozenset({row}))
        if leading := frozenset(range(plain.first, self._blocks.name_row(plain.first, plain.header))):
            yield replace(plain, blanked=leading)
        for edited in self._stand_ins(plain) if plain.runs else ():
            yield replace(plain, edited=edited)
            if ending:
                yield replace(plain, edited=edited, ending=ending)

    def _last(self, frame: _Frame) -> int:
        """The row that a block's missing end goes to: an empty one below the block, or its last one."""
        rows = self._blocks.rows
        last = max(row for row in range(frame.first, frame.stop) if row == frame.first or rows[row].strip())
        free = last + 1 < frame.stop and not rows[last + 1].rstrip(b"\r\n")
        return last + 1 if free else last

    def _stand_ins(self, frame: _Frame) -> Iterator[dict[int, bytes]]:
        """Plain headers in place of the block's own."""
        rows, first = self._blocks.rows, self._blocks.name_row(frame.first, frame.header)
        own = b"".join(rows[first : frame.header])
        names = (found[1] for found in _NAME.finditer(own) if found[1] not in _KEYWORDS)
        name = next(names, _NO_NAME)
        indent = own[: len(own) - len(own.lstrip(b" \t"))]
        braced = frame.header < frame.stop and rows[frame.header].lstrip().startswith(b"{")
        rest = {row: blank(rows[row]) for row in range(first + 1, frame.header)}
        of_class, of_function, of_block = self._language.stand_ins
        order = (of_class, of_function, of_block)
        if _CONTROL.search(own):
            order = (of_block, of_function, of_class)
        elif b"(" in own:
            order = (of_function, of_class, of_block)
        for each in filter(None, order):
            text = each.encode().replace(b"$", name)
            if braced:
                text = text.removesuffix(b"{")
            yield {first: indent + text + rows[first][len(rows[first].rstrip(b"\r\n")) :], **rest}

    def _frame_text(self, frame: _Frame, upto: int | None = None, since: int | None = None) -> bytes:
        """A frame with fillers in place of its runs: all of it, or what stands before or after one of the runs."""
        first = frame.first if since is None else frame.runs[since][1]
        stop = frame.stop if upto is None else frame.runs[upto][0]
        parts: list[bytes] = []
        for begin, end in frame.runs:
            if first <= begin and end <= stop:
                parts += [self._text(first, begin, frame), self._fill(begin)]
                first = end
        parts.append(self._text(first, stop, frame))
        return b"".join([*parts, frame.ending] if upto is None else parts)

    def _fill(self, row: int) -> bytes:
        text = self._blocks.rows[row]
        return text[: len(text) - len(text.lstrip(b" \t"))] + self._filler + b"\n" if self._filler else b""

    def _text(self, first: int, stop: int, frame: _Frame | None = None) -> bytes:
        rows = self._blocks.rows[first:stop]
        if frame is None or not (frame.edited or frame.blanked):
            return b"".join(rows)
        return b"".join(
            frame.edited.get(row, b"" if row in frame.blanked else text)
            for row, text in enumerate(rows, first)
        )

    def _fails(self, *parts: bytes) -> bool:
        return not parses(self._head + b"".join(parts), self._grammar, self._allowance)

    def _blank(self, first: int, stop: int) -> None:
        """Blank rows; where a list must not be empty, its filler stands in the first of them."""
        if self._readable and self._allowance.left < 0:
            return
        inked = [row for row in range(first, stop) if self._blocks.rows[row].strip()]
        self.mending.blanked.update(inked)
        if self._filler and inked:
            text = self._blocks.rows[inked[0]]
            ending = text[len(text.rstrip(b"\r\n")) :]
            self.mending.edited[inked[0]] = self._fill(inked[0]).removesuffix(b"\n") + ending
