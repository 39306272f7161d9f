"""Which lines of a text without a tree are in another language, so that a marker there takes that one's comments."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np

from lamr_postprocess.languages import Language
from lamr_postprocess.languages.table import Comment
from lamr_postprocess.lines import IntArray

_NONE = -1


@dataclass(frozen=True, eq=False)
class Markup:
    """The comment syntax of each of R rows.

    Attributes:
        rows: int [R], an index into `comments`; -1 for the language's own.
        around: int [R], the row in which begins what stands around each; -1 for nothing.
        comments: the comment syntaxes of the parts.
    """

    rows: IntArray
    around: IntArray
    comments: tuple[Comment, ...] = ()


def no_markup(rows: int) -> Markup:
    """So many rows in the language's own syntax."""
    return Markup(np.full(rows, _NONE), np.full(rows, _NONE))


def markup_of(text: str, spans: IntArray, language: Language) -> Markup:
    """Find the parts that the language's table describes, in a text whose rows have the offsets `spans`, int [R, 2].

    A part that nothing closes is none. Parts are looked for one after the other, so that none lies in another one.
    """
    markup = no_markup(spans.shape[0])
    if not language.parts:
        return markup
    markup = replace(markup, comments=tuple(part.comment for part in language.parts))
    opening = re.compile("|".join(f"({part.opening})" for part in language.parts), re.MULTILINE)
    at = 0
    while found := opening.search(text, at):
        number = next(i for i, each in enumerate(found.groups()) if each is not None)
        closed = re.compile(language.parts[number].closing, re.MULTILINE).search(text, found.end())
        if closed is None:
            return markup
        first, last = np.searchsorted(spans[:, 1], (found.end() - 1, closed.start()), side="right")
        markup.rows[first + 1 : last] = number
        markup.around[first + 1 : last] = first
        at = closed.end()
    return markup
