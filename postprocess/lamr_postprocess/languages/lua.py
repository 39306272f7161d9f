"""Lua."""

from lamr_postprocess.languages import scans
from lamr_postprocess.languages.plain import with_grammar
from lamr_postprocess.languages.table import ListKind, name_set

_BODY = ListKind(results=frozenset({"return_statement"}))

LUA = with_grammar(
    "lua",
    scan=scans.LUA,
    grammar="tree_sitter_lua:language",
    lists={
        "chunk|block": ListKind(separators=frozenset({";"})),
        "function_declaration|function_definition>block": _BODY,
        "table_constructor": ListKind(separators=frozenset({",", ";"})),
    },
    companions=name_set("elseif_statement else_statement"),
    opaque=frozenset({"string"}),
    names="""
(identifier) @name
[(function_declaration) (function_definition)] @scope
[(block) (for_statement)] @scope.expression
(function_declaration name: (identifier) @definition @outside)
(function_declaration name: (dot_index_expression) @outside)
(function_declaration name: (method_index_expression) @outside)
(variable_declaration (assignment_statement (variable_list name: (identifier) @variable)))
(variable_declaration|for_generic_clause (variable_list name: (identifier) @variable))
(parameters|for_numeric_clause name: (identifier) @variable)
(assignment_statement (variable_list name: (identifier) @update))
(dot_index_expression field: (identifier) @ignore)
(method_index_expression method: (identifier) @ignore)
(field name: (identifier) @ignore)
""",
    definitions="""
(function_declaration name: (_) @name)
(field name: (identifier) @name value: (function_definition))
(assignment_statement (variable_list name: (_) @name) (expression_list value: (function_definition)))
(function_call name: (identifier) @_kind
  arguments: (arguments . (string content: (string_content) @name) (function_definition))
  (#any-of? @_kind "describe" "context" "it" "test")) @function
""",
    joiners="(",
)
