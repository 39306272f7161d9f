"""A text made ready for pruning: its lines, its language, and the rules of its repair.

One `Document` serves any number of selections of the same text, which is what a search for a token budget needs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lamr_postprocess.captures import read_names
from lamr_postprocess.clock import in_time, look
from lamr_postprocess.definition_spans import DefinitionSpan, spans_in
from lamr_postprocess.definitions import Definitions, definitions_of
from lamr_postprocess.frames import Frames, frames_of, no_frames
from lamr_postprocess.headings import headings_of
from lamr_postprocess.languages import Comment, Language
from lamr_postprocess.lines import (
    BOM,
    BoolArray,
    IntArray,
    blank_lines,
    code_points,
    line_spans,
    spans_of,
    split_lines,
)
from lamr_postprocess.listing import Listing
from lamr_postprocess.mending import parse_mended
from lamr_postprocess.outcomes import OutcomeRows, outcome_of
from lamr_postprocess.outline import NOBODY, Outline, outline_of
from lamr_postprocess.outputs import output_frames
from lamr_postprocess.parts import Markup, markup_of, no_markup
from lamr_postprocess.pieces import pieces_of
from lamr_postprocess.repair import (
    CUT,
    Codes,
    Rules,
    close,
    keeping_first,
    no_rules,
    rules_of,
    rules_without_tree,
)
from lamr_postprocess.syntax import (
    CostlySyntaxError,
    Damage,
    DeepSyntaxError,
    FailedGrammarError,
    LargeSyntaxError,
    MissingGrammarError,
    ParsedText,
)
from lamr_postprocess.wholes import Wholes, wholes_of

LEAST_CUT = 100
"""Characters without indentation that a cut between kept lines hides at least. A marker takes as many tokens as some
forty characters of code. More are kept because a text in fewer pieces holds more of what is needed for the same tokens
(docs/lab/repair.md)."""

_MOST_TOLD = 8
"""Runs of damaged lines that a note names."""

_BROKEN = "{} that doesn't parse:"
_UNPARSED = {
    CostlySyntaxError: "{} that takes too long to parse:",
    DeepSyntaxError: "{} that is nested too deeply to parse:",
    LargeSyntaxError: "{} that is too large to parse:",
    FailedGrammarError: "{} whose grammar failed:",
}


@dataclass(frozen=True, eq=False)
class Fillers:
    """The n lists of a file that must not be empty.

    Attributes:
        text: each list's filler.
        first_row: int [n], the row of each list's first item, where the filler goes if the list is emptied.
        items: int, the rows of all items, list after list.
        bounds: int [n + 1]; list i has `items[bounds[i]:bounds[i + 1]]`.
        owner_row: int [n], a row of the frame that needs the list.
    """

    text: tuple[str, ...]
    first_row: IntArray
    items: IntArray
    bounds: IntArray
    owner_row: IntArray

    def needed(self, kept: BoolArray) -> dict[int, str]:
        """The row and filler of every list whose frame is kept and whose items are all cut, for `kept` bool [L]."""
        if not self.text:
            return {}
        alive = np.logical_or.reduceat(kept[self.items], self.bounds[:-1])
        empty = np.flatnonzero(~alive & kept[self.owner_row])
        return {int(self.first_row[i]): self.text[i] for i in empty.tolist()}


@dataclass(frozen=True, eq=False)
class Document:
    """A text of L lines, ready for any number of selections.

    Attributes:
        text: the text as it was given.
        language: its language.
        spans: int [L, 2], character offsets of the lines.
        body: the code without line prefixes (see `listing`), which is the text where it has none.
        body_spans: int [L, 2], character offsets of the body's lines.
        numbers: int [L], the numbers that people know the lines by.
        told: int [L], the numbers that markers say; 0 where nobody knows them, as of a search in several files.
        margin: the white space that stands before a marker.
        blank: bool [L], lines of white space alone.
        indents: int [L], characters of leading white space.
        starts: bool [L], rows where a unit begins; all rows with ink where the text is pruned line by line.
        markup: int [L], the index into `comments` of the syntax that a marker takes where a cut's ink begins; -1 for
            the language's own.
        comments: the comment syntaxes that parts of the text bring.
        around: int [L], the row in which begins what stands around each; -1 for nothing.
        pieces: int [L], the function or paragraph of each (see `pieces`).
        rules: what repair needs.
        fillers: what rendering needs.
        definitions: what named cuts hide; None where cuts aren't to be named or there is no syntax tree.
        note: what was not done as usual, in words; None when all was.
    """

    text: str
    language: Language
    spans: IntArray
    body: str
    body_spans: IntArray
    numbers: IntArray
    told: IntArray
    margin: str
    blank: BoolArray
    indents: IntArray
    starts: BoolArray
    markup: IntArray
    comments: tuple[Comment, ...]
    around: IntArray
    pieces: IntArray
    rules: Rules
    fillers: Fillers
    definitions: Definitions | None
    note: str | None

    def repair(self, selected: BoolArray, bare: BoolArray | None = None) -> Codes:
        """Close a selection under the rules; returns codes int8 [L], indices into `repair.REASONS`.

        Args:
            selected: bool [L].
            bare: bool [L], lines that are selected as well and bring only what they need to parse.
        """
        look()
        codes = np.zeros(selected.shape[0], dtype=np.int8)
        if selected.any():
            codes = close(self.rules, selected)
        if bare is None or not bare.any():
            return codes
        return np.where(codes != CUT, codes, close(self.rules.bare, (codes != CUT) | bare))

    @cached_property
    def outcome(self) -> OutcomeRows:
        """What the text says of how a tool's run ended; nothing of a text that is no tool's output."""
        if self.language.blocks is not output_frames:
            return OutcomeRows()
        return outcome_of([self.body[start:stop] for start, stop in self.body_spans.tolist()])

    def comment(self, first: int, last: int, kept: BoolArray) -> Comment:
        """The comment syntax of a marker for these rows, where the rows bool [L] are kept.

        It is that of the first row with ink, since blank ones are no units, or of what stands around it and isn't kept:
        a blank line may be kept without the script that it stands in.
        """
        row = self._inked(first, last)
        while 0 <= (outer := int(self.around[row])) < row and not kept[outer]:
            row = outer
        at = int(self.markup[row])
        return self.language.comment if at < 0 else self.comments[at]

    def _inked(self, first: int, last: int) -> int:
        """The first row with ink among these; without one, that row beside them which lies deeper."""
        if not self.blank[first : last + 1].all():
            return first + int(np.argmin(self.blank[first : last + 1]))
        after, before = self.blank[last + 1 :], self.blank[:first][::-1]
        beside = [last + 1 + int(np.argmin(after))] if not after.all() else []
        beside += [first - 1 - int(np.argmin(before))] if not before.all() else []
        return max(beside, key=self._depth, default=first)

    def _depth(self, row: int) -> int:
        """In how many others the row lies."""
        depth = 0
        while 0 <= (outer := int(self.around[row])) < row:
            row, depth = outer, depth + 1
        return depth

    def line(self, row: int) -> str:
        """One line with its newline."""
        start, stop = self.spans[row].tolist()
        return self.text[start:stop]

    def begins_with(self, row: int, characters: str) -> bool:
        """Whether the first ink from a row on is one of these characters, or there is none."""
        rest = self.blank[row:]
        at = row + int(np.argmin(rest)) if rest.size and not rest.all() else None
        return at is None or self.body[int(self.body_spans[at, 0] + self.indents[at])] in characters


def analyse(  # noqa: PLR0913  # keyword-only, each with a default
    text: str,
    language: Language,
    *,
    listing: Listing | None = None,
    repair: bool = True,
    naming: Callable[[str], int] | None = None,
    least_cut: int = LEAST_CUT,
) -> Document:
    """Find the lines and the repair rules of a text. A text that can't be parsed is pruned line by line, never refused.

    Args:
        text: the text, with its line prefixes if it has any.
        language: its language.
        listing: what `read_listing` gives for the text.
        repair: whether there are rules; without them every selection is its own closure.
        naming: counts tokens, where cuts are to name the definitions that they hide; this needs the syntax tree, and
            so it needs `repair`.
        least_cut: see `LEAST_CUT`; 0 fills no gaps but blank lines.
    """
    body = text if listing is None else listing.body
    points = code_points(body)
    spans = spans_of(points)
    lines = spans.shape[0]
    blank = blank_lines(points, spans)
    indents = _indents(points, spans)
    cost = spans[:, 1] - spans[:, 0] - indents
    structure = _Structure(no_rules(lines), no_markup(lines))
    if repair:
        space = _Space(blank, indents)
        structure = _structure(body, language, _Costs(cost, least_cut), space, listing, naming)
        if text.startswith(BOM) and not language.skips_mark:
            structure = replace(structure, rules=keeping_first(structure.rules))
    outline = structure.outline
    numbers = np.arange(1, lines + 1) if listing is None or listing.numbers is None else listing.numbers
    told = numbers if listing is None or listing.numbers is not None else _told(listing, numbers)
    return Document(
        text=text,
        language=language,
        spans=spans if listing is None else line_spans(text),
        body=body,
        body_spans=spans,
        numbers=numbers,
        told=told,
        margin="" if listing is None else listing.margin,
        blank=blank,
        indents=indents,
        starts=~blank if outline is None else outline.starts,
        markup=structure.markup.rows,
        comments=structure.markup.comments,
        around=structure.markup.around,
        pieces=pieces_of(blank, structure.spans),
        rules=structure.rules,
        fillers=_no_fillers() if outline is None else _fillers(outline),
        definitions=structure.definitions,
        note=structure.note,
    )


@dataclass(frozen=True, eq=False)
class _Structure:
    """What is known of a text's syntax: no outline where it is pruned line by line."""

    rules: Rules
    markup: Markup
    note: str | None = None
    outline: Outline | None = None
    definitions: Definitions | None = None
    spans: Sequence[DefinitionSpan] = ()


