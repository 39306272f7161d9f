"""What can't be parted in a text without a tree, and the blocks of a template's tags.

The `wholes` expressions of a language's table say what stands together whatever its indentation: a block comment, a
here-document, a text over several lines, a front matter. A line that its end says goes on (`goes_on`) stands with the
next one. A template adds its tags, and the blocks that they open and close; a language's words may do so, too.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from lamr_postprocess.brackets import Brackets, brackets_of
from lamr_postprocess.clock import in_time, look
from lamr_postprocess.languages import AtomicSpan, Language
from lamr_postprocess.languages.table import Template
from lamr_postprocess.lines import IntArray

_MOST_LOST = 200
"""Openings whose end is looked for in vain, so that a text of such openings takes no time of its square."""
_NONE = -1


@dataclass(frozen=True, eq=False)
class Wholes:
    """What of R rows stands together.

    Attributes:
        head: int [R], the first row of what each row belongs to; its own number where it stands by itself.
        around: int [R], the row whose tag or word opens the block that each row lies in, negative for none.
        together: rows of tags or words that need each other: those of one block.
        tags: rows that begin with a tag of a block, whose indentation says nothing.
        inside: int [R], the row whose bracket is open where each row begins, negative for none.
    """

    head: IntArray
    around: IntArray
    inside: IntArray
    together: tuple[tuple[int, ...], ...] = ()
    tags: tuple[int, ...] = ()


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
    joined = np.zeros(rows + 1, np.bool_)  # whether a row stands with the one before it
    places = [(start, end) for start, end, _ in _found(text, language.wholes)]
    last = language.brackets[-1:]
    paired = language.wholes and language.frames is not None and re.match(language.frames, last)
    brackets = (
        brackets_of(text, places, spans, language.brackets) if paired else Brackets(np.full(rows, _NONE))
    )
    blocks, words = _Blocks(np.full(rows, _NONE)), _Blocks(np.full(rows, _NONE))
    if language.words is not None:
        found = _found(text, (*language.wholes, *language.words.tags))
        tags = [(start, end) for start, end, whole in found if whole in language.words.tags]
        words = _blocks(text, tags, spans, language.words)
    if language.template is not None:
        tags = [(start, end) for start, end, _ in _found(text, language.template.tags)]
        places += tags
        blocks = _blocks(text, tags, spans, language.template)
    ended: set[int] = set()
    if places:
        ends = np.array(places)[:, 1]
        first, last = np.searchsorted(spans[:, 1], np.array(places) - np.array([0, 1]), side="right").T
        several = last > first
        # Rows that something begins before and ends in or behind: the sum of what has begun and not ended.
        change = np.zeros(rows + 2, np.int64)
        np.add.at(change, first[several] + 1, 1)
        np.add.at(change, last[several] + 1, -1)
        joined |= np.cumsum(change)[: rows + 1] > 0
        ended = {
            row
            for row, at in zip(last[several], ends[several], strict=True)
            if not _rest(text, spans[row], at)
        }
    if language.goes_on:
        joined[[row + 1 for row in _going(lines, language) if row not in ended]] = True
    head = np.maximum.accumulate(np.where(joined[:rows], 0, np.arange(rows)))
    together = (*blocks.together, *words.together, *brackets.pairs)
    around = np.maximum(blocks.around, words.around)
    return Wholes(head, around, brackets.around, together, tuple(blocks.tags))


def _going(lines: Sequence[str], language: Language) -> Iterator[int]:
    """The rows that go on in the next one; blank ones and comments between go on, too."""
    goes_on, going = re.compile(language.goes_on), False
    nothing = re.compile(rf"\s*(?:{re.escape(language.comment.opening) or '$'}|$)")
    for row, line in enumerate(in_time(lines)):
        bare = line.rstrip("\r\n")
        going = goes_on.search(bare) is not None or (going and nothing.match(bare) is not None)
        if going:
            yield row


def _rest(text: str, span: IntArray, end: int) -> str:
    """What stands in a row behind a place, but for white space."""
    return text[end : int(span[1])].strip()


def _found(text: str, wholes: tuple[AtomicSpan, ...]) -> Iterator[tuple[int, int, AtomicSpan]]:
    """Where each whole begins and ends, one after the other, and those in one that holds others behind it."""
    if not wholes:
        return
    opening = _openings(wholes)
    at, held, lost, never = 0, 0, Counter[bool](), set[str]()
    while found := opening.search(text, at):
        look()
        number = next(i for i in range(len(wholes)) if found[f"w{i}"] is not None)
        whole, end = wholes[number], found.end()
        at = max(end, found.start() + 1)
        if whole.holds and found.start() < held:
            continue
        if whole.closing:
            tag = found.groupdict().get(f"tag{number}") or ""
            closing = whole.closing.replace("{tag}", re.escape(tag)).replace("{indent}", " " * len(tag))
            closed = None
            if closing not in never and lost[whole.at_once] < _MOST_LOST:
                pattern = re.compile(closing, re.MULTILINE)
                closed = (pattern.match if whole.at_once else pattern.search)(text, end)
            if closed is None:
                lost[whole.at_once] += 1
                if not whole.at_once:
                    never.add(closing)
                continue
            end = closed.end()
        yield found.start(), end, whole
        if whole.holds:
            held = end
        else:
            at = max(end, at)


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


def _blocks(text: str, tags: list[tuple[int, int]], spans: IntArray, template: Template) -> _Blocks:
    """The blocks that tags open and close. A tag that opens nothing that is closed opens no block."""
    blocks = _Blocks(np.full(len(spans), _NONE))
    opens, goes_on, closes = (
        re.compile(each) for each in (template.opens, template.goes_on, template.closes)
    )
    open_tags: list[_Open] = []
    waiting: dict[str, int] = {}  # how many open tags have a name
    rows = np.searchsorted(spans[:, 1], [start for start, _ in tags], side="right").tolist()
    closed: list[tuple[int, int]] = []
    for (start, end), row in zip(tags, rows, strict=True):
        tag = text[start:end]
        if ending := closes.search(tag):
            name = _name(ending)
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
