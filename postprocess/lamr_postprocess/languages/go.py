"""Go, with type parameters."""

from lamr_postprocess.languages import scans
from lamr_postprocess.languages.plain import LIKE_JAVASCRIPT
from lamr_postprocess.languages.table import BLOCK_COMMENT, Comment, Language, ListKind, name_set

_CASES = ListKind(items=name_set("expression_case type_case communication_case default_case"))
_FALLING = ListKind(separators=frozenset({";", "\n"}), endings=frozenset({"fallthrough_statement"}))
_ELEMENTS = ListKind(separators=frozenset({","}))
_SPECS = frozenset({";", "\n"})

# An import's path binds the words of its last parts: `gopkg.in/yaml.v3` may be `yaml`.
_NAMES = """
[(identifier) (type_identifier) (package_identifier)] @name
[(function_declaration) (method_declaration) (func_literal)] @scope
[(block) (if_statement) (for_statement) (expression_switch_statement) (type_switch_statement) (select_statement)
 (expression_case) (type_case) (communication_case)] @scope.expression

(package_clause (package_identifier) @ignore)
(function_declaration name: (identifier) @definition @outside)
(type_spec|type_alias name: (type_identifier) @definition)
(const_spec name: (identifier) @definition)
(var_spec|parameter_declaration|variadic_parameter_declaration|type_parameter_declaration
  name: (identifier) @variable)
(short_var_declaration|range_clause|receive_statement left: (expression_list (identifier) @variable))
(type_switch_statement alias: (expression_list (identifier) @variable))
(assignment_statement left: (expression_list (identifier) @update))
(keyed_element key: (literal_element (identifier) @ignore))
(labeled_statement label: (label_name) @definition)
(goto_statement (label_name) @name)

(import_spec name: (package_identifier) @import)
(import_spec (dot)) @import.all
(import_spec !name path: (interpreted_string_literal) @import.path)
"""

_DEFINITIONS = """
(function_declaration name: (identifier) @name)
(method_declaration name: (field_identifier) @name)
(type_spec|type_alias name: (type_identifier) @name)
(var_spec name: (identifier) @name value: (expression_list (func_literal)))
(call_expression function: (selector_expression field: (field_identifier) @_kind)
  arguments: (argument_list . (interpreted_string_literal . (interpreted_string_literal_content) @name) (func_literal))
  (#eq? @_kind "Run")) @function
"""

GO = Language(
    name="go",
    comment=Comment("//"),
    aliases=frozenset({"golang"}),
    suffixes=frozenset({".go"}),
    frames=r"[{})\]]|(?:case|default)\b|\w+:$",
    ending="}",
    wholes=LIKE_JAVASCRIPT,
    stand_ins=("", "func $() {", "{"),
    hints=(
        r"^package \w+[ \t]*$",
        r"^func (\(\w* ?\*?\w+(\[\w+\])?\) )?\w+(\[.*\])?\(",
        r"^import (\(|\")",
        r":= ",
        r"^type \w+ (struct|interface|func)\b",
    ),
    scan=scans.GO,
    grammar="tree_sitter_go:language",
    lists={
        "comment": BLOCK_COMMENT,
        "source_file|statement_list|import_spec_list|var_spec_list": ListKind(separators=_SPECS),
        "expression_switch_statement|type_switch_statement|select_statement": _CASES,
        "const_declaration": ListKind(
            items=frozenset({"const_spec"}),
            separators=_SPECS,
            valued=frozenset({"value"}),
            counter=r"[^\n]*\biota\b",
        ),
        "expression_case|default_case>statement_list": _FALLING,
        "type_declaration": ListKind(items=frozenset({"type_spec", "type_alias"}), separators=_SPECS),
        "field_declaration_list|interface_type": ListKind(separators=_SPECS),
        "literal_value": _ELEMENTS,
    },
    directives=r"//go:build\b|//[ \t]*\+build\b",
    remarks=r"//go:(?!build|generate)\w+|//export \w",
    opaque=frozenset({"raw_string_literal", "interpreted_string_literal"}),
    names=_NAMES,
    definitions=_DEFINITIONS,
)
