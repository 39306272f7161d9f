"""Scala, with braces and with indentation."""

from lamr_postprocess.languages import scans
from lamr_postprocess.languages.plain import with_grammar
from lamr_postprocess.languages.table import ListKind, name_set

_BODY = ListKind(filler="()", unfilled="{", separators=frozenset({";"}), fixed=frozenset({"self_type"}))
_BLOCK = ListKind(filler="()", unfilled="{", separators=frozenset({";"}))

SCALA = with_grammar(
    "scala",
    frames=r"[{})\]]|(?:else|catch|finally)\b",
    ending="}",
    leading=r"@\w",
    stand_ins=("class $ {", "def $() = {", "{"),
    scan=scans.TICKED,
    grammar="tree_sitter_scala:language",
    hints=(
        r"^[ \t]*(override |private |implicit |protected )*def \w+(\[.*\])?(\(.*\))*(: .*)? ?=",
        r"^[ \t]*(case |sealed |abstract |final )*(class|object|trait) \w+.*(\{|extends .*)?[ \t]*$",
        r"^import [\w.]+\.(_|\{.*\}|\w+)[ \t]*$",
        r"^[ \t]*(lazy |private |implicit )*val \w+(: .*)? = ",
        r"^[ \t]*case .* =>",
    ),
    lists={
        "compilation_unit": ListKind(fixed=frozenset({"package_clause"})),
        "template_body|with_template_body": _BODY,
        "enum_body": ListKind(keep_first=True),
        "block|indented_block": _BLOCK,
        "case_block": ListKind(items=frozenset({"case_clause"}), keep_first=True),
    },
    comments=name_set("comment block_comment"),
    companions=name_set("catch_clause finally_clause annotation"),
    opaque=name_set("string interpolated_string_expression"),
    names="""
[(identifier) (type_identifier)] @name
[(function_definition) (function_declaration)] @scope
[(lambda_expression) (block) (indented_block) (case_clause) (for_expression)] @scope.expression
(template_body) @scope.members
(function_definition|function_declaration name: (identifier) @definition @outside)
(class_definition|object_definition|trait_definition|enum_definition name: (identifier) @definition)
(type_definition name: (type_identifier) @definition)
(val_definition|var_definition pattern: (identifier) @variable)
(given_definition name: (identifier) @definition)
(tuple_pattern|infix_pattern|identifiers (identifier) @variable)
(case_class_pattern|typed_pattern|case_clause pattern: (identifier) @variable)
(capture_pattern name: (identifier) @variable)
(binding name: (identifier) @variable)
(parameter|class_parameter name: (identifier) @variable)
(enumerator . (identifier) @variable)
(import_declaration (identifier) @import .)
(arrow_renamed_identifier|as_renamed_identifier name: (identifier) @ignore)
(arrow_renamed_identifier|as_renamed_identifier alias: (identifier) @import)
(namespace_selectors (identifier) @import)
(field_expression field: (identifier) @ignore)
""",
    definitions="""
(function_definition|function_declaration|class_definition|object_definition|trait_definition|
 enum_definition|type_definition name: (_) @name)
(val_definition pattern: (identifier) @name value: (lambda_expression)) @function
(given_definition name: (identifier) @name) @type
(call_expression function: (call_expression function: (identifier) @_kind arguments: (arguments . (string) @name))
  arguments: (block) (#any-of? @_kind "describe" "it" "test")) @function
""",
    joiners=".",
)
