"""C#."""

import dataclasses

from lamr_postprocess.languages import scans
from lamr_postprocess.languages.plain import CONDITIONS_OF_C, LIKE_C
from lamr_postprocess.languages.table import BLOCK_COMMENT, ListKind, braced, name_set

_ELEMENTS = ListKind(separators=frozenset({","}))
_BODY = ListKind(results=frozenset({"return_statement"}))
_HANDLER = ListKind(endings=frozenset({"throw_statement"}))
_BRANCH = ListKind(fixed=frozenset({"condition", "alternative"}))

_NAMES = """
(identifier) @name
[(declaration_list) (enum_member_declaration_list)] @scope.members
[(method_declaration) (constructor_declaration) (local_function_statement) (lambda_expression)
 (anonymous_method_expression) (operator_declaration) (indexer_declaration) (accessor_declaration)] @scope
[(block) (for_statement) (foreach_statement) (using_statement) (catch_clause) (switch_section)] @scope.expression

(class_declaration|struct_declaration|interface_declaration|record_declaration|enum_declaration|
 delegate_declaration|enum_member_declaration|property_declaration|event_declaration name: (identifier) @definition)
(method_declaration|local_function_statement name: (identifier) @definition @outside)
(constructor_declaration|qualified_name|member_access_expression|member_binding_expression|argument|
 namespace_declaration|file_scoped_namespace_declaration name: (identifier) @ignore)
(field_declaration (variable_declaration (variable_declarator name: (identifier) @definition)))
(event_field_declaration (variable_declaration (variable_declarator name: (identifier) @definition)))
(local_declaration_statement|for_statement|using_statement
  (variable_declaration (variable_declarator name: (identifier) @variable)))
(foreach_statement left: (identifier) @variable)
(parameter|catch_declaration|declaration_pattern|declaration_expression|var_pattern|type_parameter
  name: (identifier) @variable)
(tuple_pattern|from_clause name: (identifier) @variable)
(let_clause|join_clause . (identifier) @variable)
(labeled_statement . (identifier) @definition)
(implicit_parameter) @variable
(lambda_expression parameters: (identifier) @variable)
(assignment_expression left: (identifier) @update)

(using_directive name: (identifier) @import)
(using_directive (identifier) @ignore)
"""

_DEFINITIONS = """
(class_declaration|struct_declaration|interface_declaration|record_declaration|enum_declaration|
 delegate_declaration|method_declaration|constructor_declaration|destructor_declaration|event_declaration|
 property_declaration name: (identifier) @name)
(operator_declaration|conversion_operator_declaration "operator" @name)
(indexer_declaration "this" @name)
"""

CSHARP = braced(
    name="csharp",
    aliases=frozenset({"c#", "cs"}),
    suffixes=frozenset({".cs", ".csx", ".cake"}),
    leading=r"\[",
    wholes=LIKE_C,
    words=(CONDITIONS_OF_C,),
    stand_ins=("class $ {", "void $() {", "{"),
    preprocessed=True,
    hints=(
        r"^using (static )?[\w.]+;",
        r"^namespace [\w.]+[ \t]*[;{]?[ \t]*$",
        r"\{ get; ((private |protected |internal )?(set|init); )?\}",
        r"^[ \t]*(public|private|protected|internal)( \w+)* (class|struct|interface|record|enum) \w+",
        r"\bstring\[\] args\b|\bConsole\.Write",
    ),
    scan=scans.CSHARP,
    grammar="tree_sitter_c_sharp:language",
    lists={
        "comment": BLOCK_COMMENT,
        "compilation_unit|block|accessor_list|switch_body|preproc_else": ListKind(),
        "declaration_list": ListKind(separators=frozenset({";"})),
        "catch_clause>block": _HANDLER,
        "method_declaration|local_function_statement|lambda_expression>block": _BODY,
        "enum_member_declaration_list": dataclasses.replace(_ELEMENTS, valued=frozenset({"value"})),
        "initializer_expression": _ELEMENTS,
        "preproc_if|preproc_elif": _BRANCH,
    },
    companions=name_set("catch_clause finally_clause preproc_elif preproc_else"),
    directives=r"#[ \t]*(?:nullable|define|undef)\b",
    opaque=name_set(
        "string_literal verbatim_string_literal raw_string_literal interpolated_string_expression"
    ),
    names=_NAMES,
    definitions=_DEFINITIONS,
)
