"""Finds the lines of a big read that the rest of its session edited, quoted, or read again by range.

It compares words rather than line numbers, since edits in between move lines."""

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath
from typing import Literal

from lamr_base.expressions import expression
from lamr_base.records import dataclass

from lamr_agents.sessions.events import Event
from lamr_agents.sessions.reads import BigRead, answered
from lamr_agents.sessions.shown import shown_lines
from lamr_agents.sessions.tools import Edit, edits_of, read_of, same_file

DISTINCT = 12  # characters that a line needs to be told from others by its words alone
LONGEST_AGAIN, LARGEST_AGAIN = 150, 0.6
"""Lines, and share of the read, up to which reading again points at something; more is the whole once more."""
LEAST_LIKE = 0.3
"""Share of words that a file written anew must have in common with the read to count as an edit of it."""
LONGEST_CITATION = 100

_FENCED = expression(r"```[^\n]*\n(.*?)```", re.DOTALL)
_TICKED = expression(r"(?<!`)`([^`\n]{20,})`(?!`)")


@dataclass(frozen=True)
class Use:
    """One later event that uses lines of a read."""

    place: int  # the event's index in the session; of a read, that of its call
    kind: Literal["edited", "quoted", "reread", "shown"]
    """`reread` for a range that points at something; `shown` for the file, or much of it, once more."""
    lines: tuple[int, ...]  # 1-based numbers of shown lines
    changed: tuple[int, ...] = ()  # those that an edit changes


@dataclass(frozen=True)
class LaterUse:
    """1-based numbers of shown lines, ascending."""

    edited: tuple[int, ...] = ()  # the old text of edits holds them
    changed: tuple[int, ...] = ()  # those of `edited` that an edit changes, rather than names to be found by
    quoted: tuple[int, ...] = ()  # the assistant quotes them, or cites them by file and line
    reread: tuple[int, ...] = ()  # a later read of a range shows them

    @property
    def lines(self) -> tuple[int, ...]:
        return tuple(sorted({*self.edited, *self.quoted, *self.reread}))


def use_in_all(uses: Iterable[Use]) -> LaterUse:
    """The sum of uses; lines that were only shown again don't count as needed."""
    held: dict[str, set[int]] = {"edited": set(), "changed": set(), "quoted": set(), "reread": set()}
    for use in uses:
        held.get(use.kind, set()).update(use.lines)
        held["changed"].update(use.changed)
    return LaterUse(**{kind: tuple(sorted(numbers)) for kind, numbers in held.items()})


def later_uses(read: BigRead, session: Sequence[Event]) -> list[Use]:
    """The events after a read that need or show lines of it, in their order."""
    results = answered(session)
    uses: list[Use] = []
    for place, event in enumerate(session[read.place + 1 :], read.place + 1):
        if event.kind == "assistant":
            uses.append(Use(place, "quoted", tuple(sorted(_quoted(event.text, read)))))
        elif event.kind == "call":
            for edit in edits_of(event.tool, event.arguments):
                if same_file(edit.path, read.read.path):
                    held, altered = _edited(edit, read.shown.lines)
                    uses.append(Use(place, "edited", tuple(held), tuple(altered)))
            again = read_of(event.tool, event.arguments)
            if again and same_file(again.path, read.read.path) and place in results:
                result = session[results[place]].text
                uses.append(_shown_again(place, again.ranged, result, read.shown.lines))
    return [use for use in uses if use.lines]


def _shown_again(place: int, ranged: bool, result: str, shown: Sequence[str]) -> Use:
    if not ranged:
        return Use(place, "shown", tuple(range(1, len(shown) + 1)))
    lines = shown_lines(result).lines
    pointed = len(lines) <= min(LONGEST_AGAIN, LARGEST_AGAIN * len(shown))
    return Use(place, "reread" if pointed else "shown", tuple(located(lines, shown)))


