"""Kept lines and markers to text.

A cut is a maximal run of lines that are not kept. It becomes one marker line. In `comment` style the marker is a
comment of the language, `# ... 34-45 pruned`, at the smallest indentation of the statements that it stands for; where
the cut empties a body, the filler statement comes before it. In `named` style the marker goes on with the definitions
that begin inside the cut, `# ... 155-326 pruned: get, put_nowait …`, where the document knows them. In `swe-pruner`
style the marker is the bare `(filtered 12 lines)`, which is no comment, so that the result may not parse; without
repair the whole text is then SWE-Pruner's (`filtered_text`). A marker ends as the last line of its cut
does."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from lamr_base.expressions import expression
from lamr_base.records import dataclass

from lamr_postprocess.document import Document
from lamr_postprocess.languages import Comment
from lamr_postprocess.lines import BOM, BoolArray, IntArray
from lamr_postprocess.result import Cut

_MARKER = "(filtered {} lines)"
_SHOWN_CHARACTERS = len(_MARKER.format(0))


def single_gaps(lines: int) -> IntArray:
    """The rows that have two neighbours, and the rows before and after each: int64 [3, n], as `Rules.singles`."""
    rows = np.arange(1, max(lines - 1, 1))
    return np.stack([rows, rows - 1, rows + 1])


def filtered_text(lines: Sequence[str], kept: BoolArray, heads: Sequence[str] | None = None) -> str:
    """Return the text of a selection.

    Args:
        lines: L lines, with or without their newlines.
        kept: bool [L], closed under `single_gaps`.
        heads: what to write before each line, such as its number; nothing if None."""
    texts = [line.rstrip("\r\n") for line in lines]
    inked = np.fromiter((bool(text.strip()) for text in texts), np.bool_, len(texts))
    sizes = np.fromiter(map(len, texts), np.int64, len(texts))
    if heads is not None:
        texts = [head + text for head, text in zip(heads, texts, strict=True)]
    return "\n".join(_shown(texts, np.flatnonzero(kept & inked), np.cumsum([0, *(sizes * inked)])))


def _shown(texts: Sequence[str], rows: IntArray, characters: IntArray) -> Iterator[str]:
    """Yield some rows, ascending, of L lines without newlines. `characters`: int64 [L + 1], how many of lines that
    aren't blank there are before each row."""
    for before, row in pairwise([-1, *rows.tolist()]):
        first = before + 1
        if row > first and characters[row] - characters[first] > _SHOWN_CHARACTERS:
            yield _MARKER.format(row - first)
        else:
            yield from texts[first:row]
        yield texts[row]
    last = int(rows[-1]) + 1 if len(rows) else 0
    if last < len(texts):
        yield _MARKER.format(len(texts) - last)


COMMENT, NAMED, SWE_PRUNER = "comment", "named", "swe-pruner"
_CLOSERS = "}]"
STYLES = (COMMENT, NAMED, SWE_PRUNER)


@dataclass(frozen=True)
class Style:
    """How a result is written. Raises `ValueError`: the marker style is unknown."""

    markers: str = COMMENT  # one of STYLES
    # whether the original number and a tab stand before each kept line, and a tab before each marker
    line_numbers: bool = False
    repaired: bool = True  # whether the selection was repaired

    @property
    def is_swe_pruners(self) -> bool:
        """Whether the text is the one that SWE-Pruner writes for the same selection."""
        return self.markers == SWE_PRUNER and not self.repaired

    def __post_init__(self) -> None:
        if self.markers not in STYLES:
            raise ValueError(f"unknown marker style {self.markers!r}; known: {', '.join(STYLES)}")