@dataclass(frozen=True, eq=False)
class _Costs:
    """Characters without indentation: of each line, int [L], and of the smallest cut between kept lines."""

    of_lines: IntArray
    least_cut: int


@dataclass(frozen=True, eq=False)
class _Space:
    """The white space of L lines: bool [L] whether they hold nothing else, and their indents int [L]."""

    blank: BoolArray
    indents: IntArray


def _by_line(text: str, language: Language, costs: _Costs, space: _Space, why: str | None) -> _Structure:
    """The structure of a text without a tree, and why it has none if that is worth a word."""
    lines, spans = split_lines(text), line_spans(text)
    wholes = wholes_of(text, lines, spans, language)
    inner = wholes.head != np.arange(len(lines))
    frames = _frames(text, lines, language, space, inner, wholes)
    blank = space.blank & ~inner
    more = [*_introduced(lines, blank, wholes, language), *_filled(lines, blank, language, frames, wholes)]
    rules = rules_without_tree(costs.of_lines, blank, frames, wholes, more, costs.least_cut)
    return _Structure(rules, markup_of(text, spans, language), f"{why} pruned line by line" if why else None)


def _introduced(
    lines: list[str], blank: BoolArray, wholes: Wholes, language: Language
) -> Iterator[tuple[int, int]]:
    """The rows that are nothing without the next one, and that one's."""
    if language.documents:
        begins = re.compile(rf"[ \t]*(?:{language.documents})")
        for row, below in pairwise(np.flatnonzero(~blank).tolist()):
            head = int(wholes.head[row])
            if head != wholes.head[below] and (begins.match(lines[row]) or begins.match(lines[head])):
                yield row, below


