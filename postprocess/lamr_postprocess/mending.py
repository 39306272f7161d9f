"""Parsing a damaged text so that its damage stays local.

What can't be read is blanked, or replaced by what may be meant, and the rest is parsed as if nothing were wrong: macros
of C's family, the other side of a conflict, a branch of the preprocessor that opens what it doesn't close, the few rows
that don't parse. Each step is taken only if it leaves less damage. No row is added or lost, so that rows of the tree
are those of the text; the blanked ones belong to no tree and are cut by lines and indentation."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache, cached_property, partial

import numpy as np
import tree_sitter
from lamr_base.expressions import expression
from lamr_base.records import dataclass

from lamr_postprocess.alternatives import Alternatives, branches_in, conditions_in, conflicts_in
from lamr_postprocess.blocks import NO_DEPTH, Blocks, blocks_of
from lamr_postprocess.clock import look
from lamr_postprocess.extent import Extent, error_rows, extent_of, whole_texts
from lamr_postprocess.frames import Frames, frames_of, no_frames
from lamr_postprocess.isolation import blank, isolate
from lamr_postprocess.languages import Language
from lamr_postprocess.languages.table import NEVER
from lamr_postprocess.syntax import (
    CostlySyntaxError,
    Damage,
    ParsedText,
    grammar_of,
    parse_bytes,
    parser_text,
)

_CONDITION = expression(rb"[ \t]*#[ \t]*(?:if|el|endif)")
_LONGEST_ROWS = 400
"""Bytes of a row in the mean, above which no rows are told apart: the text wasn't written by lines."""

_FEWEST_NODES = 8
"""Rows that a node stands for at most; a grammar that finds fewer nodes has taken the text for one long token."""


def parse_mended(text: str, language: Language) -> ParsedText:
    """Parse a text of a language that has a grammar; where it is damaged, the damage is kept as small as it can be.
    Raises `CostlySyntaxError`: see `lamr_postprocess.syntax.parse`."""
    data = parser_text(text)
    source = parse_bytes(data, grammar_of(language))
    broken = source.tree.root_node.has_error
    if len(data) > _LONGEST_ROWS * len(source.rows) or not (language.mends or language.macros):
        return source
    if not (broken or _macro(language, data)) or (broken and language.parses and language.parses(text)):
        return source
    return _Mender(source, language).mended()


def _macro(language: Language, data: bytes) -> bool:
    """Whether a text may be read wrongly though the grammar takes it: for the macro that is misread."""
    signed = any(re.search(sign.encode(), data) for sign in language.misread)
    return signed and _patterns(language)[0][0].search(data) is not None


@cache  # one entry a language
def _patterns(language: Language) -> tuple[tuple[re.Pattern[bytes], bytes], ...]:
    return tuple(
        (re.compile(pattern.encode(), re.MULTILINE), standing.encode())
        for pattern, standing in language.macros
    )


@dataclass(frozen=True)
class _Change:
    """What was done to a text."""

    blanked: frozenset[int] = frozenset()  # rows that belong to no tree
    bonds: tuple[tuple[int, int], ...] = ()  # see `Damage`
    told: frozenset[int] = frozenset()  # rows to be told of
    marks: frozenset[int] = frozenset()  # rows that tell versions apart, which no row stands under

    def and_(self, other: _Change) -> _Change:
        """Both changes."""
        return _Change(
            self.blanked | other.blanked,
            self.bonds + other.bonds,
            self.told | other.told,
            self.marks | other.marks,
        )


@dataclass(frozen=True, eq=False)
class _State:
    """A text as it is mended so far: its rows, what they parse to, how much is damaged, and what was done."""

    rows: list[bytes]
    source: ParsedText
    extent: Extent
    change: _Change = _Change()


