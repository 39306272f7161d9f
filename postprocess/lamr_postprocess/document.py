"""A text made ready for pruning: its lines, its language, and the rules of its repair.

One `Document` serves any number of selections of the same text, which is what a search for a token budget needs. Lines
of a text without a tree may be in another language, and a marker there takes that one's comments
(`markup_of`)."""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain, product
from typing import Any

import numpy as np
from lamr_base.records import dataclass
from numpy.typing import NDArray

from lamr_postprocess.bonds import bonds_of
from lamr_postprocess.captures import read_names
from lamr_postprocess.clock import in_time, look
from lamr_postprocess.definitions import Definitions, DefinitionSpan, definitions_of, spans_in
from lamr_postprocess.disputes import Disputes, disputes_of
from lamr_postprocess.frames import Frames, frames_of, no_frames
from lamr_postprocess.headings import headings_of
from lamr_postprocess.languages import Comment, Language
from lamr_postprocess.lines import (
    BOM,
    BoolArray,
    IntArray,
)
from lamr_postprocess.listing import Listing
from lamr_postprocess.mending import parse_mended, runs_of
from lamr_postprocess.outcomes import OutcomeRows, outcome_of
from lamr_postprocess.outline import NOBODY, Outline, outline_of
from lamr_postprocess.outputs import output_frames
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
from lamr_postprocess.source_file import SourceFile
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

_NONE = -1


@dataclass(frozen=True, eq=False)
class Markup:
    """The comment syntax of each of R rows."""

    rows: IntArray  # [R], an index into `comments`; -1 for the language's own
    around: IntArray  # [R], the row in which begins what stands around each; -1 for nothing
    comments: tuple[Comment, ...] = ()  # the comment syntaxes of the parts


def no_markup(rows: int) -> Markup:
    """So many rows in the language's own syntax."""
    return Markup(np.full(rows, _NONE), np.full(rows, _NONE))


def markup_of(text: str, spans: IntArray, language: Language) -> Markup:
    """Find the parts that the language's table describes, in a text whose rows have the offsets `spans`, int [R, 2].

    A part that nothing closes is none. Parts are looked for one after the other, so that none lies in another
    one."""
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
    """The n lists of a file that must not be empty."""

    text: tuple[str, ...]  # each list's filler
    # [n], the row of each list's first item, where the filler goes if the list is emptied
    first_row: IntArray
    items: IntArray  # int, the rows of all items, list after list
    bounds: IntArray  # [n + 1]; list i has `items[bounds[i]:bounds[i + 1]]`
    owner_row: IntArray  # [n], a row of the frame that needs the list

    def needed(self, kept: BoolArray) -> dict[int, str]:
        """The row and filler of every list whose frame is kept and whose items are all cut, for `kept` bool [L]."""
        if not self.text:
            return {}
        alive = np.logical_or.reduceat(kept[self.items], self.bounds[:-1])
        empty = np.flatnonzero(~alive & kept[self.owner_row])
        return {int(self.first_row[i]): self.text[i] for i in empty.tolist()}


