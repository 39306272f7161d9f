"""Lines that a query names by number: `queue.py:142`, `File "queue.py", line 142`, `queue.py#L12-L20`, `lines 12-20`.

Stack traces, compilers, linters, reviews, diffs and people name lines so. A number counts for the file at hand if the
path beside it may be that file's, or if no other file is named in the same line of the query; a hunk's numbers belong
to the file that the diff's last header names. In a log or a command's output, a query names lines by what stands in
them, too (`named_text`): a time, a number, an identifier. The module doesn't know what lines are worth."""

import re
from collections.abc import Iterator
from itertools import chain

import numpy as np
from lamr_base.arrays import Float64Array
from lamr_base.expressions import expression
from lamr_postprocess.detection import detect_language
from lamr_postprocess.lines import BoolArray, IntArray
from lamr_postprocess.listing import ListingPlaces
from numpy.typing import NDArray

MOST_NAMES = 40
MOST_SHARE = 0.1
"""The share of lines that names may hold and still tell something, and `FEW` whatever it is."""
FEW = 12
_MOST_CHARACTERS = 1 << 16  # of a query that are looked at
_ENOUGH = 0.75  # of the weight of the line that holds most names

_TIME = r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?"
_NAMES = tuple(
    expression(form)
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
_NUMBERED_LINE = expression(r"\blines?\s(?:[\d,\s\u2013-]|and|to)*$", re.IGNORECASE)
_QUOTED_RANGE = expression(
    rf"(?<![\w:.])(?P<first>{_TIME})\s?(?:-|\u2013|to|and|until|till)\s?(?P<last>{_TIME})(?![\w:])"
)
_CLOCK = expression(r"(?<![\d:])(\d{1,2}):(\d{2})(?::(\d{2}))?(?!\d)|(?<=\d{4}:)(\d{2}):(\d{2}):(\d{2})")


def named_text(words: str, text: str, spans: IntArray) -> BoolArray:
    """Return which of a text's L lines a query names, bool [L]. `spans`: int [L, 2], its lines."""
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
    for found in _QUOTED_RANGE.finditer(words):
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


MOST_CHARACTERS = 1 << 18
"""How much of a query is looked at."""
REACH = 3
"""How many lines before and after a line are near it."""
_MOST_RANGE = 400  # lines; who names more names a file

# A path begins where no character of one stands before, so that a long run of such characters is tried once.
_PATH = r"(?<![\w./\\@+-])(?P<path>[\w./\\@+-]{1,300}\.\w{1,10})"
_NUMBER, _TO = r"\d{1,7}(?!\d)", r"\s?(?:-|\u2013|to|through)\s?"
_RANGE = rf"L?{_NUMBER}(?:{_TO}L?{_NUMBER})?"
_LIST = rf"{_RANGE}(?:(?:,\s?(?:and\s)?|\sand\s){_RANGE}){{0,20}}"
_FORMS = tuple(
    expression(form, re.IGNORECASE)
    for form in (
        rf"{_PATH}[\"'`]?:(?P<numbers>{_RANGE})",  # most tools, with or without a column after it
        rf"{_PATH}\((?P<numbers>{_NUMBER})(?:,\d+)*\)",  # MSBuild, TypeScript
        rf"{_PATH}#(?P<numbers>L{_RANGE})",  # links to GitHub and GitLab
        rf"{_PATH}[\"'`]?[,:]?\s(?:(?:on|at|near|in)\s)?lines?\s(?P<numbers>{_LIST})",  # Python, PHP, people
        rf"{_PATH}:line\s(?P<numbers>{_NUMBER})",  # .NET
        rf"\blines?\s(?P<numbers>{_LIST})\s(?:of|in)\s(?:the\s)?(?:file\s)?[\"'`]?{_PATH}",
        rf"\bsed\s-n\s[\"']?(?P<numbers>{_NUMBER}(?:,{_NUMBER})?p)[\"']?\s[\"']?{_PATH}",
    )
)
"""How lines of a file that is named are named."""
_BARE = expression(rf"\blines?\s(?P<numbers>{_LIST})", re.IGNORECASE)
_ANY_PATH = expression(_PATH)
_EACH_RANGE = expression(
    rf"(?P<first>{_NUMBER})(?:{_TO}L?(?P<last>{_NUMBER})|,(?P<printed>{_NUMBER})p)?", re.IGNORECASE
)
_DIFFED = expression(r"--- [\"']?(?P<path>[^\t\"']+)")
_HUNK = expression(r"@@ -(?P<first>\d{1,7})(?:,(?P<count>\d{1,7}))? \+\d+(?:,\d+)? @@")


def named_lines(words: str, path: str, lines: int) -> NDArray[np.bool_]:
    """Return which of a text's L lines a query names, bool [L]."""
    named = np.zeros(lines, np.bool_)
    words = words[:MOST_CHARACTERS]
    for first, last in chain(named_ranges(words, path), _hunks(words, path)):
        if 1 <= first <= last < first + _MOST_RANGE:
            named[first - 1 : last] = True
    return named


def placed_lines(words: str, path: str, places: ListingPlaces) -> NDArray[np.bool_]:
    """Return which of a listing's L lines a query names, bool [L]; by file and number where they are of several."""
    named, words = np.zeros(len(places.number), np.bool_), words[:MOST_CHARACTERS]
    alone = len(places.paths) < 2
    for place, each in enumerate(places.paths or (path,)):
        if not alone and _name(each) not in words:
            continue
        rows = places.file == place if places.paths else np.ones_like(named)
        for first, last in chain(named_ranges(words, each, bare=alone), _hunks(words, each)):
            if first <= last < first + _MOST_RANGE:
                named |= rows & (places.number >= max(first, 1)) & (places.number <= last)
    return named


def nearness(named: NDArray[np.bool_]) -> Float64Array:
    """Return how near each line is to one of some lines, float64 [L]: 1 for these, falling to 0 beyond `REACH` lines.

    The numbers in a query are often those of another version of the file, so what is around them counts,
    too."""
    near = named.astype(np.float64)
    for away in range(1, REACH + 1):
        share = 1 - away / (REACH + 1)
        np.maximum(near[:-away], share * named[away:], out=near[:-away])
        np.maximum(near[away:], share * named[:-away], out=near[away:])
    return near


def named_ranges(words: str, path: str, *, bare: bool = True) -> Iterator[tuple[int, int]]:
    """Yield the first and the last number of lines of a file that are named together, as they are written. `path`:
    the file's; where it is empty, only numbers without a path count. `bare`: whether numbers without a path
    count."""
    name = _name(path)
    for line in words.splitlines():
        taken: set[int] = set()  # where numbers stand that have a path
        for form in _FORMS if name and name in line else ():
            for found in form.finditer(line):
                taken.add(found.start("numbers"))
                if _may_be(found["path"], path):
                    yield from _each(found["numbers"])
        alone = (
            [found for found in _BARE.finditer(line) if found.start("numbers") not in taken] if bare else []
        )
        if alone and all(_may_be(other, path) for other in _files(line)):
            for found in alone:
                yield from _each(found["numbers"])


def _name(path: str) -> str:
    return re.split(r"[/\\]", path)[-1]


def _each(numbers: str) -> Iterator[tuple[int, int]]:
    for found in _EACH_RANGE.finditer(numbers):
        yield int(found["first"]), int(found["last"] or found["printed"] or found["first"])


def _hunks(words: str, path: str) -> Iterator[tuple[int, int]]:
    """Yield the lines that each hunk of a unified diff shows of a file as it was before the change.

    A hunk that only adds lines, without any context, names the line before them."""
    ours = False
    for line in words.splitlines() if "@@" in words else ():
        if header := _DIFFED.match(line):
            ours = _may_be(header["path"].rstrip(), path)
        elif ours and (hunk := _HUNK.match(line)):
            first, count = int(hunk["first"]), int(hunk["count"] or 1)
            yield first, first + max(count, 1) - 1


def _files(line: str) -> Iterator[str]:
    """Yield what is surely a file's path in a line, and no attribute of an object."""
    for found in _ANY_PATH.finditer(line):
        if "/" in found["path"] or detect_language("", found["path"]).name != "text":
            yield found["path"]


def _parts(path: str) -> list[str]:
    """The names in a path, of which a root is one; a hundred thousand paths may stand in a text."""
    names = path.replace("\\", "/").split("/")
    return ["/"] * (not names[0] and len(names) > 1) + [name for name in names if name not in ("", ".")]


def _may_be(said: str, path: str) -> bool:
    """Whether a path that somebody said may be that of a file, whose path may begin elsewhere."""
    ours, theirs = _parts(path), _parts(said)
    known = min(len(ours), len(theirs), 2)
    return known > 0 and ours[-known:] == theirs[-known:]