class _Mender:
    """Mends one text, step by step."""

    def __init__(self, source: ParsedText, language: Language) -> None:
        self._language, self._grammar = language, source.grammar
        self._spans = source.rows.tolist()
        self._own = self._split(source.data)
        self._state = _State(list(self._own), source, extent_of(source.tree))

    def mended(self) -> ParsedText:
        """The source with the least damage."""
        self._blank_macros()
        if self._language.mends:
            self._mend_rows()
        state = self._state
        if state.rows == self._own:
            return state.source
        changed = state.change.blanked | state.change.told
        rows = tuple(sorted(row for row in changed if self._own[row].strip()))
        frames = no_frames(np.full(len(self._own), -1))
        if blanked := [*state.change.blanked]:  # which stand under rows before them
            found = _frames(self._blocks(self._own[: max(blanked) + 1]), self._language)
            frames.above[blanked], frames.opening[blanked] = found.above[blanked], found.opening[blanked]
        told = state.change.told
        bonds = (*state.change.bonds, *self._whole(told), *self._joined(told), *self._continued(told))
        return replace(state.source, damage=Damage(rows, frames, bonds, runs_of(sorted(told))))

    def _mend_rows(self) -> None:
        """Choose between versions of rows, and mend those that still don't parse."""
        if self._state.source.tree.root_node.has_error and (found := conflicts_in(self._own)):
            texts = list(whole_texts(self._state.source))
            quoted = [
                e for e in found if any(first < e.marks[0] and e.marks[-1] <= last for first, last in texts)
            ]
            self._choose([each for each in found if each not in quoted], surely=True)
            self._choose(quoted)
        if self._state.source.tree.root_node.has_error:
            self._choose(branches_in(self._own))
        if self._state.source.tree.root_node.has_error:
            self._isolate_between_conditions()

    def _joined(self, mended: frozenset[int]) -> Iterator[tuple[int, int]]:
        """The pairs of a mended row that goes on with the line before it, and that line's row."""
        before = 0
        for row, text in enumerate(self._own):
            inner = text.lstrip()
            if inner:
                if row in mended and chr(inner[0]) in self._language.joiners:
                    yield row, before
                before = row

    def _continued(self, mended: frozenset[int]) -> Iterator[tuple[int, int]]:
        """The pairs of a mended row that goes on in the next one, and that one, both ways."""
        goes_on, sign = self._language.goes_on or NEVER, re.escape(self._language.continuation) or NEVER
        end = re.compile(f"{goes_on}|{sign}$".encode())
        for row in sorted(mended):
            if row + 1 < len(self._own) and end.search(self._own[row].rstrip(b"\r\n")):
                yield row, row + 1
                yield row + 1, row

    def _whole(self, mended: frozenset[int]) -> Iterator[tuple[int, int]]:
        """The pairs of rows of comments and strings that no tree keeps together."""
        for first, last in self._texts:
            if first in mended:
                for row in range(first, last):
                    yield row, row + 1
                    yield row + 1, row

    def _blank_macros(self) -> None:
        """Replace the macros of the language's table: what may be misread everywhere, the others near errors."""
        if not self._language.macros:
            return
        patterns, misread = _patterns(self._language), bool(self._language.misread)
        data = _without(patterns[:misread], b"".join(self._own))
        rows = self._split(data)
        data = _without(patterns[misread:], data)
        for row in self._near_errors():
            rows[row] = data[slice(*self._spans[row])]
        for row, text in enumerate(self._own):
            if text.lstrip().startswith(b"#"):
                rows[row] = text
        gone = frozenset(row for row, text in enumerate(rows) if not text.strip() and self._own[row].strip())
        bonds = tuple((row, row - 1) for row in self._introduced(gone))
        self._take(rows, _Change(gone, bonds), at_most=True)

    def _near_errors(self) -> list[int]:
        """The rows of the outermost nodes with errors."""
        root = self._state.source.tree.root_node
        nodes = [root] if root.is_error else [each for each in root.children if each.has_error]
        return [
            row
            for node in nodes
            for row in range(node.start_point[0], min(node.end_point[0] + 1, len(self._own)))
        ]

    def _introduced(self, macros: frozenset[int]) -> Iterator[int]:
        """The rows that stand right below a macro with arguments, which says something of them."""
        for row in macros:
            if (
                row + 1 < len(self._own)
                and self._own[row].rstrip().endswith(b")")
                and self._own[row + 1].strip()
            ):
                yield row + 1

    def _choose(self, found: Sequence[Alternatives], *, surely: bool = False) -> None:
        """Parse the first or the last version of rows with several; `surely` where they can be nothing else."""
        if not found:
            return
        marks = frozenset(row for each in found for row in each.marks)
        bonds = tuple(
            (row, mark)
            for each in found
            for version in each.versions()
            for row in version
            for mark in each.marks
            if self._own[row].strip()
        )
        bonds += tuple((a, b) for each in found for a in each.marks for b in each.marks if a != b)
        for version in (0, -1):
            gone = frozenset().union(*(each.but(version) for each in found))
            rows = [blank(text) if row in gone else text for row, text in enumerate(self._state.rows)]
            self._take(rows, _Change(gone, bonds, marks, marks), surely=surely and version == 0)

    def _isolate_between_conditions(self) -> None:
        """Mend rows; if that isn't enough, once more without the preprocessor's conditions where errors are."""
        before = self._state
        self._isolate()
        if not self._state.source.tree.root_node.has_error or not self._language.preprocessed:
            return
        isolated, self._state = self._state, before
        errors = error_rows(before.source.tree)
        near = [e for e in conditions_in(self._own) if errors & {*range(e.marks[0], e.marks[-1] + 1)}]
        self._choose(near)
        if self._state is not before:
            self._isolate()
        if isolated.extent <= self._state.extent:
            self._state = isolated

    def _isolate(self) -> None:
        """Blank or mend the rows that don't parse."""
        blocks = self._blocks(self._state.rows)
        root = self._state.source.tree.root_node
        spans = [(0, len(self._own))] if root.is_error else list(self._damaged(blocks, root))
        rows, blanked, told = list(self._state.rows), set[int](), set[int]()
        head = self._head(root)
        readable = not root.is_error and self._grammar.language.parses is None  # which would refuse the rest
        for span in spans:
            mending = isolate(blocks, self._grammar, span, head, readable=readable)
            mending.apply(rows)
            blanked |= mending.blanked - mending.edited.keys()
            told |= mending.touched
        self._take(rows, _Change(frozenset(blanked), told=frozenset(told)))

    def _damaged(self, blocks: Blocks, root: tree_sitter.Node) -> Iterator[tuple[int, int]]:
        """The runs of outermost blocks, with the one before each, in which a node of the tree has an error."""
        faults = [n for n in root.children if n.has_error or n.is_missing]
        faulty = [row for n in faults for row in range(n.start_point[0], n.end_point[0] + 1)]
        run: tuple[int, int] | None = None
        for begin, stop in blocks.split(0, len(self._own)):
            if bisect_left(faulty, begin) < bisect_left(faulty, stop):
                run = (begin if run is None else run[0], stop)
            elif run is not None:
                yield run
                run = None
        if run is not None:
            yield run

    def _blocks(self, rows: Sequence[bytes]) -> Blocks:
        """The blocks of the text, without the lines of a preprocessor's conditions."""
        look()
        inside = frozenset(row for first, last in self._texts for row in range(first + 1, last + 1))
        if self._language.preprocessed:
            rows = [blank(text) if _CONDITION.match(text) else text for text in rows]
        marks = self._state.change.marks
        rows = [blank(text) if row in marks else text for row, text in enumerate(rows)] if marks else rows
        return blocks_of(rows, inside, self._language)

    @cached_property
    def _texts(self) -> list[tuple[int, int]]:
        """The first and last row of each comment and string of several rows."""
        return list(whole_texts(self._state.source))

    def _head(self, root: tree_sitter.Node) -> bytes:
        """What the texts of the language begin with."""
        spec = next(iter(self._grammar.lists.get(root.kind_id, {}).values()), None)
        kinds = spec.fixed if spec else frozenset()
        return next((each.text or b"" for each in root.children if each.type in kinds), b"") + b"\n"

    def _split(self, data: bytes) -> list[bytes]:
        return [data[begin:end] for begin, end in self._spans]

    def _take(
        self, rows: list[bytes], change: _Change, *, at_most: bool = False, surely: bool = False
    ) -> None:
        """Take a changed text if it is less damaged than the one so far; `at_most`: or no more; `surely`: anyway."""
        old = self._state
        if rows == old.rows:
            return
        try:
            source = parse_bytes(b"".join(rows), self._grammar)
        except CostlySyntaxError:
            return
        extent = extent_of(source.tree)
        if source.tree.root_node.descendant_count < len(rows) // _FEWEST_NODES:
            return
        if surely or extent < old.extent or (at_most and extent == old.extent):
            self._state = _State(rows, source, extent, old.change.and_(change))


