"""Java, to version 21."""

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

_MEMBERS = ListKind(separators=frozenset({";"}))
_ELEMENTS = ListKind(separators=frozenset({","}))
_CASE_ENDS = name_set(
    "break_statement return_statement continue_statement throw_statement yield_statement block"
)
_BODY = ListKind(results=frozenset({"return_statement"}))
_HANDLER = ListKind(endings=frozenset({"throw_statement"}))

_NAMES = """
[(identifier) (type_identifier)] @name
[(class_body) (interface_body) (enum_body) (enum_body_declarations) (annotation_type_body)] @scope.members
[(method_declaration) (constructor_declaration) (compact_constructor_declaration) (lambda_expression)] @scope
[(block) (for_statement) (enhanced_for_statement) (catch_clause) (try_with_resources_statement)
 (switch_block)] @scope.expression

(class_declaration name: (identifier) @definition)
(interface_declaration name: (identifier) @definition)
(enum_declaration name: (identifier) @definition)
(record_declaration name: (identifier) @definition)
(annotation_type_declaration name: (identifier) @definition)
(method_declaration name: (identifier) @definition @outside)
(constructor_declaration name: (identifier) @ignore)
(enum_constant name: (identifier) @definition)
(field_declaration declarator: (variable_declarator name: (identifier) @definition))
(constant_declaration declarator: (variable_declarator name: (identifier) @definition))
(local_variable_declaration declarator: (variable_declarator name: (identifier) @variable))
(formal_parameter name: (identifier) @variable)
(spread_parameter (variable_declarator name: (identifier) @variable))
(catch_formal_parameter name: (identifier) @variable)
(enhanced_for_statement name: (identifier) @variable)
(resource name: (identifier) @variable)
(inferred_parameters (identifier) @variable)
(lambda_expression parameters: (identifier) @variable)
(instanceof_expression name: (identifier) @variable)
(record_pattern_component (identifier) @variable)
(type_pattern (identifier) @variable)
(type_parameter (type_identifier) @variable)
(assignment_expression left: (identifier) @update)

(scoped_identifier name: (identifier) @ignore)
(import_declaration (scoped_identifier name: (identifier) @import))
(import_declaration (asterisk)) @import.all
(field_access field: (identifier) @ignore)
(method_invocation object: (_) name: (identifier) @ignore)
(element_value_pair key: (identifier) @ignore)
(labeled_statement . (identifier) @ignore)
(break_statement (identifier) @ignore)
(continue_statement (identifier) @ignore)
"""

_DEFINITIONS = """
(class_declaration name: (identifier) @name)
(interface_declaration name: (identifier) @name)
(enum_declaration name: (identifier) @name)
(record_declaration name: (identifier) @name)
(annotation_type_declaration name: (identifier) @name)
(method_declaration name: (identifier) @name)
(constructor_declaration name: (identifier) @name)
(compact_constructor_declaration name: (identifier) @name)
(static_initializer "static" @name)
"""

JAVA = Language(
    name="java",
    comment=Comment("//"),
    suffixes=frozenset({".java", ".jav"}),
    frames=BRACES,
    ending="}",
    leading=r"@(?!interface)\w",
    stand_ins=("class $ {", "void $() {", "{"),
    hints=(
        r"^package [\w.]+;",
        r"^import (static )?[\w.]+(\.\*)?;",
        r"^[ \t]*(public|protected|private|static|final|abstract)( \w+)* (class|interface|enum|record) \w+",
        r"^[ \t]*(public|protected|private)( static| final| abstract| synchronized)* [\w<>\[\], ]+ \w+\(",
        r"^[ \t]*@Override\b",
    ),
    grammar="tree_sitter_java:language",
    lists={
        "block_comment": BLOCK_COMMENT,
        "program": ListKind(),
        "block": ListKind(),
        "catch_clause>block": _HANDLER,
        "method_declaration>block": _BODY,
        "lambda_expression>block": _BODY,
        "constructor_body": ListKind(),
        "class_body": _MEMBERS,
        "interface_body": _MEMBERS,
        "annotation_type_body": _MEMBERS,
        "enum_body": ListKind(separators=frozenset({",", ";"})),
        "enum_body_declarations": ListKind(),
        "switch_block": ListKind(),
        "switch_block_statement_group": ListKind(
            fixed=frozenset({"switch_label"}), endings=_CASE_ENDS, falls=True
        ),
        "switch_block_statement_group>block": ListKind(endings=_CASE_ENDS),
        "array_initializer": _ELEMENTS,
        "element_value_array_initializer": _ELEMENTS,
        "module_body": ListKind(),
    },
    comments=frozenset({"line_comment", "block_comment"}),
    companions=frozenset({"catch_clause", "finally_clause"}),
    labels=frozenset({"switch_block_statement_group"}),
    asides=FALLS_THROUGH,
    opaque=frozenset({"string_literal"}),
    names=_NAMES,
    definitions=_DEFINITIONS,
    builtins=name_set("String Object Integer Long Double Boolean System Math Override"),
)
