"""What can't be parted in a text without a tree, and the blocks of a template's tags.

The `wholes` expressions of a language's table say what stands together whatever its indentation: a block comment, a
here-document, a text over several lines, a front matter. A line that its end says goes on (`goes_on`) stands with the
next one. A template adds its tags, and the blocks that they open and close; a language's words may do so, too.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from functools import lru_cache
from operator import itemgetter

import numpy as np
from lamr_base.expressions import expression
from lamr_base.records import dataclass

from lamr_postprocess.brackets import Brackets, brackets_of
from lamr_postprocess.clock import in_time, look
from lamr_postprocess.languages import AtomicSpan, Language
from lamr_postprocess.languages.table import NEVER, Template
from lamr_postprocess.lines import BoolArray, IntArray
from lamr_postprocess.scanner import pairs_in

_MOST_LOST = 200
"""Openings whose end is looked for in vain, so that a text of such openings takes no time of its square."""
_NONE = -1
_MOST_CALL_ROWS = 12
_MOST_HEADER_ROWS = 12
_INK = expression(r"[^\n]")
_CLOSING = ")]}"
_ENDS_STATEMENT = expression(r"[;{}][ \t]*$|^[ \t]*(?:(?:case|when)\b.*|[\w-]+):[ \t]*$")
_BEGINS_BODY = expression(r"\{|(?i:begin|is|as|then|do|loop)")


@dataclass(frozen=True, eq=False)
class Wholes:
    """What of R rows stands together.

    Attributes:
        head: int [R], the first row of what each row belongs to; its own number where it stands by itself.
        around: int [R], the row whose tag or word opens the block that each row lies in, negative for none.
        inside: int [R], the row whose bracket is open where each row begins, negative for none.
        together: rows of tags or words that need each other: those of one block.
        tags: rows that begin with a tag of a block, whose indentation says nothing.
        remarks: rows of comments or of a template's tags alone, which no other row stands under.
        code: the rows with comments blanked out and other texts made quotes.
    """

    head: IntArray
    around: IntArray
    inside: IntArray
    together: tuple[tuple[int, ...], ...] = ()
    tags: tuple[int, ...] = ()
    remarks: tuple[int, ...] = ()
    code: tuple[str, ...] = ()


def wholes_of(text: str, lines: Sequence[str], spans: IntArray, language: Language) -> Wholes:
    """Find what stands together.

    Args:
        text: the text of R lines.
        lines: the lines.
        spans: int [R, 2], their offsets.
        language: its table says what to look for.
    """
    rows = len(lines)
    text = text.replace("\r\n", " \n").replace("\r", "\n")  # expressions know one end of a line; offsets stay
    found = list(_found(text, language.wholes))
    masked = _masked(text, found, '"')
    closes = re.compile(language.frames or NEVER)
    scanned = None if language.scan is None else pairs_in(text, spans, language.scan)
    paired = language.brackets if closes.match(language.brackets[-1:]) and scanned is None else ""
    brackets = brackets_of(masked, spans, paired)
    if scanned is not None:
        kinds = {sign: {each[:2] for each in scanned.pairs if text[each.opening] == sign} for sign in "({"}
        brackets = Brackets(scanned.around, tuple(each[:2] for each in scanned.pairs), kinds)
    around, tags = np.full(rows, _NONE), list[int]()
    together: list[tuple[int, ...]] = list(brackets.pairs)
    own = ((each, (*language.wholes, *each.tags)) for each in language.words)
    for kind, wholes in (*own, *((each, each.tags) for each in language.templates)):
        signs = [each for each in _found(text, wholes) if each[2] in kind.tags]
        blocks = _blocks(text, signs, spans, kind)
        around = np.maximum(around, blocks.around)
        together += blocks.together
        tags += blocks.tags if kind.anywhere else ()
        found += signs if kind in language.templates else ()
    joined, ended, touched = _joined(text, found, spans)
    said_apart = set(tags)
    code = tuple("" if at in said_apart else masked[i:k] for at, (i, k) in enumerate(spans.tolist()))
    bare = _masked(text, sorted((each for each in found if each[2].says_nothing), key=itemgetter(0)), " ")
    remarks = [row for row in sorted(touched) if not bare[slice(*spans[row])].strip()]
    joined[[row + 1 for row in _going(code, language) if row not in ended]] = True
    for first, last in (
        *_spread(masked, code, spans, brackets, language),
        *(scanned.texts if scanned else ()),
    ):
        joined[first + 1 : last + 1] = True
    head = np.maximum.accumulate(np.where(joined[:rows], 0, np.arange(rows)))
    return Wholes(head, around, brackets.around, tuple(together), tuple(tags), tuple(remarks), code)


def _joined(
    text: str, found: Sequence[tuple[int, int, AtomicSpan]], spans: IntArray
) -> tuple[BoolArray, set[int], set[int]]:
    """Which of R rows stand with the one before, bool [R + 1]; which end what is over several; which hold remarks."""
    rows = len(spans)
    joined, ended, remarks = np.zeros(rows + 1, np.bool_), set[int](), set[int]()
    if not found:
        return joined, ended, remarks
    places = np.array([(start, end) for start, end, _ in found])
    first, last = np.searchsorted(spans[:, 1], places - np.array([0, 1]), side="right").T
    # Rows that something begins before and ends in or behind: the sum of what has begun and not ended.
    change = np.zeros(rows + 2, np.int64)
    np.add.at(change, first + 1, 1)
    np.add.at(change, last + 1, -1)
    for (_, end, whole), begin, row in zip(found, first.tolist(), last.tolist(), strict=True):
        if begin < row and not text[end : int(spans[row, 1])].strip():
            ended.add(row)
        if whole.says_nothing:
            remarks.update(range(begin, row + 1))
    return np.cumsum(change)[: rows + 1] > 0, ended, remarks


def _masked(text: str, found: Iterable[tuple[int, int, AtomicSpan]], ink: str) -> str:
    """A text with its comments blanked out, and with a character for all others of other texts; its lines stay."""
    parts: list[str] = []
    at = 0
    for start, end, whole in found:
        if start >= at:
            parts += text[at:start], _INK.sub(" " if whole.says_nothing else ink, text[start:end])
            at = end
    return "".join([*parts, text[at:]])


def _going(code: Sequence[str], language: Language) -> Iterator[int]:
    """The rows that go on in the next one; blank ones and comments between go on, too."""
    goes_on, going_back = (re.compile(each or NEVER) for each in (language.goes_on, language.goes_back))
    going, last = False, _NONE
    for row, line in enumerate(in_time(code)):
        if not line.strip():
            continue
        if (going and line.lstrip()[0] not in _CLOSING) or (last != _NONE and going_back.match(line)):
            yield from range(last, row)
        going, last = goes_on.search(line.rstrip()) is not None, row


def _spread(
    masked: str, code: Sequence[str], spans: IntArray, brackets: Brackets, language: Language
) -> Iterator[tuple[int, int]]:
    """The first and last row of statements that are spread over rows: heads with their bodies, calls, long headers."""
    if language.calls:
        yield from brackets.short(_MOST_CALL_ROWS)
    inked = [row for row, line in enumerate(code) if line.strip()]
    for found in re.finditer(language.heads, masked, re.MULTILINE) if language.heads else ():
        first, last = np.searchsorted(spans[:, 1], (found.start(), found.end() - 1), side="right").tolist()
        body = bisect_right(inked, last)
        yield first, inked[body] if body < len(inked) else last
    closing = dict(brackets.by_kind.get("{", ()))
    indents = [len(line) - len(line.lstrip()) for line in code]
    for at, row in enumerate(inked):
        line = code[row].strip()
        if line.endswith("{") or _BEGINS_BODY.fullmatch(line):
            end = row if len(line) == 1 or not line.endswith("{") else closing.get(row, row)
            first = _header(code, inked[max(0, at - _MOST_HEADER_ROWS) : at], indents, indents[end])
            if first < row and (end == row or indents[end] < indents[row]):
                yield first, row


def _header(code: Sequence[str], before: Sequence[int], indents: Sequence[int], depth: int) -> int:
    """The row at a depth that begins the header which these rows end, or a number beyond all rows for none."""
    for number, row in enumerate(reversed(before)):
        if _ENDS_STATEMENT.search(code[row].rstrip()) or indents[row] < depth:
            break
        if indents[row] == depth:
            return row if number else len(code)
    return len(code)


def _found(text: str, wholes: tuple[AtomicSpan, ...]) -> Iterator[tuple[int, int, AtomicSpan]]:
    """Where each whole begins and ends, one after the other, and those in one that holds others behind it."""
    if not wholes:
        return
    opening = _openings(wholes)
    at, held, lost = 0, 0, _Lost()
    waiting: list[tuple[AtomicSpan, str]] = []  # whose text begins in the next row
    while True:
        look()
        found = opening.search(text, at)
        if waiting and (end_of_row := text.find("\n", at)) >= 0 and (not found or found.start() > end_of_row):
            at = end_of_row
            for whole, closing in waiting:
                at = lost.end(text, at, whole, closing) or at
            if at > end_of_row:
                yield end_of_row, at, waiting[0][0]
            at, waiting = max(at, end_of_row + 1), []
            continue
        if not found:
            return
        number = next(i for i in range(len(wholes)) if found[f"w{i}"] is not None)
        whole, end = wholes[number], found.end()
        at = max(end, found.start() + 1)
        if whole.holds and found.start() < held:
            continue
        tag = found.groupdict().get(f"tag{number}") or ""
        closing = whole.closing.replace("{tag}", re.escape(tag)).replace("{indent}", " " * len(tag))
        if whole.waits:
            waiting.append((whole, closing))
            continue
        if closing:
            closed = lost.end(text, end, whole, closing)
            if closed is None:
                continue
            end = closed
        yield found.start(), end, whole
        if whole.holds:
            held = end
        else:
            at = max(end, at)


class _Lost:
    """Which closings were looked for in vain, so that a text of openings takes no time of its square."""

    def __init__(self) -> None:
        self._count, self._never = Counter[bool](), set[str]()

    def end(self, text: str, at: int, whole: AtomicSpan, closing: str) -> int | None:
        """Where what begins before a place ends; None if nothing closes it."""
        if closing not in self._never and self._count[whole.at_once] < _MOST_LOST:
            pattern = re.compile(closing, re.MULTILINE)
            if closed := (pattern.match if whole.at_once else pattern.search)(text, at):
                return closed.end()
        self._count[whole.at_once] += 1
        if not whole.at_once:
            self._never.add(closing)
        return None


@lru_cache(maxsize=256)
def _openings(wholes: tuple[AtomicSpan, ...]) -> re.Pattern[str]:
    """One expression for the openings of all wholes, in which the group of each says which it is."""
    parts = (
        re.sub(r"\(\?P(<|=)(\w+)", rf"(?P\g<1>\g<2>{number}", f"(?P<w>{whole.opening})")
        for number, whole in enumerate(wholes)
    )
    return re.compile("|".join(parts), re.MULTILINE)


@dataclass(frozen=True, eq=False)
class _Blocks:
    around: IntArray
    together: list[tuple[int, ...]] = field(default_factory=list)
    tags: list[int] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class _Open:
    """A tag that opened a block: what its end repeats, its row, and the rows of the tags that go on with the block."""

    name: str
    row: int
    branches: list[int]


def _blocks(
    text: str, tags: Sequence[tuple[int, int, AtomicSpan]], spans: IntArray, template: Template
) -> _Blocks:
    """The blocks that tags open and close. A tag that opens nothing that is closed opens no block."""
    blocks = _Blocks(np.full(len(spans), _NONE))
    opens, goes_on, closes = (
        re.compile(each) for each in (template.opens, template.goes_on, template.closes)
    )
    open_tags: list[_Open] = []
    waiting: dict[str, int] = {}  # how many open tags have a name
    rows = np.searchsorted(spans[:, 1], [start for start, _, _ in tags], side="right").tolist()
    closed: list[tuple[int, int]] = []
    for (start, end, _), row in zip(tags, rows, strict=True):
        tag = text[start:end]
        if ending := closes.search(tag):
            name = _name(ending)
            if ending.groupdict().get("name") == "" and open_tags:  # `end` alone ends any block
                name = open_tags[-1].name
            while waiting.get(name):
                last = open_tags.pop()
                waiting[last.name] -= 1
                if last.name == name:
                    if row > last.row:
                        blocks.together.append((last.row, *last.branches, row))
                        closed.append((last.row, row))
                    break
        elif goes_on.search(tag):
            if open_tags:
                open_tags[-1].branches.append(row)
        elif opening := opens.search(tag):
            open_tags.append(_Open(_name(opening), row, []))
            waiting[open_tags[-1].name] = waiting.get(open_tags[-1].name, 0) + 1
        else:
            continue
        if not text[int(spans[row, 0]) : start].strip():
            blocks.tags.append(row)
    for first, last_row in reversed(closed):  # the outer blocks, which close last, first
        blocks.around[first + 1 : last_row] = first
    return blocks


def _name(found: re.Match[str]) -> str:
    return (found.groupdict().get("name") or "").lower()
