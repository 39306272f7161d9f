"""Zig."""

from lamr_postprocess.languages import scans
from lamr_postprocess.languages.plain import with_grammar
from lamr_postprocess.languages.table import ListKind, name_set

_MEMBERS = ListKind(separators=frozenset({",", ";"}))
_ELEMENTS = ListKind(separators=frozenset({","}))

ZIG = with_grammar(
    "zig",
    scan=scans.ZIG,
    grammar="tree_sitter_zig:language",
    lists={
        "source_file|struct_declaration|union_declaration|enum_declaration": _MEMBERS,
        "block": ListKind(),
        "function_declaration>block": ListKind(),
        "switch_expression": ListKind(items=frozenset({"switch_case"}), separators=frozenset({","})),
        "initializer_list": _ELEMENTS,
    },
    documents=r"///(?!/)",
    companions=frozenset({"else_clause"}),
    opaque=name_set("string multiline_string"),
    names="""
(identifier) @name
(function_declaration) @scope
(block) @scope.expression
[(struct_declaration) (union_declaration) (enum_declaration)] @scope.members
(function_declaration name: (identifier) @definition @outside)
(variable_declaration . (identifier) @variable)
(parameter name: (identifier) @variable)
(payload (identifier) @variable)
(field_expression member: (identifier) @ignore)
(container_field name: (identifier) @ignore)
""",
    definitions="""
(function_declaration name: (identifier) @name)
(test_declaration [(identifier) @name (string (string_content) @name)]) @function
(variable_declaration (identifier) @name [(struct_declaration) (union_declaration) (enum_declaration)])
""",
)
