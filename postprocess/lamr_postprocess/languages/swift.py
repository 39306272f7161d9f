"""Swift. Its conditions for the compiler (`#if`) stay with what they stand in."""

from lamr_postprocess.languages import scans
from lamr_postprocess.languages.plain import with_grammar
from lamr_postprocess.languages.table import ListKind, name_set

_DIRECTIVE = frozenset({"directive"})
_MEMBERS = ListKind(separators=frozenset({";"}), fixed=_DIRECTIVE)
_ELEMENTS = ListKind(separators=frozenset({","}))

SWIFT = with_grammar(
    "swift",
    frames=r"[{})\]]|(?:else|catch|case|default)\b",
    ending="}",
    leading=r"@\w",
    stand_ins=("class $ {", "func $() {", "do {"),
    scan=scans.SWIFT,
    grammar="tree_sitter_swift:language",
    hints=(
        r"^[ \t]*((public|private|internal|static|override|mutating|@\w+) )*func \w+(<.*>)?\(",
        r"^[ \t]*(guard|if) (let|var) \w+( = .*)? (else )?\{",
        r"^[ \t]*(public |private |final |@\w+ )*(struct|class|enum|protocol|extension) \w+.*\{[ \t]*$",
        r"^import (Foundation|UIKit|SwiftUI|XCTest|Combine)\b",
        r"^[ \t]*(@\w+ )?(let|var) \w+: \[?[A-Z]",
    ),
    lists={
        "source_file|class_body|enum_class_body|protocol_body|statements": _MEMBERS,
        "function_body>statements": ListKind(
            separators=frozenset({";"}), fixed=_DIRECTIVE, results=frozenset({"control_transfer_statement"})
        ),
        "switch_statement": ListKind(items=frozenset({"switch_entry"})),
        "switch_entry>statements": ListKind(filler="break", separators=frozenset({";"}), fixed=_DIRECTIVE),
        "array_literal": _ELEMENTS,
    },
    comments=name_set("comment multiline_comment"),
    companions=frozenset({"catch_block"}),
    opaque=name_set("line_string_literal multi_line_string_literal raw_string_literal"),
    names="""
[(simple_identifier) (type_identifier)] @name
[(function_declaration) (init_declaration) (deinit_declaration) (subscript_declaration)] @scope
[(lambda_literal) (statements) (for_statement) (catch_block) (switch_entry)] @scope.expression
[(class_body) (enum_class_body) (protocol_body)] @scope.members
(function_declaration name: (simple_identifier) @definition @outside)
(class_declaration|protocol_declaration|typealias_declaration name: (type_identifier) @definition)
(property_declaration name: (pattern (simple_identifier) @variable))
(property_declaration name: (pattern (pattern (simple_identifier) @variable)))
(guard_statement|if_statement|while_statement|pattern bound_identifier: (simple_identifier) @variable)
(guard_statement|if_statement|while_statement (pattern (simple_identifier) @variable))
(for_statement item: (pattern (pattern (simple_identifier) @variable)))
(pattern (value_binding_pattern) (pattern (simple_identifier) @variable))
(lambda_parameter name: (simple_identifier) @variable)
(associatedtype_declaration name: (type_identifier) @definition)
(macro_declaration . (simple_identifier) @definition)
(parameter name: (simple_identifier) @variable)
(for_statement item: (pattern (simple_identifier) @variable))
(import_declaration (identifier (simple_identifier) @import))
(navigation_suffix suffix: (simple_identifier) @ignore)
(parameter external_name: (simple_identifier) @ignore)
(value_argument_label (simple_identifier) @ignore)
""",
    definitions="""
(function_declaration "func" . _ @name)
(protocol_function_declaration name: (simple_identifier) @name)
(init_declaration "init" @name)
(deinit_declaration "deinit" @name)
(subscript_declaration "subscript" @name)
(property_declaration name: (pattern) @name computed_value: (_))
(class_declaration name: (_) @name)
(protocol_declaration|typealias_declaration name: (type_identifier) @name)
(call_expression (simple_identifier) @_kind
  (call_suffix (value_arguments . (value_argument (line_string_literal . (line_str_text) @name))) (lambda_literal))
  (#any-of? @_kind "context" "describe" "it")) @function
""",
    joiners=".?",
)
