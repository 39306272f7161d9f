"""PHP, with the HTML around it."""

from lamr_postprocess.languages import scans
from lamr_postprocess.languages.plain import IN_PHP
from lamr_postprocess.languages.table import BLOCK_COMMENT, Comment, ListKind, braced, name_set

_ELEMENTS = ListKind(separators=frozenset({","}))
_CASE_ENDS = name_set("break_statement return_statement continue_statement exit_statement compound_statement")
_BODY = ListKind(results=frozenset({"return_statement"}))
_HTML = ListKind(by_row=True, delimited=False, comment=Comment("<!--", "-->"))

_NAMES = """
[(variable_name) (name)] @name
(variable_name|namespace_name (name) @ignore)
[(function_definition) (method_declaration) (anonymous_function)] @scope
(arrow_function) @scope.expression
(declaration_list) @scope.members

(function_definition name: (name) @definition @outside)
(class_declaration|interface_declaration|trait_declaration|enum_declaration name: (name) @definition)
(const_declaration (const_element . (name) @definition))
(method_declaration|enum_case|member_access_expression|nullsafe_member_access_expression|
 member_call_expression|nullsafe_member_call_expression|scoped_call_expression|argument name: (name) @ignore)
(assignment_expression|reference_assignment_expression left: (variable_name) @variable)
(augmented_assignment_expression left: (variable_name) @update)
(list_literal (variable_name) @variable)
(simple_parameter|variadic_parameter|property_promotion_parameter|catch_clause|
 static_variable_declaration name: (variable_name) @variable)
(foreach_statement (variable_name) (variable_name) @variable)
(foreach_statement (pair (variable_name) @variable))
(property_element|scoped_property_access_expression name: (variable_name) @ignore)
(anonymous_function_use_clause (variable_name) @update)
(global_declaration (variable_name) @declare.global)

(class_constant_access_expression (_) (name) @ignore)
(namespace_use_clause (name) @import)
(namespace_use_clause (qualified_name (name) @import))
(namespace_use_clause alias: (name) @import)
"""

_DEFINITIONS = """
(function_definition|method_declaration|class_declaration|interface_declaration|trait_declaration|
 enum_declaration name: (name) @name)
(assignment_expression left: [(variable_name) @name (member_access_expression name: (name) @name)]
  right: [(anonymous_function) (arrow_function)]) @function
(function_call_expression function: (name) @_kind
  arguments: (arguments . (argument [(string (string_content) @name) (encapsed_string . (string_content) @name)])
    (argument [(anonymous_function) (arrow_function)]))
  (#any-of? @_kind "describe" "it" "test")) @function
"""

PHP = braced(
    name="php",
    suffixes=name_set(".php .phtml .php5 .php7 .inc"),
    leading=r"#\[",
    wholes=IN_PHP,
    stand_ins=("class $ {", "function $() {", "{"),
    shebangs=frozenset({"php"}),
    hints=(r"^<\?php\b|<\?=", r"\$\w+->\w+|\$this\b", r"^use [\w\\]+;", r"^[ \t]*\$\w+ = "),
    scan=scans.PHP,
    grammar="tree_sitter_php:language_php",
    lists={
        "comment": BLOCK_COMMENT,
        "program": ListKind(fixed=frozenset({"php_tag"})),
        "compound_statement|colon_block|declaration_list|enum_declaration_list|switch_block": ListKind(),
        "function_definition|method_declaration|anonymous_function>compound_statement": _BODY,
        "case_statement": ListKind(fixed=frozenset({"value"}), endings=_CASE_ENDS, falls=True),
        "default_statement": ListKind(endings=_CASE_ENDS, falls=True),
        "case_statement>compound_statement": ListKind(endings=_CASE_ENDS),
        "match_block|array_creation_expression|namespace_use_group": _ELEMENTS,
        "text": _HTML,
    },
    companions=name_set("else_clause else_if_clause catch_clause finally_clause"),
    labels=name_set("case_statement default_statement"),
    directives=r"declare[ \t]*\(",
    opaque=name_set("string encapsed_string heredoc nowdoc"),
    names=_NAMES,
    definitions=_DEFINITIONS,
    builtins=name_set("true false null TRUE FALSE NULL self parent static"),
)