def _without(patterns: Sequence[tuple[re.Pattern[bytes], bytes]], data: bytes) -> bytes:
    """A text in which what takes the place of macros stands in for them."""
    for pattern, standing in patterns:
        data = pattern.sub(partial(_replaced, standing), data)
    return data


def _replaced(standing: bytes, match: re.Match[bytes]) -> bytes:
    """A match in which what takes the place of its group stands there, filled up with spaces; line ends stay."""
    begin, end = match.start(1) - match.start(), match.end(1) - match.start()
    text = re.sub(rb"[^\r\n]", b" ", match[1])
    return match[0][:begin] + standing + text[len(standing) :] + match[0][end:]


def _frames(blocks: Blocks, language: Language) -> Frames:
    """Which rows the rows of a text stand under."""
    depths = np.array(blocks.depths, dtype=np.int64)
    lines = [text.decode("utf-8", "replace") for text in blocks.rows]
    return frames_of(lines, depths, depths == NO_DEPTH, language.frames or "")


def runs_of(rows: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """The first and last of each run of ascending numbers."""
    runs: list[tuple[int, int]] = []
    for row in rows:
        if runs and runs[-1][1] == row - 1:
            runs[-1] = (runs[-1][0], row)
        else:
            runs.append((row, row))
    return tuple(runs)
