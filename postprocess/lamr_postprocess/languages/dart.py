"""Dart. The signature of a function and its body are neighbours in its tree."""

from lamr_postprocess.languages import scans
from lamr_postprocess.languages.plain import with_grammar
from lamr_postprocess.languages.table import ListKind, name_set

DART = with_grammar(
    "dart",
    frames=r"[{})\]]|(?:else|catch|finally|case|default)\b",
    ending="}",
    leading=r"@\w",
    stand_ins=("class $ {", "void $() {", "{"),
    scan=scans.SLASHED,
    grammar="tree_sitter_dart:language",
    lists={
        "program|block|switch_block": ListKind(),
        "class_body|extension_body": ListKind(separators=frozenset({";"})),
        "enum_body": ListKind(separators=frozenset({",", ";"}), keep_first=True, core="enum_constant "),
        "function_body>block": ListKind(results=frozenset({"return_statement"})),
    },
    comments=name_set("comment documentation_comment"),
    companions=name_set("finally_clause"),
    prefixes=name_set("annotation method_signature function_signature getter_signature setter_signature"),
    opaque=frozenset({"string_literal"}),
    names="""
[(identifier) (type_identifier)] @name
[(block)] @scope.expression
(class_body) @scope.members
(function_signature|getter_signature|setter_signature|class_definition|enum_declaration|extension_declaration|
 extension_type_declaration name: (identifier) @definition)
(mixin_declaration (identifier) @definition)
(type_alias . (type_identifier) @definition)
(type_alias (_) . (type_identifier) @definition . (formal_parameter_list))
(import_specification (identifier) @import)
(combinator "show" (identifier) @import)
(pattern_variable_declaration (_ (constant_pattern (identifier) @variable)))
(pattern_variable_declaration (_ (rest_pattern (constant_pattern (identifier) @variable))))
(for_loop_parts (_ (constant_pattern (identifier) @variable)))
(variable_pattern (identifier) @variable)
(catch_parameters (identifier) @variable)
(static_final_declaration . (identifier) @variable)
(initialized_variable_definition|formal_parameter name: (identifier) @variable)
(initialized_identifier (identifier) @variable)
(unconditional_assignable_selector|conditional_assignable_selector (identifier) @ignore)
""",
    definitions="""
(function_signature|getter_signature|setter_signature|class_definition|enum_declaration|
 extension_declaration name: (identifier) @name)
(operator_signature "operator" @name)
(constructor_signature|factory_constructor_signature . (identifier) @name)
(constant_constructor_signature (const_builtin) . (identifier) @name)
(mixin_declaration (identifier) @name)
(expression_statement (identifier) @_kind
  (selector (argument_part (arguments . (argument (string_literal) @name) (argument (function_expression)))))
  (#any-of? @_kind "group" "test" "testWidgets")) @function
""",
)
