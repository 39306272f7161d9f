"""JavaScript, and TypeScript on top of it; both with JSX."""

import dataclasses

from lamr_postprocess.languages import scans
from lamr_postprocess.languages.plain import LIKE_JAVASCRIPT
from lamr_postprocess.languages.table import BLOCK_COMMENT, Comment, ListKind, braced, name_set

# A name that no `;` ends (`href="a?b=c&d=e"`, `&nbsp&nbsp`), which the grammars of JSX take for half of an entity.
_ENTITIES = ((r"(&)(?=[A-Za-z_]\w*[^\w;])", ""),)
_MEMBERS = ListKind(separators=frozenset({";"}))
_ELEMENTS = ListKind(separators=frozenset({","}))
_CASE_ENDS = name_set("break_statement return_statement continue_statement throw_statement statement_block")
_CASE = ListKind(items=frozenset({"body"}), endings=_CASE_ENDS, falls=True)
_CASE_BLOCK = ListKind(endings=_CASE_ENDS)
_BODY = ListKind(results=frozenset({"return_statement"}))
_HANDLER = ListKind(endings=frozenset({"throw_statement"}))
_FUNCTIONS = name_set(
    "function_declaration function_expression generator_function_declaration generator_function "
    "arrow_function method_definition"
)

_NAMES = """
[(identifier) (shorthand_property_identifier) (private_property_identifier)] @name
[(function_declaration) (function_expression) (generator_function_declaration) (generator_function)
 (arrow_function) (method_definition)] @scope
[(statement_block) (for_statement) (for_in_statement) (catch_clause) (switch_body)] @scope.expression
(class_body) @scope.members

(method_definition name: (private_property_identifier) @definition.private @outside)
(function_declaration|generator_function_declaration name: (identifier) @definition @outside)
(function_expression name: (identifier) @variable)
(lexical_declaration (variable_declarator name: (identifier) @variable))
(variable_declaration (variable_declarator name: (identifier) @variable.function))
(object_pattern (shorthand_property_identifier_pattern) @variable)
(object_assignment_pattern left: (shorthand_property_identifier_pattern) @variable)
(pair_pattern value: (identifier) @variable)
(array_pattern|rest_pattern (identifier) @variable)
(assignment_pattern left: (identifier) @variable)
(arrow_function|catch_clause parameter: (identifier) @variable)
(for_in_statement kind: _ left: (identifier) @variable)
(assignment_expression left: (identifier) @update)

(import_specifier name: (identifier) @ignore)
(import_specifier !alias name: (identifier) @import)
(import_specifier alias: (identifier) @import)
(import_clause|namespace_import (identifier) @import)
(export_specifier alias: (identifier) @ignore)
"""

_JAVASCRIPT_NAMES = (
    _NAMES
    + """
(class_declaration name: (identifier) @definition)
(using_declaration (variable_declarator name: (identifier) @variable))
(field_definition property: (private_property_identifier) @definition.private)
(formal_parameters (identifier) @variable)
"""
)

_TYPESCRIPT_NAMES = (
    _NAMES
    + """
(type_identifier) @name
(public_field_definition name: (private_property_identifier) @definition.private)
(class_declaration|abstract_class_declaration|interface_declaration|type_alias_declaration
  name: (type_identifier) @definition)
(enum_declaration|internal_module|function_signature name: (identifier) @definition)
(type_parameter name: (type_identifier) @variable)
(required_parameter|optional_parameter pattern: (identifier) @variable)
(import_require_clause (identifier) @import)
"""
)

_LISTS = {
    "program|statement_block|switch_body": ListKind(),
    "comment": BLOCK_COMMENT,
    "catch_clause>statement_block": _HANDLER,
    **{f"{function}>statement_block": _BODY for function in sorted(_FUNCTIONS)},
    "class_body": _MEMBERS,
    "switch_case|switch_default": _CASE,
    "switch_case|switch_default>statement_block": _CASE_BLOCK,
    "array|object|named_imports|export_clause": _ELEMENTS,
    "jsx_element": ListKind(fixed=frozenset({"open_tag", "close_tag"}), comment=Comment("{/*", "*/}")),
}

_HINTS = (
    r"^[ \t]*(export )?(default )?(async )?function\*? ?\w*\(",
    r"^[ \t]*(export )?(const|let|var) [\w{\[][^=\n]*=[^=\n]",
    r"^(import|export) .* from ['\"]",
    r"\brequire\(['\"]",
    r"=> [{(]?$|\) => ",
    r"^module\.exports\b|^'use strict'|^\"use strict\"",
)

