"""Source text to syntax tree: the grammar of a language, and text in the form that its parser needs.

Rows of the tree are the lines of `lines.py`. tree-sitter ends a row at LF only, so it gets an LF for each lone CR; both
are one byte, and offsets stay. A NUL would end its input, so it gets a space instead."""

from __future__ import annotations

import importlib
import mmap
import re
import threading
import time
from collections.abc import Mapping
from dataclasses import field, replace
from functools import cache, cached_property
from pathlib import Path

import numpy as np
import tree_sitter
from lamr_base.errors import InvalidInputError
from lamr_base.expressions import expression
from lamr_base.records import dataclass

from lamr_postprocess.clock import is_over, look
from lamr_postprocess.frames import Frames
from lamr_postprocess.languages import Language, ListKind
from lamr_postprocess.languages.embedded import language_inside
from lamr_postprocess.lines import IntArray, spans_of
from lamr_postprocess.nesting import is_too_deep
from lamr_postprocess.trials import DIED, PARSED, trial_of

ERROR = 65_535  # tree-sitter's kind id of an ERROR node; it is outside the grammar's own range

# A parser that looks for the likeliest repair of broken code can take time that grows with the cube of the text: 11 s
# for 20 kB of `a=>{` as Java. It reports progress every hundred operations (about 25 us). Code that people write takes
# 1 to 10 reports a kilobyte, even when another language's grammar reads it.
_REPORTS = 10_000
_REPORTS_PER_KILOBYTE = 40
_REPORTS_A_LOOK = 8  # a look at the clocks takes a fifth of the time from one report to the next
# Some grammars get slower from report to report, up to 800 us. Usual is 10 to 45 us.
_SECONDS = 0.2
_SECONDS_PER_REPORT = 2e-4
# Usual trees take 40 to 70 bytes a byte; while HCL's grammar looks for repairs, ten times as many.
_MEMORY, _MEMORY_PER_BYTE = 100 << 20, 100
_REPORTS_A_LOOK_AT_MEMORY = 128
_STATM = Path("/proc/self/statm")
MOST_BYTES = 10_000_000
"""Of a text that is parsed."""
_PIECE = 1 << 16  # bytes handed to the parser at a time
_PIECE_OF_A_NODE = 1 << 8  # bytes handed to a query at a time, which compares the text of single nodes
# `piece`: tree-sitter 0.26.1 never frees what it was given, so it gets one again.
_OF_THREAD = threading.local()
# A scanner that looks ahead to the end of the text at every token reads the last piece again each time (200 us).
_REPORTS_PER_PIECE = 8
_SEVERAL = expression(r"^\((\w+(?:\|\s*\w+)+)(\s+.*)$", re.MULTILINE)
_MOST_BROKEN_INSIDE = 0.05  # of a part in another language


class CostlySyntaxError(InvalidInputError):
    """A text takes its parser far more operations than texts of its size take."""


class DeepSyntaxError(CostlySyntaxError):
    """A text is nested deeper than parsers stand."""


class LargeSyntaxError(CostlySyntaxError):
    """A text is larger than `MOST_BYTES`."""


class FailedGrammarError(CostlySyntaxError):
    """The process that tried a parse died of it."""


class MissingGrammarError(InvalidInputError):
    """A language's grammar comes with an extra that isn't installed."""


