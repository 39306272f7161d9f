"""Lines of a log or a command's output that a query names by what stands in them: a time, a number, an identifier.

A person who asks about `10:22:30`, request `4711` or `pool-3` wants the lines that hold it, letter by letter. What many
lines hold tells nothing, so rare names count more, and lines that hold most of them are meant. The module knows texts;
it knows neither files nor what lines are worth.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
from lamr_postprocess.lines import BoolArray, IntArray

MOST_NAMES = 40
MOST_SHARE = 0.1
"""The share of lines that names may hold and still tell something, and `FEW` whatever it is."""
FEW = 12
_MOST_CHARACTERS = 1 << 16  # of a query that are looked at
_ENOUGH = 0.75  # of the weight of the line that holds most names

_TIME = r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?"
_NAMES = tuple(
    re.compile(form)
    for form in (
        rf"(?<![\w:.]){_TIME}(?![\w:])",
        r"(?<![\w/-])\d{4}[-/]\d{2}[-/]\d{2}(?![\d-])",
        r"(?<![\w/])\d{1,2}/[A-Z][a-z]{2}/\d{4}",
        r"(?<![\w.:/-])\d{2,}(?![\w:/-]|\.\d)",  # an id, a port, a status
        r"(?<![\w.:/-])\d+(?:\.\d+){2,}(?!\w)",  # an address, a version
        r"[`'\"\u201c]([^`'\"\u201c\u201d\n]{2,80})[`'\"\u201d]",
        r"(?<![\w.:/-])(?=[\w.:/-]*\d)(?=[\w.:/-]*[A-Za-z])\w[\w.:/-]{2,80}\w",  # req-7f3a, 10.0.0.7:443, E0308
        r"(?<![\w.])[A-Za-z]\w*_\w+(?![\w])|(?<![\w.])\w*[a-z][A-Z]\w*|(?<![\w.])(?:[A-Z][\w]*\.)+\w+",  # a_b, aB, A.b
    )
)
_NUMBERED_LINE = re.compile(r"\blines?\s(?:[\d,\s\u2013-]|and|to)*$", re.IGNORECASE)
_RANGE = re.compile(
    rf"(?<![\w:.])(?P<first>{_TIME})\s?(?:-|\u2013|to|and|until|till)\s?(?P<last>{_TIME})(?![\w:])"
)
_CLOCK = re.compile(r"(?<![\d:])(\d{1,2}):(\d{2})(?::(\d{2}))?(?!\d)|(?<=\d{4}:)(\d{2}):(\d{2}):(\d{2})")


def named_text(words: str, text: str, spans: IntArray) -> BoolArray:
    """Return which of a text's L lines a query names, bool [L].

    Args:
        words: the query, and the task if there is one.
        text: the text, as it was given.
        spans: int [L, 2], its lines.
    """
    words, lines = words[:_MOST_CHARACTERS], spans.shape[0]
    if not lines:
        return np.zeros(0, np.bool_)
    weights = np.zeros(lines)
    for name in dict.fromkeys(_names(words)):
        rows = _rows(re.compile(_exactly(name)), text, spans)
        if len(rows):
            weights[rows] += np.log(lines / len(rows)) + 1e-9
    best = weights.max()
    named = weights >= _ENOUGH * best if best > 0 else np.zeros(lines, np.bool_)
    if named.sum() > max(FEW, MOST_SHARE * lines):
        named[:] = False
    for found in _RANGE.finditer(words):
        named |= _between(_seconds(found["first"]), _seconds(found["last"]), text, spans)
    return named


def _names(words: str) -> Iterator[str]:
    """Yield what names lines in some words, the times first."""
    count = 0
    for form in _NAMES:
        for found in form.finditer(words):
            if _NUMBERED_LINE.search(words[max(0, found.start() - 40) : found.start()]):
                continue  # lines by number are another module's
            yield found[1] if form.groups else found[0].rstrip(".:/-")
            count += 1
            if count >= MOST_NAMES:
                return


def _exactly(name: str) -> str:
    """A regular expression of a name where it isn't a part of a longer one; a time may go on with seconds."""
    before = (
        r"(?<!\d)(?<!(?<!\d)\d\d:)(?<!(?<!\d)\d:)"
        if re.fullmatch(_TIME, name)
        else r"(?<!\w)" * name[0].isalnum()
    )
    after = r"(?!\d)" if name[-1].isdigit() and not name.isdigit() else r"(?!\w)" * name[-1].isalnum()
    return before + re.escape(name) + after


def _rows(pattern: re.Pattern[str], text: str, spans: IntArray) -> IntArray:
    """The rows in which something is found, int, rising."""
    starts = np.fromiter((found.start() for found in pattern.finditer(text)), np.int64)
    rows: IntArray = np.unique(np.searchsorted(spans[:, 1], starts, side="right"))
    return rows


def _seconds(clock: str) -> int:
    hours, minutes, *rest = re.split("[:.,]", clock)
    return int(hours) * 3600 + int(minutes) * 60 + (int(rest[0]) if rest else 0)


def _between(first: int, last: int, text: str, spans: IntArray) -> BoolArray:
    """The lines whose first time lies between two, in seconds of a day."""
    found = list(_CLOCK.finditer(text))
    starts = np.array([each.start() for each in found], np.int64)
    parts = [each.groups() for each in found]
    clocks = [(h or x, m or y, s or z or 0) for h, m, s, x, y, z in parts]
    seconds = np.array([int(h) * 3600 + int(m) * 60 + int(s) for h, m, s in clocks], np.int64)
    rows, places = np.unique(np.searchsorted(spans[:, 1], starts, side="right"), return_index=True)
    named = np.zeros(spans.shape[0], np.bool_)
    named[rows] = (seconds[places] >= first) & (seconds[places] <= last)
    return named