_DEFINITIONS = """
(function_declaration|generator_function_declaration name: (identifier) @name)
(class_declaration name: (_) @name)
(method_definition name: (_) @name)
(class_static_block "static" @name)
(variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression) (class)])
; members of an object that has a name, and no callbacks that a call is given
(variable_declarator value: (object (pair
  key: (_) @name value: [(arrow_function) (function_expression)])))
(assignment_expression right: (object (pair
  key: (_) @name value: [(arrow_function) (function_expression)])))
(assignment_expression left: (member_expression) @name right: [(arrow_function) (function_expression) (class)])
(export_statement "default" @name value: [(arrow_function) (function_expression) (class)])
(export_statement value: (object (pair
  key: (_) @name value: [(arrow_function) (function_expression)])))
; tests by their descriptions
(call_expression function: [(identifier) @_kind (member_expression object: (identifier) @_kind)
  (call_expression function: (member_expression object: (identifier) @_kind))]
  arguments: (arguments . [(string . (string_fragment) @name) (template_string . (string_fragment) @name)]
    [(arrow_function) (function_expression)])
  (#any-of? @_kind "describe" "context" "suite" "it" "specify" "test")) @function
"""
_FIELD = """
({} (_) @name value: [(arrow_function) (function_expression)])
"""

JAVASCRIPT = braced(
    name="javascript",
    aliases=name_set("js jsx node ecmascript"),
    suffixes=name_set(".js .jsx .mjs .cjs"),
    leading=r"@\w",
    wholes=LIKE_JAVASCRIPT,
    stand_ins=("class $ {", "function $() {", "{"),
    macros=_ENTITIES,
    shebangs=frozenset({"node", "nodejs"}),
    hints=_HINTS,
    scan=scans.JAVASCRIPT,
    grammar="tree_sitter_javascript:language",
    lists=_LISTS,
    comments=frozenset({"comment", "html_comment"}),
    companions=name_set("else_clause catch_clause finally_clause decorator"),
    labels=name_set("switch_case switch_default"),
    directives=r"['\"]use \w+['\"]|///[ \t]*<|//[ \t]*@(?:ts-(?:no)?check|flow)\b|/\*+[ \t]*@(?:jsx\w*|flow)\b",
    remarks=r"//[ \t]*@ts-(?:ignore|expect-error)\b",
    padded=frozenset({"jsx_text"}),
    opaque=frozenset({"template_string", "string", "regex"}),
    names=_JAVASCRIPT_NAMES,
    definitions=_DEFINITIONS + _FIELD.format("field_definition property:"),
    members_visible=False,
    joiners="([`+-*/.,?",
)

TYPESCRIPT = dataclasses.replace(
    JAVASCRIPT,
    name="typescript",
    extends="javascript",
    aliases=frozenset({"ts", "mts", "cts"}),
    suffixes=frozenset({".ts", ".mts", ".cts"}),
    shebangs=name_set("ts-node deno bun tsx"),
    hints=(
        r"^[ \t]*(export )?(declare )?(interface|type|enum|namespace) \w+.*[{=]$",
        r"\w+\??: (string|number|boolean|void|unknown|any|Promise<)",
        r"^import type |\bimplements \w|\bas const\b|\breadonly \w",
        r"^[ \t]*(private|public|protected) (readonly |async |static )*\w+[(:?]",
        *_HINTS[2:3],
    ),
    grammar="tree_sitter_typescript:language_typescript",
    lists={
        **{kind: spec for kind, spec in _LISTS.items() if not kind.startswith("jsx")},
        "interface_body|object_type": ListKind(separators=frozenset({";", ","})),
        "enum_body": dataclasses.replace(_ELEMENTS, valued=frozenset({"enum_assignment"})),
    },
    prefixes=frozenset({"decorator"}),
    padded=frozenset(),
    names=_TYPESCRIPT_NAMES,
    definitions=_DEFINITIONS
    + _FIELD.format("public_field_definition name:")
    + """
(abstract_class_declaration|interface_declaration|type_alias_declaration name: (type_identifier) @name)
(enum_declaration|internal_module name: (identifier) @name)
""",
)

TSX = dataclasses.replace(
    TYPESCRIPT,
    name="tsx",
    extends="typescript",
    aliases=frozenset({"typescriptreact"}),
    suffixes=frozenset({".tsx"}),
    shebangs=frozenset(),
    hints=(r"^[ \t]*</?[A-Za-z][\w.]*( .*)?>[ \t]*$", r"from ['\"]react['\"]"),
    grammar="tree_sitter_typescript:language_tsx",
    lists={**TYPESCRIPT.lists, "jsx_element": _LISTS["jsx_element"]},
    padded=frozenset({"jsx_text"}),
)
