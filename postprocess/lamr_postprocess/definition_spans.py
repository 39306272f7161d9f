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
_WRAPPER = re.compile(r"\w*_declarator|qualified_identifier|template_function")
_FUNCTION = re.compile(
    r"\w*(?:function|method|constructor|macro|property|lexical_declaration|variable_declaration)\w*"
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
    spans = sorted(
        {
            _span(node, last_row)
            for each in source.all
            if (query := each.grammar.definitions) is not None
            for node in bounded_captures(each.tree.root_node, query).get("name", [])
        },
        key=lambda each: (each[0], -each[1], each[2]),
    )
    definitions: list[DefinitionSpan] = []
    ends: list[int] = []
    for first, last, head, is_function, name in spans:
        while ends and ends[-1] < first:
            ends.pop()
        definitions.append(DefinitionSpan(first, last, head, len(ends), is_function, name))
        ends.append(last)
    return definitions


def _span(name: tree_sitter.Node, last_row: int) -> tuple[int, int, int, bool, str]:
    """First row, last row, row of the name, whether it is a function, and the name of the definition around a name."""
    node, inner = name.parent or name, name
    while node.parent is not None and _WRAPPER.fullmatch(node.type):
        node, inner = node.parent, node
    end = node.end_point
    last = end.row - (end.column == 0 and end.row > node.start_point.row)
    declares = inner.type == "function_declarator" or _FUNCTION.fullmatch(node.type) is not None
    return (
        min(node.start_point.row, last_row),
        min(last, last_row),
        min(name.start_point.row, last_row),
        declares,
        (name.text or b"").decode("utf-8", "replace"),
    )
