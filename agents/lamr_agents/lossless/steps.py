"""The steps that make a text shorter, each from rows to rows. None looks at what a program means by its words."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby, takewhile

from lamr_agents.lossless.earlier import Earlier
from lamr_agents.lossless.rows import Row, joined, marked, rows_of, size
from lamr_agents.words import A_LICENCE, BEGIN_WITH, MARK, REPEATED, STATES

LEAST_CHARACTERS = 120
"""What a marker must save: it costs some 60 characters itself."""
MOST_PERIOD = 12
"""Lines of the longest block whose repetition is looked for, such as the frames of a recursion."""
LEAST_PATHS, LEAST_PREFIX = 6, 20
"""Rows in a row, and characters that they begin with alike, from which naming the beginning once pays."""
MOST_LICENCE = 80  # lines of a file's beginning that are looked at

_CONTROL = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours, movements of the cursor
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"  # titles, links
    r"|\x1b[PX^_][^\x1b]*\x1b\\|\x1b[()*+][0-9A-Za-z]|\x1b[=>78cDEHMNOZ]"
)
_COUNTED = re.compile(r"[\d#=\-.,:>\s█▏▎▍▌▋▊▉░▒▓━╸╺⠀-⣿|/\\]+")
_STATE = re.compile(r"(?P<percent>\d{1,3}(?:\.\d+)?)\s?%|\b(?P<part>\d{1,9})\s?/\s?(?P<whole>\d{1,9})\b")
_LONGEST_STATE = 300  # characters of a line that tells how far something is
_LICENCE = re.compile(
    r"licen[cs]e|copyright|all rights reserved|permission is hereby|redistribution|without warrant",
    re.IGNORECASE,
)
_COMMENT = re.compile(r"\s*(?:#(?!!)|//|/?\*+/?|--|;|<!--|-->|\"\"\"|'''|%|\(\*|\*\))")
_CLOSES = re.compile(r"\s*(?:\*+/|-->|\*\))\s*$")
_BLANK = re.compile(r"\s*$")


def without_control(rows: Sequence[Row]) -> list[Row]:
    """What a terminal would show of each row: no colours, and of what was written over the last state alone."""
    return [_with(row, _on_a_terminal(row.text)) for row in rows]


def _on_a_terminal(line: str) -> str:
    if "\x1b" in line:
        line = _CONTROL.sub("", line)
    if "\r" in line:
        line = next((part for part in reversed(line.split("\r")) if part), "")
    return _erased(line) if "\x08" in line else line


def _erased(line: str) -> str:
    """A line without the characters that backspaces took back."""
    left: list[str] = []
    for character in line:
        if character != "\x08":
            left.append(character)
        elif left:
            left.pop()
    return "".join(left)


def without_trailing_spaces(rows: Sequence[Row]) -> list[Row]:
    """Rows without spaces at their ends."""
    return [_with(row, row.text.rstrip(" \t")) for row in rows]


def _with(row: Row, text: str) -> Row:
    return row if text == row.text else Row(text, row.first, row.last, row.shown, row.mark)


def without_progress(rows: Sequence[Row]) -> list[Row]:
    """Of rows that tell how far one thing is, differing in numbers and bars alone and growing, the last one."""
    out: list[Row] = []
    for _, run_of in groupby(enumerate(rows), lambda pair: _progress(pair[1], pair[0])):
        run = [row for _, row in run_of]
        gone = run[:-1]
        if len(run) < 3 or size(gone) < LEAST_CHARACTERS or not _grows([row.text for row in run]):
            out += run
        else:
            out += [marked(STATES.format(count=len(gone)), gone, shown=False), run[-1]]
    return out


def _progress(row: Row, place: int) -> object:
    """What rows of the same progress share; a row that tells none shares it with nothing."""
    tells = not row.mark and len(row.text) <= _LONGEST_STATE and _STATE.search(row.text)
    return _COUNTED.sub("", row.text) if tells else place


def _grows(texts: Sequence[str]) -> bool:
    """Whether what lines tell grows from each to the next, of one whole."""
    states = [state for text in texts if (state := _STATE.search(text))]
    parts = [float(state["percent"] or state["part"]) for state in states]
    wholes = {state["whole"] for state in states}
    return len(wholes) == 1 and parts == sorted(parts) and parts[0] < parts[-1]


def without_repeats(rows: Sequence[Row]) -> list[Row]:
    """Blocks of up to `MOST_PERIOD` rows that follow upon themselves, such as frames of a recursion, once."""
    texts = [row.text for row in rows]
    out: list[Row] = []
    at = 0
    while at < len(rows):
        period, times = _repetition(texts, at)
        first = at + period
        gone = rows[first : first + period * times]
        if gone and size(gone) >= LEAST_CHARACTERS:
            lines = "line above" if period == 1 else f"{period} lines above"
            out += [*rows[at:first], marked(REPEATED.format(lines=lines, times=times), gone)]
            at += period * (times + 1)
        else:
            out.append(rows[at])
            at += 1
    return out


def _repetition(texts: Sequence[str], at: int) -> tuple[int, int]:
    """The period of what is repeated there, and how often it follows upon its first time; the most rows count."""
    best = (1, 0)
    for period in range(1, min(MOST_PERIOD, (len(texts) - at) // 2) + 1):
        if texts[at] != texts[at + period]:
            continue
        equal = 0
        while at + equal + period < len(texts) and texts[at + equal] == texts[at + equal + period]:
            equal += 1
        if equal // period * period > best[0] * best[1]:
            best = (period, equal // period)
    return best


def without_licence(rows: Sequence[Row]) -> list[Row]:
    """A file without the licence in the comment that it begins with; where only a comment stands there that is one."""
    begin = 1 if rows and rows[0].text.startswith("#!") else 0
    head = list(takewhile(lambda row: _is_comment(row.text), rows[begin : begin + MOST_LICENCE]))
    while head and _BLANK.match(head[-1].text):
        head.pop()
    words = [row for row in head if _LICENCE.search(row.text)]
    if len(words) < 2 or size(head) < LEAST_CHARACTERS or begin + len(head) == len(rows):
        return list(rows)
    last = max(place for place, row in enumerate(head) if _LICENCE.search(row.text))
    end = next((n for n in range(last, len(head)) if _BLANK.match(_bare(head[n].text))), len(head))
    while end < len(head) and _CLOSES.match(head[end].text):
        end += 1
    gone = head[:end]
    if size(gone) < LEAST_CHARACTERS or _closes_elsewhere(gone):
        return list(rows)
    return [*rows[:begin], marked(A_LICENCE, gone, shown=False), *rows[begin + end :]]


def _is_comment(line: str) -> bool:
    return bool(_COMMENT.match(line) or _BLANK.match(line))


def _bare(line: str) -> str:
    return _COMMENT.sub("", line, count=1)


def _closes_elsewhere(rows: Sequence[Row]) -> bool:
    """Whether a block comment begins in rows that doesn't end there."""
    text = "\n".join(row.text for row in rows)
    return text.count("/*") != text.count("*/") or text.count("<!--") != text.count("-->")