@dataclass(frozen=True, eq=False)
class Grammar:
    """A language's table in terms of its grammar's numbers."""

    parser: tree_sitter.Language  # the grammar itself
    # for each kind id, the specification by the parent's kind id; the key -1 stands for any parent
    lists: dict[int, dict[int, ListKind]]
    # comments, companions, prefixes, labels, padded, opaque: the kind ids in the table's columns of these names; an
    # error is a prefix, too
    comments: frozenset[int]
    companions: frozenset[int]
    prefixes: frozenset[int]
    labels: frozenset[int]
    padded: frozenset[int]
    opaque: frozenset[int]
    plain: frozenset[int]  # the kind ids that no column names, of which the tree has most
    names: dict[int, str]  # the name of each kind id
    language: Language  # the table

    @cached_property
    def joiners(self) -> bytes:
        """The characters of the table's column, as the bytes that they are."""
        return self.language.joiners.encode()

    @cached_property
    def query(self) -> tree_sitter.Query | None:
        """The compiled query `names`, None where the table has none."""
        return self._compiled(self.language.names)

    @cached_property
    def embedded(self) -> tree_sitter.Query | None:
        """The compiled query `embedded`, None where the table has none."""
        return self._compiled(self.language.embedded)

    @cached_property
    def definitions(self) -> tree_sitter.Query | None:
        """The compiled query `definitions`, None where the table has none."""
        return self._compiled(self.language.definitions)

    @cached_property
    def meanings(self) -> re.Pattern[bytes] | None:
        """How lines begin that say what others mean, with the line end before them; the groups are the table's columns.

        None where there are none. What begins with a line end is found four times as quickly as what `^`
        begins."""
        language = self.language
        names = ("directives", "sections", "remarks", "documents", "asides")
        columns = {name: getattr(language, name) for name in names}
        parts = [f"(?P<{name}>{pattern})" for name, pattern in columns.items() if pattern]
        return re.compile(rf"\n[ \t]*(?:{'|'.join(parts)})".encode(), re.MULTILINE) if parts else None

    def _compiled(self, query: str) -> tree_sitter.Query | None:
        return tree_sitter.Query(self.parser, spelled_out(query)) if query else None


@dataclass(frozen=True, eq=False)
class ParsedText:
    """A parsed text."""

    tree: tree_sitter.Tree  # its syntax tree
    data: bytes  # the bytes that were parsed
    rows: IntArray  # [L, 2], byte offsets of the rows
    grammar: Grammar  # the grammar that parsed it
    # the parsed parts in other languages, by the byte in which the node begins that holds each. Their trees have the
    # text's own offsets and rows.
    embedded: Mapping[int, ParsedText] = field(default_factory=dict)
    # what belongs to no tree, or was mended to be parsed; None where nothing was
    damage: Damage | None = None

    @property
    def all(self) -> tuple[ParsedText, ...]:
        """This text and its parts in other languages."""
        return (self, *self.embedded.values())


@dataclass(frozen=True, eq=False)
class Damage:
    """The rows of a text that its grammar couldn't read as they are."""

    rows: tuple[int, ...]  # those that belong to no tree
    frames: Frames  # which rows those stand under, by indentation
    # pairs of rows of which the first needs the second (a row of a conflict, and the conflict's marks)
    bonds: tuple[tuple[int, int], ...]
    # the rows to be named where the damage is told of, first and last row of each run
    told: tuple[tuple[int, int], ...]


def spelled_out(query: str) -> str:
    """A query in which the pattern `(a|b name: (c) @d)` of a table stands once for each kind."""
    return _SEVERAL.sub(
        lambda found: "\n".join(f"({kind}{found[2]}" for kind in re.split(r"\|\s*", found[1])), query
    )


@cache  # one entry a language: compiled queries are costly, and don't change
def grammar_of(language: Language) -> Grammar:
    """Load a language's grammar wheel and put its table into numbers; its queries are compiled when they are used.
    Raises `ValueError`: the table names a kind that the grammar doesn't have. Raises `MissingGrammarError`: the wheel
    isn't installed."""
    module, function = language.grammar.split(":")
    try:
        wheel = importlib.import_module(module)
    except ImportError:
        raise MissingGrammarError(
            f"{language.name}: the grammar {module} isn't installed; pip install 'lamr-server[languages]' brings it"
        ) from None
    parser = tree_sitter.Language(getattr(wheel, function)())
    names = {i: parser.node_kind_for_id(i) or "" for i in range(parser.node_kind_count)}
    names[ERROR] = "ERROR"
    ids: dict[str, set[int]] = {}
    for number, name in names.items():
        if number == ERROR or parser.node_kind_is_named(number):  # the token `begin` isn't the node `begin`
            ids.setdefault(name, set()).add(number)

    def kinds(wanted: frozenset[str]) -> frozenset[int]:
        missing = sorted(wanted - ids.keys())
        if missing:
            raise ValueError(f"{language.name}: the grammar {module} has no node kind {', '.join(missing)}")
        return frozenset(number for name in wanted for number in ids[name])

    lists: dict[int, dict[int, ListKind]] = {}
    for key, spec in language.lists.items():
        parents, _, own = key.rpartition(">")
        for number in kinds(frozenset(own.split("|"))):
            for above in kinds(frozenset(parents.split("|"))) if parents else (-1,):
                lists.setdefault(number, {})[above] = spec
    comments, companions, opaque = map(kinds, (language.comments, language.companions, language.opaque))
    padded = kinds(language.padded)
    return Grammar(
        parser=parser,
        lists=lists,
        comments=comments,
        companions=companions,
        prefixes=kinds(language.prefixes) | {ERROR},
        labels=kinds(language.labels),
        padded=padded,
        opaque=opaque,
        plain=frozenset(names) - {ERROR, *lists, *comments, *companions, *padded, *opaque},
        names=names,
        language=language,
    )