def cuts_of(kept: BoolArray) -> IntArray:
    """First and last row, 0-based, of each run of rows that are not kept, int [n, 2]."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], ~kept, [False])).astype(np.int8)))
    runs: IntArray = edges.reshape(-1, 2) - np.array([0, 1])
    return runs


def render(document: Document, kept: BoolArray, style: Style) -> tuple[str, tuple[Cut, ...]]:
    """The text of a closed selection bool [L], and its cuts."""
    cuts = cuts_of(kept)
    if style.is_swe_pruners:
        return _swe_pruners(document, kept, style), _as_cuts(cuts)
    fillers = document.fillers.needed(kept)
    filled = np.array(sorted(fillers), dtype=np.int64)
    # A cut empties at most one body, because the header above a body is kept and ends the cut before it.
    slots = np.searchsorted(filled, cuts[:, 0]).tolist()
    shallowest = _shallowest(document, cuts)
    parts: list[str] = []
    row = 0
    for (first, last), slot, least in zip(cuts.tolist(), slots, shallowest, strict=True):
        parts.append(_lines(document, row, first, style))
        at = int(filled[slot]) if slot < filled.shape[0] and filled[slot] <= last else None
        body = "" if at is None else fillers[at] + "  "
        indent = _indent(document, least if at is None else at)
        comment = document.comment(first, last, kept)
        lead = body if comment.flush else indent + body
        parts.append(_marker(document, Cut(first + 1, last + 1), lead, comment, style))
        row = last + 1
    parts.append(_lines(document, row, kept.shape[0], style))
    return "".join(parts), _as_cuts(cuts)


def _as_cuts(runs: IntArray) -> tuple[Cut, ...]:
    return tuple(Cut(first + 1, last + 1) for first, last in runs.tolist())


def _swe_pruners(document: Document, kept: BoolArray, style: Style) -> str:
    lines = [document.text[first:stop] for first, stop in document.spans.tolist()]
    heads = [f"{number}\t" for number in document.numbers.tolist()] if style.line_numbers else None
    return filtered_text(lines, kept, heads)


def _lines(document: Document, first: int, stop: int, style: Style) -> str:
    """The lines of the rows from `first` to before `stop`."""
    if first >= stop:
        return ""
    if not style.line_numbers:
        return document.text[document.spans[first, 0] : document.spans[stop - 1, 1]]
    return "".join(f"{document.numbers[row]}\t{document.line(row)}" for row in range(first, stop))


def sample_marker(document: Document, style: Style | None = None) -> str:
    """A marker of about the length that those of a document have, at some indentation."""
    last = len(document.blank)
    names = ": one_name, another \u2026" if style is not None and style.markers == NAMED else ""
    return f"    {document.language.comment.wrap(_words(last, last) + names)}\n"


NUMBERS = expression(r"(?<=\.\.\. )(?P<first>\d+)(?:-(?P<last>\d+))?(?= pruned)")
"""The numbers in a marker's words."""


def _words(first: int, last: int) -> str:
    return f"... {first}-{last} pruned"


def _marker(document: Document, cut: Cut, lead: str, comment: Comment, style: Style) -> str:
    """The line that stands for a cut; `lead` is its indentation and filler."""
    ending = document.line(cut.end - 1)
    newline = ending[len(ending.rstrip("\r\n")) :]
    head = document.margin
    head += BOM if cut.start == 1 and document.text.startswith(BOM) else ""
    head += "\t" if style.line_numbers else ""
    if style.markers == SWE_PRUNER:
        return f"{head}(filtered {cut.lines} lines){newline}"
    told = document.told[cut.start - 1 : cut.end]
    first, last = (told[told > 0][[0, -1]] if (told > 0).any() else told[[0, -1]]).tolist()
    words = _words(first, last) if cut.lines > 1 else f"... {first} pruned"
    if last - first + 1 != cut.lines or first < 1:  # of a listing that leaves out numbers
        numbers = f" ({first}-{last})" if 0 < first < last else ""
        words = f"... {cut.lines} line{'s' if cut.lines > 1 else ''} pruned{numbers}"
    if style.markers == NAMED and document.definitions is not None:
        words += document.definitions.label(cut.start - 1, cut.end - 1)
    is_last = comment.last is not None and document.begins_with(cut.end, _CLOSERS)
    return f"{head}{lead}{comment.wrap(words, is_last=is_last)}{newline}"


def _indent(document: Document, row: int) -> str:
    """The white space that the row begins with."""
    start = int(document.body_spans[row, 0])
    return document.body[start : start + int(document.indents[row])]


def _shallowest(document: Document, cuts: IntArray) -> list[int]:
    """For each cut the row whose indentation its marker takes: the least indented one, and the first of equals.

    Rows in which a unit begins go before other rows with ink, and those before blank rows."""
    rows = document.blank.shape[0]
    if not cuts.shape[0]:
        return []
    rank = np.where(document.blank, 2, ~document.starts)
    depth = np.where(document.blank, 0, document.indents)
    keys = (rank * (int(depth.max()) + 1) + depth) * rows + np.arange(rows)
    bounds = (cuts + np.array([0, 1])).reshape(-1)  # a cut, the kept rows after it, the next cut, ...
    least: list[int] = (np.minimum.reduceat(np.append(keys, 0), bounds)[::2] % rows).tolist()
    return least
