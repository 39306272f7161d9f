"""PHP, with the HTML around it."""

from __future__ import annotations

from lamr_postprocess.languages.table import (
    BLOCK_COMMENT,
    BRACES,
    FALLS_THROUGH,
    Comment,
    Language,
    ListKind,
    name_set,
)

_ELEMENTS = ListKind(separators=frozenset({","}))
_CASE_ENDS = name_set("break_statement return_statement continue_statement exit_statement compound_statement")
_BODY = ListKind(results=frozenset({"return_statement"}))
_HTML = ListKind(by_row=True, delimited=False, comment=Comment("<!--", "-->"))

_NAMES = """
[(variable_name) (name)] @name
(variable_name (name) @ignore)
[(function_definition) (method_declaration) (anonymous_function)] @scope
(arrow_function) @scope.expression
(declaration_list) @scope.members

(function_definition name: (name) @definition @outside)
(class_declaration name: (name) @definition)
(interface_declaration name: (name) @definition)
(trait_declaration name: (name) @definition)
(enum_declaration name: (name) @definition)
(const_declaration (const_element . (name) @definition))
(method_declaration name: (name) @ignore)
(enum_case name: (name) @ignore)
(assignment_expression left: (variable_name) @variable)
(reference_assignment_expression left: (variable_name) @variable)
(augmented_assignment_expression left: (variable_name) @update)
(list_literal (variable_name) @variable)
(simple_parameter name: (variable_name) @variable)
(variadic_parameter name: (variable_name) @variable)
(property_promotion_parameter name: (variable_name) @variable)
(foreach_statement (variable_name) (variable_name) @variable)
(foreach_statement (pair (variable_name) @variable))
(catch_clause name: (variable_name) @variable)
(static_variable_declaration name: (variable_name) @variable)
(property_element name: (variable_name) @ignore)
(anonymous_function_use_clause (variable_name) @update)
(global_declaration (variable_name) @declare.global)

(member_access_expression name: (name) @ignore)
(nullsafe_member_access_expression name: (name) @ignore)
(member_call_expression name: (name) @ignore)
(nullsafe_member_call_expression name: (name) @ignore)
(scoped_call_expression name: (name) @ignore)
(scoped_property_access_expression name: (variable_name) @ignore)
(class_constant_access_expression (_) (name) @ignore)
(argument name: (name) @ignore)
(namespace_name (name) @ignore)
(namespace_use_clause (name) @import)
(namespace_use_clause (qualified_name (name) @import))
(namespace_use_clause alias: (name) @import)
"""

_DEFINITIONS = """
(function_definition name: (name) @name)
(method_declaration name: (name) @name)
(class_declaration name: (name) @name)
(interface_declaration name: (name) @name)
(trait_declaration name: (name) @name)
(enum_declaration name: (name) @name)
"""

PHP = Language(
    name="php",
    comment=Comment("//"),
    suffixes=name_set(".php .phtml .php5 .php7 .inc"),
    frames=BRACES,
    ending="}",
    leading=r"#\[",
    stand_ins=("class $ {", "function $() {", "{"),
    shebangs=frozenset({"php"}),
    hints=(r"^<\?php\b|<\?=", r"\$\w+->\w+|\$this\b", r"^use [\w\\]+;", r"^[ \t]*\$\w+ = "),
    grammar="tree_sitter_php:language_php",
    lists={
        "comment": BLOCK_COMMENT,
        "program": ListKind(fixed=frozenset({"php_tag"})),
        "compound_statement": ListKind(),
        "function_definition>compound_statement": _BODY,
        "method_declaration>compound_statement": _BODY,
        "anonymous_function>compound_statement": _BODY,
        "colon_block": ListKind(),
        "declaration_list": ListKind(),
        "enum_declaration_list": ListKind(),
        "switch_block": ListKind(),
        "case_statement": ListKind(fixed=frozenset({"value"}), endings=_CASE_ENDS, falls=True),
        "default_statement": ListKind(endings=_CASE_ENDS, falls=True),
        "case_statement>compound_statement": ListKind(endings=_CASE_ENDS),
        "match_block": _ELEMENTS,
        "array_creation_expression": _ELEMENTS,
        "namespace_use_group": _ELEMENTS,
        "text": _HTML,
    },
    comments=frozenset({"comment"}),
    companions=name_set("else_clause else_if_clause catch_clause finally_clause"),
    labels=name_set("case_statement default_statement"),
    directives=r"declare[ \t]*\(",
    asides=FALLS_THROUGH,
    opaque=name_set("string encapsed_string heredoc nowdoc"),
    names=_NAMES,
    definitions=_DEFINITIONS,
    builtins=name_set("true false null TRUE FALSE NULL self parent static"),
)
