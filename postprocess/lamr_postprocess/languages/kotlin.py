"""Kotlin."""

from lamr_postprocess.languages import scans
from lamr_postprocess.languages.plain import with_grammar
from lamr_postprocess.languages.table import ListKind, name_set

_STATEMENTS = ListKind(separators=frozenset({";"}))

KOTLIN = with_grammar(
    "kotlin",
    # The grammar wants a line end or a semicolon behind the last declaration of a body: `class A { val b = 1 }`.
    macros=((r"[^\s{;,]([ \t]{1,20})(?=\})", ";"),),
    frames=r"[{})\]]|(?:else|catch|finally)\b",
    ending="}",
    leading=r"@\w",
    stand_ins=("class $ {", "fun $() {", "run {"),
    scan=scans.TICKED,
    grammar="tree_sitter_kotlin:language",
    hints=(
        r"^[ \t]*(private |public |internal |override |suspend |inline )*fun (<.*> )?[\w.]+\(",
        r"^(data |sealed |open |abstract |enum )*class \w+.*[({:]?[ \t]*$|^(companion )?object \w*",
        r"^[ \t]*va[lr] \w+(: [\w<>?]+)? (=|by) ",
        r"^package [\w.]+[ \t]*$",
        r"^import [\w.]+(\.\*)?[ \t]*$",
    ),
    lists={
        "source_file": ListKind(separators=frozenset({";"}), fixed=frozenset({"package_header"})),
        "class_body|block": _STATEMENTS,
        "enum_class_body": ListKind(separators=frozenset({","})),
        "function_body>block": ListKind(
            separators=frozenset({";"}), results=frozenset({"return_expression"})
        ),
        "lambda_literal": ListKind(separators=frozenset({";"}), fixed=frozenset({"lambda_parameters"})),
        "when_expression": ListKind(items=frozenset({"when_entry"})),
    },
    comments=name_set("line_comment block_comment"),
    companions=name_set("catch_block finally_block"),
    opaque=name_set("string_literal multiline_string_literal"),
    names="""
(identifier) @name
[(function_declaration) (anonymous_function) (secondary_constructor)] @scope
[(lambda_literal) (block) (for_statement) (catch_block) (when_entry)] @scope.expression
[(class_body) (enum_class_body)] @scope.members
(function_declaration name: (identifier) @definition @outside)
(class_declaration|object_declaration name: (identifier) @definition)
(type_alias type: (identifier) @definition)
(variable_declaration|parameter|catch_block . (identifier) @variable)
(class_parameter (identifier) @variable . (_))
(import (qualified_identifier (identifier) @import .) .)
(import (identifier) @import)
(qualified_identifier (identifier) @ignore)
(navigation_expression (_) (identifier) @ignore)
""",
    definitions="""
(function_declaration|class_declaration|object_declaration name: (identifier) @name)
(secondary_constructor "constructor" @name)
(anonymous_initializer "init" @name)
(property_declaration (variable_declaration) @name (getter))
(type_alias type: (identifier) @name)
(call_expression (call_expression (identifier) @_kind
    (value_arguments . (value_argument (string_literal . (string_content) @name)))) (annotated_lambda)
  (#any-of? @_kind "context" "describe" "it" "should" "test")) @function
""",
    joiners=".?",
)