def parse(text: str, language: Language) -> ParsedText:
    """Parse a text of a language that has a grammar; parts that can't be parsed become ERROR nodes.

    Raises:
        MissingGrammarError: the wheel of the language's grammar isn't installed.
        CostlySyntaxError: the text is too large, is nested too deeply, or takes the parser too many operations. They
            are counted rather than timed, so that every machine parses the same texts; the clock ends only what takes
            many times as long as other texts.
        OutOfTimeError: see `clock`."""
    return parse_bytes(parser_text(text), grammar_of(language))


def parser_text(text: str) -> bytes:
    """A text in the form that parsers need; its last line ends, which tree-sitter-kotlin 1.1.0 relies on."""
    data = text.encode("utf-8", "surrogatepass")
    data += b"\n" * (text[-1:] not in ("", "\n", "\r"))
    if b"\r" in data:
        points = np.frombuffer(data, dtype=np.uint8).copy()
        lone = points == 13
        lone[:-1] &= points[1:] != 10
        points[lone] = 10
        data = points.tobytes()
    return data.replace(b"\0", b" ")


class Allowance:
    """What parsers may take: operations, by their reports of progress, CPU time, and on Linux memory. Several parses
    can share one."""

    def __init__(self, size: int, reports: int = _REPORTS, per_kilobyte: int = _REPORTS_PER_KILOBYTE) -> None:
        """Allow what texts of this many bytes take in all."""
        self.left = reports + per_kilobyte * size // 1_000
        self._end = time.thread_time() + _SECONDS + _SECONDS_PER_REPORT * self.left
        self._memory = _resident() + _MEMORY + _MEMORY_PER_BYTE * size

    def is_used_up(self) -> bool:
        """Whether nothing is left."""
        if self.left % _REPORTS_A_LOOK_AT_MEMORY == 0 and _resident() > self._memory:
            self.left = -1
        return self.left < 0 or time.thread_time() > self._end - _SECONDS_PER_REPORT * self.left


def _resident() -> int:
    """Bytes of memory that this process has in use; 0 where the system doesn't tell."""
    try:
        return int(_STATM.read_bytes().split()[1]) * mmap.PAGESIZE
    except OSError:
        return 0


def parse_bytes(data: bytes, grammar: Grammar, allowance: Allowance | None = None) -> ParsedText:
    """Parse a text in the form that `parser_text` gives, and its parts in other languages. `allowance`: what is left
    of it is less afterwards; None for one of the text's own. Raises `CostlySyntaxError`: see `parse`."""
    tree = tree_of(data, grammar, allowance or Allowance(len(data)))
    whole = ParsedText(tree, data, spans_of(np.frombuffer(data, dtype=np.uint8)), grammar)
    return whole if grammar.embedded is None else replace(whole, embedded=_embedded(whole, grammar.embedded))


def parses(data: bytes, grammar: Grammar, allowance: Allowance) -> bool:
    """Whether a text parses without an error, in what is left of an allowance."""
    try:
        return not tree_of(data, grammar, allowance, until_error=True).root_node.has_error
    except CostlySyntaxError:
        return False


