"""Java, to version 21."""

from lamr_postprocess.languages import scans
from lamr_postprocess.languages.plain import LIKE_JAVA
from lamr_postprocess.languages.table import BLOCK_COMMENT, ListKind, braced, name_set

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

(class_declaration|interface_declaration|enum_declaration|record_declaration|
 annotation_type_declaration|enum_constant name: (identifier) @definition)
(method_declaration name: (identifier) @definition @outside)
(constructor_declaration|scoped_identifier name: (identifier) @ignore)
(field_declaration|constant_declaration declarator: (variable_declarator name: (identifier) @definition))
(local_variable_declaration declarator: (variable_declarator name: (identifier) @variable))
(formal_parameter|catch_formal_parameter|enhanced_for_statement|resource|instanceof_expression
  name: (identifier) @variable)
(spread_parameter (variable_declarator name: (identifier) @variable))
(inferred_parameters|record_pattern_component|type_pattern (identifier) @variable)
(lambda_expression parameters: (identifier) @variable)
(type_parameter (type_identifier) @variable)
(assignment_expression left: (identifier) @update)

(import_declaration (scoped_identifier name: (identifier) @import))
(import_declaration (asterisk)) @import.all
(field_access field: (identifier) @ignore)
(method_invocation object: (_) name: (identifier) @ignore)
(element_value_pair key: (identifier) @ignore)
(labeled_statement . (identifier) @ignore)
(break_statement|continue_statement (identifier) @ignore)
"""

_DEFINITIONS = """
(class_declaration|interface_declaration|enum_declaration|record_declaration|
 annotation_type_declaration|method_declaration|constructor_declaration|
 compact_constructor_declaration name: (identifier) @name)
(static_initializer "static" @name)
"""

JAVA = braced(
    name="java",
    suffixes=frozenset({".java", ".jav"}),
    leading=r"@(?!interface)\w",
    wholes=LIKE_JAVA,
    stand_ins=("class $ {", "void $() {", "{"),
    hints=(
        r"^package [\w.]+;",
        r"^import (static )?[\w.]+(\.\*)?;",
        r"^[ \t]*(public|protected|private|static|final|abstract)( \w+)* (class|interface|enum|record) \w+",
        r"^[ \t]*(public|protected|private)( static| final| abstract| synchronized)* [\w<>\[\], ]+ \w+\(",
        r"^[ \t]*@Override\b",
    ),
    scan=scans.SLASHED,
    grammar="tree_sitter_java:language",
    lists={
        "block_comment": BLOCK_COMMENT,
        "program|block|constructor_body|enum_body_declarations|switch_block|module_body": ListKind(),
        "catch_clause>block": _HANDLER,
        "method_declaration|lambda_expression>block": _BODY,
        "class_body|interface_body|annotation_type_body": _MEMBERS,
        "enum_body": ListKind(separators=frozenset({",", ";"})),
        "switch_block_statement_group": ListKind(
            fixed=frozenset({"switch_label"}), endings=_CASE_ENDS, falls=True
        ),
        "switch_block_statement_group>block": ListKind(endings=_CASE_ENDS),
        "array_initializer|element_value_array_initializer": _ELEMENTS,
    },
    comments=frozenset({"line_comment", "block_comment"}),
    companions=frozenset({"catch_clause", "finally_clause"}),
    labels=frozenset({"switch_block_statement_group"}),
    opaque=frozenset({"string_literal"}),
    names=_NAMES,
    definitions=_DEFINITIONS,
    builtins=name_set("String Object Integer Long Double Boolean System Math Override"),
)
