"""The functions and types that a file defines, with their rows: what an outline of the file shows.

Which names define something says the language's `definitions` query; the node around a name is the definition.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import tree_sitter

from lamr_postprocess.captures import bounded_captures
from lamr_postprocess.languages import Language
from lamr_postprocess.mending import parse_mended
from lamr_postprocess.syntax import CostlySyntaxError, MissingGrammarError, Source

# Grammars wrap a name in what declares it: C's `*name(int x)`, JavaScript's `name = () => …`.
_WRAPPER = re.compile(r"\w*_declarator|qualified_identifier|template_function|operator_cast")
_FUNCTION = re.compile(
    r"\w*(?:function|method|constructor|destructor|operator|initializer|init_declaration|subscript|indexer|event|"
    r"[gs]etter|macro|property|lexical_declaration|variable_declaration|field_definition|static_block)\w*|"
    r"pair|field|var_spec|assignment_expression|export_statement"
)


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


def spans_in(source: Source) -> list[DefinitionSpan]:
    """The definitions of a parsed text, as `definition_spans` gives them."""
    last_row = source.rows.shape[0] - 1
    found = sorted(
        {
            (node.start_byte, -node.end_byte, name.start_byte): (node, name, is_function)
            for each in source.all
            if (query := each.grammar.definitions) is not None
            for _, captures in bounded_captures(each.tree.root_node, query)
            for name in captures.get("name", [])
            for node, is_function in [_definition(name)]
        }.items()
    )
    definitions: list[DefinitionSpan] = []
    ends: list[int] = []
    for (start, _, _), (node, name, is_function) in found:
        while ends and ends[-1] <= start:
            ends.pop()
        definitions.append(_span(node, name, is_function, len(ends), last_row))
        ends.append(node.end_byte)
    return definitions


def _definition(name: tree_sitter.Node) -> tuple[tree_sitter.Node, bool]:
    """The definition around a name, and whether it is a function."""
    node, inner = name.parent or name, name
    while node.parent is not None and _WRAPPER.fullmatch(node.type):
        node, inner = node.parent, node
    return node, inner.type == "function_declarator" or _FUNCTION.fullmatch(node.type) is not None


def _span(
    node: tree_sitter.Node, name: tree_sitter.Node, is_function: bool, depth: int, last_row: int
) -> DefinitionSpan:
    """The definition of a name in so many others."""
    end = node.end_point
    last = end.row - (end.column == 0 and end.row > node.start_point.row)
    return DefinitionSpan(
        first=min(node.start_point.row, last_row),
        last=min(last, last_row),
        head=min(name.start_point.row, last_row),
        depth=depth,
        is_function=is_function,
        name=(name.text or b"").decode("utf-8", "replace"),
    )
