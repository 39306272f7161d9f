"""C#."""

from __future__ import annotations

import dataclasses

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
_BODY = ListKind(results=frozenset({"return_statement"}))
_HANDLER = ListKind(endings=frozenset({"throw_statement"}))
_BRANCH = ListKind(fixed=frozenset({"condition", "alternative"}))

_NAMES = """
(identifier) @name
[(declaration_list) (enum_member_declaration_list)] @scope.members
[(method_declaration) (constructor_declaration) (local_function_statement) (lambda_expression)
 (anonymous_method_expression) (operator_declaration) (indexer_declaration) (accessor_declaration)] @scope
[(block) (for_statement) (foreach_statement) (using_statement) (catch_clause) (switch_section)] @scope.expression

(class_declaration name: (identifier) @definition)
(struct_declaration name: (identifier) @definition)
(interface_declaration name: (identifier) @definition)
(record_declaration name: (identifier) @definition)
(enum_declaration name: (identifier) @definition)
(delegate_declaration name: (identifier) @definition)
(enum_member_declaration name: (identifier) @definition)
(method_declaration name: (identifier) @definition @outside)
(local_function_statement name: (identifier) @definition @outside)
(constructor_declaration name: (identifier) @ignore)
(property_declaration name: (identifier) @definition)
(event_declaration name: (identifier) @definition)
(field_declaration (variable_declaration (variable_declarator name: (identifier) @definition)))
(event_field_declaration (variable_declaration (variable_declarator name: (identifier) @definition)))
(local_declaration_statement (variable_declaration (variable_declarator name: (identifier) @variable)))
(for_statement (variable_declaration (variable_declarator name: (identifier) @variable)))
(using_statement (variable_declaration (variable_declarator name: (identifier) @variable)))
(foreach_statement left: (identifier) @variable)
(parameter name: (identifier) @variable)
(labeled_statement . (identifier) @definition)
(implicit_parameter) @variable
(lambda_expression parameters: (identifier) @variable)
(catch_declaration name: (identifier) @variable)
(declaration_pattern name: (identifier) @variable)
(declaration_expression name: (identifier) @variable)
(var_pattern name: (identifier) @variable)
(type_parameter name: (identifier) @variable)
(assignment_expression left: (identifier) @update)

(using_directive name: (identifier) @import)
(using_directive (identifier) @ignore)
(qualified_name name: (identifier) @ignore)
(member_access_expression name: (identifier) @ignore)
(member_binding_expression name: (identifier) @ignore)
(argument name: (identifier) @ignore)
(namespace_declaration name: (identifier) @ignore)
(file_scoped_namespace_declaration name: (identifier) @ignore)
"""

_DEFINITIONS = """
(class_declaration name: (identifier) @name)
(struct_declaration name: (identifier) @name)
(interface_declaration name: (identifier) @name)
(record_declaration name: (identifier) @name)
(enum_declaration name: (identifier) @name)
(delegate_declaration name: (identifier) @name)
(method_declaration name: (identifier) @name)
(constructor_declaration name: (identifier) @name)
(destructor_declaration name: (identifier) @name)
(operator_declaration "operator" @name)
(conversion_operator_declaration "operator" @name)
(indexer_declaration "this" @name)
(event_declaration name: (identifier) @name)
(property_declaration name: (identifier) @name)
"""

CSHARP = Language(
    name="csharp",
    comment=Comment("//"),
    aliases=frozenset({"c#", "cs"}),
    suffixes=frozenset({".cs", ".csx", ".cake"}),
    frames=BRACES,
    ending="}",
    leading=r"\[",
    stand_ins=("class $ {", "void $() {", "{"),
    preprocessed=True,
    hints=(
        r"^using (static )?[\w.]+;",
        r"^namespace [\w.]+[ \t]*[;{]?[ \t]*$",
        r"\{ get; ((private |protected |internal )?(set|init); )?\}",
        r"^[ \t]*(public|private|protected|internal)( \w+)* (class|struct|interface|record|enum) \w+",
        r"\bstring\[\] args\b|\bConsole\.Write",
    ),
    grammar="tree_sitter_c_sharp:language",
    lists={
        "comment": BLOCK_COMMENT,
        "compilation_unit": ListKind(),
        "declaration_list": ListKind(separators=frozenset({";"})),
        "block": ListKind(),
        "catch_clause>block": _HANDLER,
        "method_declaration>block": _BODY,
        "local_function_statement>block": _BODY,
        "lambda_expression>block": _BODY,
        "accessor_list": ListKind(),
        "switch_body": ListKind(),
        "enum_member_declaration_list": dataclasses.replace(_ELEMENTS, valued=frozenset({"value"})),
        "initializer_expression": _ELEMENTS,
        "preproc_if": _BRANCH,
        "preproc_elif": _BRANCH,
        "preproc_else": ListKind(),
    },
    comments=frozenset({"comment"}),
    companions=name_set("catch_clause finally_clause preproc_elif preproc_else"),
    directives=r"#[ \t]*(?:nullable|define|undef)\b",
    asides=FALLS_THROUGH,
    opaque=name_set(
        "string_literal verbatim_string_literal raw_string_literal interpolated_string_expression"
    ),
    names=_NAMES,
    definitions=_DEFINITIONS,
)
