"""Dart. The signature of a function and its body are neighbours in its tree."""

from __future__ import annotations

from lamr_postprocess.languages.plain import with_grammar
from lamr_postprocess.languages.table import ListKind, name_set

DART = with_grammar(
    "dart",
    grammar="tree_sitter_dart:language",
    lists={
        "program": ListKind(),
        "class_body": ListKind(separators=frozenset({";"})),
        "extension_body": ListKind(separators=frozenset({";"})),
        "enum_body": ListKind(separators=frozenset({",", ";"}), keep_first=True, core="enum_constant "),
        "block": ListKind(),
        "function_body>block": ListKind(results=frozenset({"return_statement"})),
        "switch_block": ListKind(),
    },
    comments=name_set("comment documentation_comment"),
    companions=name_set("finally_clause"),
    prefixes=name_set("annotation method_signature function_signature getter_signature setter_signature"),
    opaque=frozenset({"string_literal"}),
    names="""
[(identifier) (type_identifier)] @name
[(block)] @scope.expression
(class_body) @scope.members
(function_signature name: (identifier) @definition)
(class_definition name: (identifier) @definition)
(enum_declaration name: (identifier) @definition)
(initialized_variable_definition name: (identifier) @variable)
(initialized_identifier (identifier) @variable)
(formal_parameter name: (identifier) @variable)
(unconditional_assignable_selector (identifier) @ignore)
(conditional_assignable_selector (identifier) @ignore)
""",
    definitions="""
(function_signature name: (identifier) @name)
(getter_signature name: (identifier) @name)
(setter_signature name: (identifier) @name)
(operator_signature "operator" @name)
(constructor_signature . (identifier) @name)
(factory_constructor_signature . (identifier) @name)
(constant_constructor_signature (const_builtin) . (identifier) @name)
(class_definition name: (identifier) @name)
(enum_declaration name: (identifier) @name)
(mixin_declaration (identifier) @name)
(extension_declaration name: (identifier) @name)
""",
)