def located(wanted: Sequence[str], lines: Sequence[str]) -> list[int]:
    """1-based numbers of the lines that hold a text as one run; else of each line of it that occurs once."""
    text = [line.rstrip() for line in wanted]
    while text and not text[0]:
        del text[0]
    while text and not text[-1]:
        del text[-1]
    if not text:
        return []
    bare = [line.rstrip() for line in lines]
    starts = [start for start in range(len(bare) - len(text) + 1) if _runs(text, bare, start)]
    if len(starts) == 1 or (starts and sum(map(len, text)) >= DISTINCT):
        return list(range(starts[0] + 1, starts[0] + len(text) + 1))
    return _alone(text, lines)


def _runs(text: Sequence[str], lines: Sequence[str], start: int) -> bool:
    """Whether a text stands at `start`; its first and last line may be parts of lines."""
    if len(text) == 1:
        return len(text[0].strip()) >= 3 and text[0].strip() in lines[start]
    end = start + len(text) - 1
    if not lines[start].endswith(text[0]) or not lines[end].startswith(text[-1]):
        return False
    return list(text[1:-1]) == list(lines[start + 1 : end])


def _alone(wanted: Iterable[str], lines: Sequence[str]) -> list[int]:
    """1-based numbers of the lines whose words are among the wanted ones and occur once."""
    words = {line.strip() for line in wanted if len(line.strip()) >= DISTINCT}
    if not words:
        return []
    counts = Counter(line.strip() for line in lines)
    return [n for n, line in enumerate(lines, 1) if line.strip() in words and counts[line.strip()] == 1]


def _edited(edit: Edit, lines: Sequence[str]) -> tuple[list[int], list[int]]:
    """1-based numbers of the lines that an edit's old text holds, and of those that it changes."""
    if edit.old is None:
        new = edit.new.rstrip("\n").split("\n")
        if difflib.SequenceMatcher(None, lines, new, autojunk=False).quick_ratio() < LEAST_LIKE:
            return [], []
        bare = [line.rstrip() for line in lines]
        altered = [place + 1 for place in _altered(bare, [line.rstrip() for line in new])]
        return altered, altered
    old = edit.old.split("\n")
    held = located(old, lines)
    words = {old[place].strip() for place in _altered(old, edit.new.split("\n"))}
    return held, [n for n in held if lines[n - 1].strip() in words] or held


def _altered(old: Sequence[str], new: Sequence[str]) -> list[int]:
    """0-based places in `old` that are taken out, or that border on what is put in."""
    places: set[int] = set()
    for tag, start, end, _, _ in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "insert":
            places.update(place for place in (start - 1, start) if 0 <= place < len(old))
        elif tag != "equal":
            places.update(range(start, end))
    return sorted(places)


def _quoted(words: str, read: BigRead) -> set[int]:
    """1-based numbers of the lines that the words quote in code marks, or cite as `file:12-34`."""
    lines = read.shown.lines
    fenced = (line for block in _FENCED.findall(words) for line in block.split("\n"))
    numbers = set(_alone(fenced, lines))
    text = "\n".join(lines)
    for span in map(str.strip, _TICKED.findall(_FENCED.sub("", words))):
        if span in text:  # most spans aren't, and are told so without a look at each line
            holders = [n for n, line in enumerate(lines, 1) if span in line]
            numbers.update(holders if len(holders) == 1 else ())
    name = re.escape(PurePosixPath(read.read.path.replace("\\", "/")).name)
    citation = re.compile(rf"(?<![\w.-]){name}`?(?::|#L| lines? )L?(\d+)(?:[-\u2013]L?(\d+))?")
    before = (read.shown.first or read.read.first or 1) - 1
    for match in citation.finditer(words):
        start, end = int(match[1]) - before, int(match[2] or match[1]) - before
        if 1 <= start <= end <= len(lines) and end - start < LONGEST_CITATION:
            numbers.update(range(start, end + 1))
    return numbers
