"""Which lines each line of a text without a grammar is nothing without: the ones that it is indented under.

A line stands under the last line before it that is indented less: the keys above a setting, the class around a method.
A line that closes or goes on with a block, as the table of its language says (`}`, `fi`, `else`), and the line before
it at its indentation need each other."""

import re
from collections.abc import Sequence, Set
from itertools import islice

import numpy as np
from lamr_base.expressions import expression
from lamr_base.records import dataclass

from lamr_postprocess.clock import in_time
from lamr_postprocess.lines import BoolArray, IntArray

_TAG = expression(r"</([\w:.-]+)")
_NONE = -1
_MOST_SIBLINGS = 1000  # between two tags, so that a file of closing tags takes no time of its square


@dataclass(frozen=True, eq=False)
class Frames:
    """What the L lines of a text need."""

    above: IntArray  # [L], the row that each line stands under, negative for none
    # [L], for a line that closes or goes on with a block the row that begins it, negative for none
    opening: IntArray


def no_frames(above: IntArray) -> Frames:
    """Return frames of which only the rows above int [L] are known."""
    return Frames(above, np.full(above.shape[0], _NONE, dtype=np.int64))


def frames_of(  # noqa: PLR0913, PLR0917  # what is known of the lines
    lines: Sequence[str],
    indents: IntArray,
    blank: BoolArray,
    closing: str,
    items: str = "- ",
    remarks: Set[int] = frozenset(),
) -> Frames:
    """Return the frames of a text.

    Args:
        indents: int [L], how far each is indented.
        blank: bool [L], lines of white space alone, and others whose indentation says nothing; they need nothing.
        closing: a regular expression of how a line begins that closes or goes on with a block.
        items: of how one begins that stands under the line before it at its own indentation.
        remarks: rows that no other row stands under."""
    above, opening = np.full(len(lines), _NONE, dtype=np.int64), np.full(len(lines), _NONE, dtype=np.int64)
    closes, item = re.compile(closing), re.compile(items)
    # The lines that the next one may stand under, each with its depth and its rows at that depth so far.
    open_frames: list[tuple[int, list[int]]] = []
    for row in in_time(np.flatnonzero(~blank).tolist()):
        text = lines[row].lstrip()
        depth = 2 * int(indents[row]) + (item.match(text) is not None)
        if row in remarks:
            above[row] = next((rows[-1] for outer, rows in reversed(open_frames) if outer < depth), _NONE)
            continue
        while open_frames and open_frames[-1][0] > depth:
            open_frames.pop()
        if not open_frames or open_frames[-1][0] < depth:
            open_frames.append((depth, []))
        siblings = open_frames[-1][1]
        if len(open_frames) > 1:
            above[row] = open_frames[-2][1][-1]
        if closes.match(text):
            opening[row] = _opening(text, siblings, lines)
        siblings.append(row)
    return Frames(above, opening)


def _opening(text: str, siblings: Sequence[int], lines: Sequence[str]) -> int:
    """Return the row that a closing line belongs to: the last at its depth, for a tag the last of its name."""
    tag = _TAG.match(text)
    if tag is None:
        opens = text.rstrip() == "{" and siblings and lines[siblings[-1]].rstrip().endswith((",", ";", "}"))
        return siblings[-1] if siblings and not opens else _NONE
    begin = f"<{tag[1]}"
    near = islice(reversed(siblings), _MOST_SIBLINGS)
    return next((row for row in near if lines[row].lstrip().startswith(begin)), _NONE)