def _filled(
    lines: list[str], blank: BoolArray, language: Language, frames: Frames, wholes: Wholes
) -> Iterator[tuple[int, int]]:
    """The rows of blocks that may not be empty, and the first one inside."""
    if language.filled:
        comment = language.comment.opening
        rows = [row for row in np.flatnonzero(~blank).tolist() if not lines[row].lstrip().startswith(comment)]
        first = {int(outer[row]): row for outer in (frames.above, wholes.inside) for row in reversed(rows)}
        yield from ((outer, row) for outer, row in first.items() if outer >= 0)


def _frames(  # noqa: PLR0913, PLR0917  # a text, and what is known of its lines
    text: str, lines: list[str], language: Language, space: _Space, inner: BoolArray, wholes: Wholes
) -> Frames:
    """Which lines of a text without a tree are nothing without others."""
    if language.blocks is not None:
        return language.blocks(lines, space.blank)
    frames = no_frames(headings_of(text, language))
    if language.frames is None:
        return frames
    unread = space.blank | inner
    unread[list(wholes.tags)] = True
    found = frames_of(lines, space.indents, unread, language.frames)
    outermost = (found.above < 0) & ~space.blank
    return Frames(np.where(outermost, frames.above, found.above), found.opening)


def _structure(  # noqa: PLR0913, PLR0917  # a text, and what is known of it
    text: str,
    language: Language,
    costs: _Costs,
    space: _Space,
    listing: Listing | None,
    naming: Callable[[str], int] | None,
) -> _Structure:
    """The structure of a text."""
    source, why = _parsed(text, language, listing)
    if source is None:
        return _by_line(text, language, costs, space, why)
    # The outline comes first, since its walk takes more memory than names do, and the tree goes before rules are made.
    outline = outline_of(source, language)
    names = [
        (read_names(each, each.grammar.language), each.grammar.language) for each in in_time(source.all, 1)
    ]
    look()
    definitions = None if naming is None else definitions_of(source, space.indents, naming)
    if names[0][0].misread:
        return _by_line(text, language, costs, space, _BROKEN.format(language.name))
    damage, spans = source.damage, spans_in(source)
    del source
    look()
    rules = rules_of(names, outline, damage, costs.of_lines, costs.least_cut)
    markup = Markup(outline.markup, outline.around, outline.comments)
    return _Structure(rules, markup, why, outline, definitions, spans)