def with_shared_paths(rows: Sequence[Row]) -> list[Row]:
    """Lists of paths, and of what was found in them, with the folders that they share named once."""
    out: list[Row] = []
    for folder, run_of in groupby(rows, _folder):
        run = list(run_of)
        out += _named_once(run) if folder and len(run) >= LEAST_PATHS else run
    return out


_PATH = re.compile(r"/?(?:[\w.@+~-]+/){2,}")


def _folder(row: Row) -> str:
    """The first two folders of a path that a row begins with; nothing where it begins with none."""
    found = None if row.mark else _PATH.match(row.text)
    return "/".join(found[0].split("/")[:3]) if found else ""


def _named_once(run: Sequence[Row]) -> list[Row]:
    low, high = min(row.text for row in run), max(row.text for row in run)
    alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(low, high, strict=False)))
    shared = low[: low.rfind("/", 0, alike) + 1]
    if len(shared) < LEAST_PREFIX or len(shared) * len(run) < 2 * LEAST_CHARACTERS:
        return list(run)
    head = Row(f"{MARK}{len(run)} {BEGIN_WITH} {shared}]", run[0].first, run[0].first, mark=True)
    return [head, *(Row(row.text[len(shared) :], row.first, row.last, row.shown) for row in run)]


Step = Callable[[Sequence[Row]], list[Row]]
OF_OUTPUT: tuple[Step, ...] = (
    without_control,
    without_trailing_spaces,
    without_progress,
    without_repeats,
    with_shared_paths,
)
"""For what commands and searches print."""
OF_FILES: tuple[Step, ...] = (without_licence, without_repeats)
"""For files: an edit must find their lines as they are, with their spaces."""


LEAST_SAVED = 240
"""Characters that a shorter text must save, so that the note below it pays."""


@dataclass(frozen=True)
class Shorter:
    """A text made shorter.

    Attributes:
        text: what to show.
        rows: its lines.
        lines: how many lines the original has.
        saved: characters that it saves.
    """

    text: str
    rows: tuple[Row, ...]
    lines: int
    saved: int

    @property
    def kept_lines(self) -> tuple[int, ...]:
        """1-based numbers of the original's lines whose words stand here or where a mark names them."""
        return tuple(
            n for row in self.rows if row.shown for n in range(row.first, row.last + 1) if not _names(row)
        )


def _names(row: Row) -> bool:
    """Whether a mark only names what the next rows begin with."""
    return row.mark and row.first == row.last and BEGIN_WITH in row.text


def shorten(text: str, *, is_file: bool, earlier: Earlier | None = None, first: int | None = 1) -> Shorter:
    """Make a text shorter by all steps that fit it.

    Args:
        text: as the tool gave it, without what a host puts around it.
        is_file: whether it is a file's text, whose lines an edit must find as they are.
        earlier: what the session was shown before.
        first: the number of the text's first line in its file; None where it isn't known.
    """
    rows = rows_of(text)
    lines = len(rows)
    for step in OF_FILES if is_file else OF_OUTPUT:
        rows = step(rows)
    if earlier is not None:
        rows = earlier.without(rows, first)
    shorter = joined(rows)
    return Shorter(shorter, tuple(rows), lines, len(text) - len(shorter))