def _embedded(whole: ParsedText, query: tree_sitter.Query) -> dict[int, ParsedText]:
    """The parts of a parsed text in other languages, where a grammar can read them."""
    parts = {}
    captures = tree_sitter.QueryCursor(query).captures(whole.tree.root_node)
    for name in sorted(captures):  # they come in the order of a set
        for node in captures[name]:
            language = language_inside(
                name, whole.data[node.parent.start_byte : node.start_byte] if node.parent else b""
            )
            if language is None or not language.grammar:
                continue
            try:
                part = replace(whole, grammar=grammar_of(language))
                tree = tree_of(whole.data, part.grammar, Allowance(len(whole.data)), node.range)
            except (CostlySyntaxError, MissingGrammarError):
                continue
            part = replace(part, tree=tree)
            if broken_share(part) * len(whole.data) <= _MOST_BROKEN_INSIDE * (
                node.end_byte - node.start_byte
            ):
                parts[node.start_byte] = part
    return dict(sorted(parts.items()))


def tree_of(
    data: bytes,
    grammar: Grammar,
    allowance: Allowance,
    part: tree_sitter.Range | None = None,
    *,
    until_error: bool = False,
) -> tree_sitter.Tree:
    """The tree of a text or of a part of it, or CostlySyntaxError when the allowance is used up.

    With `until_error`, an error may end it as well: what takes the most time is the search for its likeliest
    repair."""
    look()
    own = data if part is None else data[part.start_byte : part.end_byte]
    if len(data) > MOST_BYTES:
        raise LargeSyntaxError(f"{len(data)} bytes, more than are parsed")
    angles = grammar.language.comment.opening == "//"
    if is_too_deep(own, angles=angles):
        raise DeepSyntaxError(f"{len(data)} bytes that are nested too deeply")
    # A part that is tried until its first error belongs to a text that was parsed.
    if not until_error and (trial := trial_of(own, angles=angles)):
        edges = part and (tuple(part.start_point), tuple(part.end_point), part.start_byte, part.end_byte)
        ended = trial.run(data, grammar.language.name, allowance.left, edges)
        if ended == DIED:
            raise FailedGrammarError(f"{len(data)} bytes that a process died of")
        if ended != PARSED:
            allowance.left = -1
            raise CostlySyntaxError(f"{len(data)} bytes that take too long to parse")
    piece: bytearray = vars(_OF_THREAD).setdefault("piece", bytearray())
    parsed = False

    def over(_offset: int, error: bool) -> bool:
        allowance.left -= 1
        if allowance.left % _REPORTS_A_LOOK == 0 and (allowance.is_used_up() or is_over()):
            return True
        return allowance.left < 0 or (until_error and error)

    def read(offset: int, _point: tree_sitter.Point) -> bytes | bytearray:
        if parsed:
            return data[offset : offset + _PIECE_OF_A_NODE]
        allowance.left -= _REPORTS_PER_PIECE
        if allowance.left < 0:
            return b""  # between two reports of progress nothing else ends a parse
        piece[:] = data[offset : offset + _PIECE]  # the parser is done with what it had
        return piece

    try:
        parser = tree_sitter.Parser(grammar.parser)
        if part is not None:
            parser.included_ranges = [part]
        tree = parser.parse(read, progress_callback=over)
    except ValueError:  # what tree-sitter raises for a parse that its callback ends
        look()
        raise CostlySyntaxError(f"{len(data)} bytes that take too long to parse") from None
    finally:
        parsed = True
        piece.clear()
    if allowance.left < 0:
        raise CostlySyntaxError(f"{len(data)} bytes that take too long to parse")
    return tree


def broken_share(source: ParsedText) -> float:
    """The share of a parsed text's bytes in errors, 0 to 1; what the parser made up counts as a byte."""
    broken, nodes = 0, [source.tree.root_node]
    while nodes:
        node = nodes.pop()
        if node.is_error or node.is_missing:
            broken += max(node.end_byte - node.start_byte, 1)
        elif node.has_error:
            nodes.extend(node.children)
    return broken / max(len(source.data), 1)