def _parsed(text: str, language: Language, listing: Listing | None) -> tuple[ParsedText | None, str | None]:
    """A text's tree and a note on it; without a tree, why there is none, if that is worth a word."""
    if listing is not None and listing.files > 1:
        return None, f"lines of {listing.files} files:"
    if not language.grammar or not text:
        return None, _why_by_line(text, language)
    try:
        source = parse_mended(text, language)
    except MissingGrammarError as error:
        return None, f"{error};"
    except CostlySyntaxError as error:
        return None, _UNPARSED[type(error)].format(language.name)
    root = source.tree.root_node
    broken = root.has_error
    refused = broken and language.parses is not None and not language.parses(text)
    if root.is_error or refused:
        return None, _BROKEN.format(language.name)
    return source, _note(language, source.damage, broken=broken)


def _why_by_line(text: str, language: Language) -> str | None:
    """Why a text isn't parsed, in words; None where nobody would expect that it is."""
    if language.template is not None:
        return f"{language.name} with the tags of {language.template.name}:"
    return None if language.name == "text" or not text else f"{language.name}: no grammar,"


def _note(language: Language, damage: Damage | None, *, broken: bool) -> str | None:
    """What is said of a text's errors, with the lines that were read without a tree."""
    told = () if damage is None else damage.told
    if not told:
        return (
            f"{language.name} with syntax errors: broken statements are kept or cut whole" if broken else None
        )
    lines = [f"{first + 1}-{last + 1}" if last > first else f"{first + 1}" for first, last in told]
    more = f" and {len(lines) - _MOST_TOLD} other places" if len(lines) > _MOST_TOLD else ""
    where = ", ".join(lines[:_MOST_TOLD]) + more
    return f"{language.name} with syntax errors in lines {where}: there, cut by lines and indentation"


def _told(listing: Listing, rows: IntArray) -> IntArray:
    """What markers say of a listing whose numbers aren't one after the other, int [L]; 0 for nothing.

    Where only blank lines have no number, all lines of a file are there, and their rows are its numbers.
    """
    if listing.places is None or listing.files > 1:
        return np.zeros_like(rows)
    found = listing.places.number[listing.places.number > 0]
    return rows if (np.diff(found) == 1).all() else listing.places.number


def _indents(points: NDArray[Any], spans: IntArray) -> IntArray:
    """The number of leading spaces and tabs of each line, int [L]."""
    if spans.shape[0] == 0:
        return np.zeros(0, dtype=np.int64)
    goes_on = np.empty(points.shape[0] + 1, dtype=np.bool_)  # with a space or tab, as a line's first one does
    goes_on[:-1] = (points == 32) | (points == 9)
    goes_on[-1] = False
    ends = np.flatnonzero(goes_on[:-1] & ~goes_on[1:]) + 1  # of runs
    starts = spans[:, 0]
    run = np.minimum(np.searchsorted(ends, starts, side="right"), max(ends.shape[0] - 1, 0))
    indents: IntArray = (
        np.where(goes_on[starts], ends[run] - starts, 0) if ends.shape[0] else np.zeros_like(starts)
    )
    return indents


def _no_fillers() -> Fillers:
    none = np.zeros(0, dtype=np.int64)
    return Fillers((), none, none, np.zeros(1, dtype=np.int64), none)


def _fillers(outline: Outline) -> Fillers:
    """The lists with a filler whose frame owns a row."""
    row_of_group = np.full(outline.groups, NOBODY, dtype=np.int64)
    owned = np.flatnonzero(outline.owner != NOBODY)[::-1]
    row_of_group[outline.owner[owned]] = owned
    owned_unit = (row_of_group[outline.unit_group] != NOBODY).tolist()
    lists = [each for each in outline.lists if each.kind.filler and owned_unit[each.owner]]
    if not lists:
        return _no_fillers()
    bounds = np.cumsum([0, *(len(each.items) for each in lists)])
    rows = outline.unit_row[list(chain.from_iterable(each.items for each in lists))]
    return Fillers(
        text=tuple(each.kind.filler for each in lists),
        first_row=rows[bounds[:-1]],
        items=rows,
        bounds=bounds,
        owner_row=row_of_group[outline.unit_group[[each.owner for each in lists]]],
    )