@dataclass(frozen=True, eq=False)
class Document:
    """A text of L lines, ready for any number of selections."""

    text: str  # the text as it was given
    language: Language  # its language
    spans: IntArray  # [L, 2], character offsets of the lines
    body: str  # the code without line prefixes (see `listing`), which is the text where it has none
    body_spans: IntArray  # [L, 2], character offsets of the body's lines
    numbers: IntArray  # [L], the numbers that people know the lines by
    # [L], the numbers that markers say; 0 where nobody knows them, as of a search in several files
    told: IntArray
    margin: str  # the white space that stands before a marker
    blank: BoolArray  # [L], lines of white space alone
    indents: IntArray  # [L], characters of leading white space
    # [L], rows where a unit begins; all rows with ink where the text is pruned line by line
    starts: BoolArray
    # [L], the index into `comments` of the syntax that a marker takes where a cut's ink begins; -1 for the language's
    # own
    markup: IntArray
    comments: tuple[Comment, ...]  # the comment syntaxes that parts of the text bring
    around: IntArray  # [L], the row in which begins what stands around each; -1 for nothing
    pieces: IntArray  # [L], the function or paragraph of each (see `pieces`)
    rules: Rules  # what repair needs
    fillers: Fillers  # what rendering needs
    # what named cuts hide; None where cuts aren't to be named or there is no syntax tree
    definitions: Definitions | None
    note: str | None  # what was not done as usual, in words; None when all was

    def repair(self, selected: BoolArray, bare: BoolArray | None = None) -> Codes:
        """Close a selection under the rules; returns codes int8 [L], indices into `repair.REASONS`. `selected`: bool
        [L]. `bare`: bool [L], lines that are selected as well and bring only what they need to parse."""
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
        a blank line may be kept without the script that it stands in."""
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


def analyse(
    source: SourceFile, *, repair: bool = True, named: bool = False, least_cut: int = LEAST_CUT
) -> Document:
    """Find the repair rules of a text. A text that can't be parsed is pruned line by line, never refused.

    Args:
        repair: whether there are rules; without them every selection is its own closure.
        named: whether cuts are to name the definitions that they hide; this needs the syntax tree, and so it needs
            `repair`.
        least_cut: see `LEAST_CUT`; 0 fills no gaps but blank lines."""
    return source.once(
        "analysis", (repair, named, least_cut), lambda: _analysed(source, repair, named, least_cut)
    )


def _analysed(source: SourceFile, repair: bool, named: bool, least_cut: int) -> Document:
    layout, listing = source.layout, source.listing
    spans, lines = layout.spans, layout.spans.shape[0]
    indents = _indents(layout.points, spans)
    structure = _Structure(no_rules(lines), no_markup(lines))
    if repair:
        space = _Space(layout.blank, indents, spans[:, 1] - spans[:, 0] - indents, least_cut)
        structure = _structure(source, space, named)
        if source.text.startswith(BOM) and not source.language.skips_mark:
            structure = replace(structure, rules=keeping_first(structure.rules))
    outline = structure.outline
    numbers = np.arange(1, lines + 1) if listing is None or listing.numbers is None else listing.numbers
    told = numbers if listing is None or listing.numbers is not None else _told(listing, numbers)
    return Document(
        text=source.text,
        language=source.language,
        spans=source.spans,
        body=source.body,
        body_spans=spans,
        numbers=numbers,
        told=told,
        margin="" if listing is None else listing.margin,
        blank=layout.blank,
        indents=indents,
        starts=~layout.blank if outline is None else outline.starts,
        markup=structure.markup.rows,
        comments=structure.markup.comments,
        around=structure.markup.around,
        pieces=pieces_of(layout.blank, structure.spans),
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
class _Space:
    """What of L lines is white space and what isn't."""

    blank: BoolArray  # [L], lines of white space alone
    indents: IntArray  # [L], characters of leading white space
    costs: IntArray  # [L], the other characters
    least_cut: int  # how many of these the smallest cut between kept lines has


def _by_line(source: SourceFile, space: _Space, why: str | None) -> _Structure:
    """The structure of a text without a tree, and why it has none if that is worth a word."""
    text, lines, language, spans = source.body, source.body_lines, source.language, source.layout.spans
    wholes = wholes_of(source)
    inner = wholes.head != np.arange(len(lines))
    frames = _frames(source, space, inner, wholes)
    blank = space.blank & ~inner
    more = bonds_of(lines, blank, language, frames, wholes)
    rules = rules_without_tree(space.costs, blank, frames, wholes, more, space.least_cut)
    return _Structure(rules, markup_of(text, spans, language), f"{why} pruned line by line" if why else None)


