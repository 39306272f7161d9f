"""The functions and types that a file defines, with their rows: what an outline of the file shows.

The language's `definitions` query says which names define something. The definition is the node that the query captures
as `@function` or `@type`, else the node around the name. Where a grammar makes a signature and its body neighbours,
both are the definition.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter

import tree_sitter

from lamr_postprocess.captures import bounded_captures
from lamr_postprocess.languages import Language
from lamr_postprocess.mending import parse_mended
from lamr_postprocess.syntax import CostlySyntaxError, MissingGrammarError, ParsedText

# Grammars wrap a name in what declares it: C's `*name(int x)`, JavaScript's `name = () => …`.
_WRAPPER = re.compile(r"\w*_declarator|qualified_identifier|template_function|operator_cast")
_FUNCTION = re.compile(
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
    """One function or type; rows count from 0.

    Attributes:
        first, last: its rows, both included.
        head: the row of its name.
        depth: in how many other definitions it lies.
        is_function: whether it is a function, a method or a property.
        name: its name.
    """

    first: int
    last: int
    head: int
    depth: int
    is_function: bool
    name: str


def definition_spans(text: str, language: Language) -> list[DefinitionSpan]:
    """The definitions of a text in the order of its rows; none where there is no grammar, or parsing takes too long.

    A text with syntax errors gives the definitions that the parser could make out.
    """
    if not language.grammar or not text:
        return []
    try:
        source = parse_mended(text, language)
    except (CostlySyntaxError, MissingGrammarError):
        return []
    return spans_in(source)


def spans_in(source: ParsedText) -> list[DefinitionSpan]:
    """The definitions of a parsed text, as `definition_spans` gives them."""
    last_row = source.rows.shape[0] - 1
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
        definitions.append(_span(one, len(ends), last_row))
        ends.append(one.end.end_byte)
    return definitions


def _definitions(captures: Mapping[str, Sequence[tree_sitter.Node]], language: Language) -> Iterator[_Found]:
    """Yield the definition of each captured name.

    The name of a captured definition is the first one in it, since those of inner definitions come behind it.
    """
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
    while node.parent is not None and _WRAPPER.fullmatch(node.type):
        node, inner = node.parent, node
    return node, inner.type == "function_declarator" or _FUNCTION.fullmatch(node.type) is not None


def _end(node: tree_sitter.Node, language: Language) -> tree_sitter.Node:
    """The last node of a definition: the body behind a signature, which may stand in a node of signatures."""
    around = node.parent
    signature = around if around is not None and around.type in language.prefixes else node
    body = signature.next_named_sibling if signature.type in language.prefixes else None
    return body if body is not None and body.type == _BODY else node


def _span(found: _Found, depth: int, last_row: int) -> DefinitionSpan:
    """A definition that lies in so many others."""
    first, end = found.node.start_point.row, found.end.end_point
    last = end.row - (end.column == 0 and end.row > first)
    return DefinitionSpan(
        first=min(first, last_row),
        last=min(last, last_row),
        head=min(found.name.start_point.row, last_row),
        depth=depth,
        is_function=found.is_function,
        name=(found.name.text or b"").decode("utf-8", "replace"),
    )
