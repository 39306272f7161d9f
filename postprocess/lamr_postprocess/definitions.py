"""The functions and types that a file defines, with their rows, and what a named cut says that it hides of them.

A language's `definitions` query captures the names. A definition is the node that the query captures as `@function` or
`@type`, else the node around the name. Where a grammar makes a signature and its body neighbours, both are the
definition."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from operator import attrgetter

import numpy as np
import tree_sitter
from lamr_base.errors import visible
from lamr_base.expressions import expression
from lamr_base.records import dataclass

from lamr_postprocess.byte_counts import approximate_tokens
from lamr_postprocess.captures import bounded_captures
from lamr_postprocess.languages import Language
from lamr_postprocess.lines import IntArray
from lamr_postprocess.mending import parse_mended
from lamr_postprocess.syntax import CostlySyntaxError, MissingGrammarError, ParsedText

# Grammars wrap a name in what declares it: C's `*name(int x)`, JavaScript's `name = () => …`.
_WRAPPER = expression(r"\w*_declarator|qualified_identifier|template_function|operator_cast")
_FUNCTION = expression(
    r"\w*(?:function|method|constructor|destructor|operator|initializer|init_declaration|subscript|indexer|event|"
    r"[gs]etter|macro|property|lexical_declaration|variable_declaration|field_definition|static_block)\w*|"
    r"pair|field|var_spec|assignment_expression|export_statement"
)
_BODY = "function_body"
_START = attrgetter("start_byte")


@dataclass(frozen=True, slots=True)
class _Found:
    """A definition by its nodes: the one that holds its name, and the one that it ends with."""

    name: tree_sitter.Node
    node: tree_sitter.Node
    end: tree_sitter.Node
    is_function: bool


@dataclass(frozen=True, slots=True)
class DefinitionSpan:
    """One function or type; rows count from 0."""

    first: int  # first, last: its rows, both included
    last: int
    head: int  # the row of its name
    depth: int  # in how many other definitions it lies
    is_function: bool  # whether it is a function, a method or a property
    name: str  # its name


def definition_spans(text: str, language: Language) -> list[DefinitionSpan]:
    """The definitions of a text in the order of its rows; none where there is no grammar, or parsing takes too long.

    A text with syntax errors gives the definitions that the parser could make out."""
    if not language.grammar or not text:
        return []
    try:
        source = parse_mended(text, language)
    except (CostlySyntaxError, MissingGrammarError):
        return []
    return spans_in(source)


def spans_in(source: ParsedText) -> list[DefinitionSpan]:
    """The definitions of a parsed text, as `definition_spans` gives them."""
    found = sorted(
        {
            (one.node.start_byte, -one.end.end_byte, one.name.start_byte): one
            for each in source.all
            if (query := each.grammar.definitions) is not None
            for _, captures in bounded_captures(each.tree.root_node, query)
            for one in _definitions(captures, each.grammar.language)
        }.items()
    )
    definitions: list[DefinitionSpan] = []
    ends: list[int] = []
    for (start, _, _), one in found:
        while ends and ends[-1] <= start:
            ends.pop()
        definitions.append(_span(one, len(ends), source))
        ends.append(one.end.end_byte)
    return definitions


def _definitions(captures: Mapping[str, Sequence[tree_sitter.Node]], language: Language) -> Iterator[_Found]:
    """Yield the definition of each captured name.

    The name of a captured definition is the first one in it, since those of inner definitions come behind
    it."""
    names = sorted(captures.get("name", []), key=_START)
    starts = [name.start_byte for name in names]
    whole = {
        bisect_left(starts, node.start_byte): (node, kind == "function")
        for kind in ("function", "type")
        for node in captures.get(kind, [])
    }
    for place, name in enumerate(names):
        node, is_function = whole.get(place) or _definition(name)
        yield _Found(name, node, _end(node, language), is_function)


def _definition(name: tree_sitter.Node) -> tuple[tree_sitter.Node, bool]:
    """The definition around a name, and whether it is a function."""
    node, inner = name.parent or name, name
    while _WRAPPER.fullmatch(node.type) and node.parent is not None:
        node, inner = node.parent, node
    return node, inner.type == "function_declarator" or _FUNCTION.fullmatch(node.type) is not None


def _end(node: tree_sitter.Node, language: Language) -> tree_sitter.Node:
    """The last node of a definition: the body behind a signature, which may stand in a node of signatures."""
    if not language.prefixes:
        return node
    around = node.parent  # which is looked for from the root
    signature = around if around is not None and around.type in language.prefixes else node
    body = signature.next_named_sibling if signature.type in language.prefixes else None
    return body if body is not None and body.type == _BODY else node


def _span(found: _Found, depth: int, source: ParsedText) -> DefinitionSpan:
    """A definition that lies in so many others."""
    last_row, name = len(source.rows) - 1, source.data[found.name.start_byte : found.name.end_byte]
    first, end = found.node.start_point.row, found.end.end_point
    last = end.row - (end.column == 0 and end.row > first)
    return DefinitionSpan(
        first=min(first, last_row),
        last=min(last, last_row),
        head=min(found.name.start_point.row, last_row),
        depth=depth,
        is_function=found.is_function,
        name=name.decode("utf-8", "replace"),
    )


MOST_TOKENS = 12
"""What the names of one cut may add to its marker."""
MOST_CHARACTERS = 160
"""The same, whatever a tokenizer makes of the names: a file's author chooses them, and the marker is lamr's."""
_LOOKED_AT = 64
"""Definitions of one cut that are considered, the least indented first: a dozen tokens hold fewer."""
LONGEST_NAME = 40
"""Characters of a name in a marker; of a longer one its beginning stands there."""
_LONGEST_READ = 1_000  # bytes of a name that is looked at at all
_WORD = expression(r"\w*|(?!.*lamr)[^\s,;\\\"'`()\[\]{}]*", re.IGNORECASE)
_SPEAKING = expression(r"(?:[\\\"`()\[\]{}]|lamr)+", re.IGNORECASE)
_INTRODUCTION, _SEPARATOR, _MORE = ": ", ", ", " \u2026"


@dataclass(frozen=True, eq=False)
class Definitions:
    """The n definitions of a file, in document order."""

    rows: IntArray  # [n], the row of each name, 0-based and rising
    names: tuple[str, ...]  # the names; empty where none can be shown
    depths: IntArray  # [n], the indentation of each name's row; a class stands less deep than its methods

    def label(self, first: int, last: int) -> str:
        """What a marker says about the definitions from row `first` to row `last`; empty where none begins there.

        At most `MOST_TOKENS` tokens and `MOST_CHARACTERS` characters: outer definitions go before inner ones, and those
        that are named stand in document order."""
        start, stop = np.searchsorted(self.rows, (first, last + 1)).tolist()
        order = (start + np.argsort(self.depths[start:stop], kind="stable")[:_LOOKED_AT]).tolist()
        # Overloads have one name.
        candidates = dict.fromkeys(self.names[at] for at in order if self.names[at])
        room = MOST_TOKENS - approximate_tokens(_MORE)
        letters = MOST_CHARACTERS - len(_INTRODUCTION + _MORE)
        chosen = set()
        for name in candidates:
            cost, length = approximate_tokens(_SEPARATOR + name), len(_SEPARATOR + name)
            if cost <= room and length <= letters:
                chosen.add(name)
                room, letters = room - cost, letters - length
        if not chosen:
            return ""
        named = _SEPARATOR.join(dict.fromkeys(name for name in self.names[start:stop] if name in chosen))
        whole = len(chosen) == len(candidates) and stop - start <= _LOOKED_AT
        return _INTRODUCTION + named + ("" if whole else _MORE)


def definitions_of(source: ParsedText, indents: IntArray) -> Definitions | None:
    """The definitions of a parsed file; None where the language's table has no query for them. `indents`: int [L],
    characters of leading white space of each row."""
    queried = [(each, each.grammar.definitions) for each in source.all]
    if all(query is None for _, query in queried):
        return None
    nodes = [
        node
        for each, query in queried
        if query is not None
        for _, captures in bounded_captures(each.tree.root_node, query)
        for node in captures.get("name", [])
    ]
    spans = sorted({(node.start_byte, node.end_byte, node.start_point[0]) for node in nodes})
    names = [
        (row, source.data[start:stop].decode("utf-8", "replace"))
        for start, stop, row in spans
        if stop - start <= _LONGEST_READ
    ]
    rows = np.array([row for row, _ in names], dtype=np.int64)
    return Definitions(rows, tuple(_shown(name) for _, name in names), indents[rows])


def _shown(name: str) -> str:
    """A name as a marker says it: in quotes where it is words, so that nothing in them looks like lamr's own.

    It ends before what could end a comment or isn't printable: `operator<` is `operator\u2026`."""
    shown = "".join(takewhile(lambda each: each.isprintable() and each not in "*/-<>", name))[:LONGEST_NAME]
    shown = visible(shown if shown in ("", name) else shown[: LONGEST_NAME - 1].rstrip() + "\u2026")
    return shown if _WORD.fullmatch(shown) else '"' + _SPEAKING.sub("\u2026", shown) + '"'