def _frames(source: SourceFile, space: _Space, inner: BoolArray, wholes: Wholes) -> Frames:
    """Which lines of a text without a tree are nothing without others."""
    language, lines = source.language, source.body_lines
    if language.blocks is not None:
        return language.blocks(lines, space.blank)
    frames = no_frames(headings_of(source.body, language, inner))
    if language.frames is None:
        return frames
    unread = space.blank | inner
    unread[list(wholes.tags)] = True
    indents = space.indents.copy()
    for engine, row in product(language.templates, wholes.remarks):
        if told := re.search(engine.indents, lines[row]):
            indents[row] = int(told[1][:2])
    found = frames_of(lines, indents, unread, language.frames, language.items, set(wholes.remarks))
    outermost = (found.above < 0) & ~space.blank
    return Frames(np.where(outermost, frames.above, found.above), found.opening)


def _structure(source: SourceFile, space: _Space, named: bool) -> _Structure:
    """The structure of a text."""
    language = source.language
    tree, why = _parsed(source)
    if tree is None:
        return _by_line(source, space, why)
    # The outline comes first, since its walk takes more memory than names do, and the tree goes before rules are made.
    outline = outline_of(tree, language)
    names = [
        (read_names(each, each.grammar.language), each.grammar.language) for each in in_time(tree.all, 1)
    ]
    look()
    definitions = definitions_of(tree, space.indents) if named else None
    if names[0][0].misread:
        return _by_line(source, space, _BROKEN.format(language.name))
    damage, spans = tree.damage, spans_in(tree)
    disputes = disputes_of(source, outline, tree)
    why = _note(language, damage, disputes)
    del tree
    look()
    rules = rules_of(names, outline, damage, disputes, space.costs, space.least_cut)
    markup = Markup(outline.markup, outline.around, outline.comments)
    return _Structure(rules, markup, why, outline, definitions, spans)


def _parsed(source: SourceFile) -> tuple[ParsedText | None, str | None]:
    """A text's tree and a note on it; without a tree, why there is none, if that is worth a word."""
    text, language, listing = source.body, source.language, source.listing
    if listing is not None and listing.files > 1:
        return None, f"lines of {listing.files} files:"
    if not language.grammar or not text:
        return None, _why_by_line(text, language)
    try:
        tree = parse_mended(text, language)
    except MissingGrammarError as error:
        return None, f"{error};"
    except CostlySyntaxError as error:
        return None, _UNPARSED[type(error)].format(language.name)
    root = tree.tree.root_node
    refused = root.has_error and language.parses is not None and not language.parses(text)
    if root.is_error or refused:
        return None, _BROKEN.format(language.name)
    return tree, None


def _why_by_line(text: str, language: Language) -> str | None:
    """Why a text isn't parsed, in words; None where nobody would expect that it is."""
    if language.template is not None:
        return f"{language.name} with the tags of {language.template.name}:"
    return None if language.name == "text" or not text else f"{language.name}: no grammar,"


def _note(language: Language, damage: Damage | None, disputes: Disputes) -> str | None:
    """What is said of the lines that the grammar couldn't read, or read otherwise than their brackets say."""
    notes = []
    if damage is not None and damage.told:
        notes.append(
            f"with syntax errors in lines {_lines(damage.told)}: there, cut by lines and indentation"
        )
    elif broken := disputes.broken.difference(() if damage is None else damage.rows):
        where = _lines(runs_of(sorted(broken)))
        notes.append(f"with syntax errors in lines {where}: broken statements are kept or cut whole")
    if disputes.told:
        notes.append(f"read by its brackets and end words in lines {_lines(disputes.told)}")
    return f"{language.name} {'; '.join(notes)}" if notes else None


def _lines(runs: Sequence[tuple[int, int]]) -> str:
    """The numbers of the lines in some runs of rows, the first ones."""
    lines = [f"{first + 1}-{last + 1}" if last > first else f"{first + 1}" for first, last in runs]
    more = f" and {len(lines) - _MOST_TOLD} other places" if len(lines) > _MOST_TOLD else ""
    return ", ".join(lines[:_MOST_TOLD]) + more


def _told(listing: Listing, rows: IntArray) -> IntArray:
    """What markers say of a listing whose numbers aren't one after the other, int [L]; 0 for nothing.

    Where only blank lines have no number, all lines of a file are there, and their rows are its numbers."""
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
