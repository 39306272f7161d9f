"""Objective-C, on top of C's table. Macros that its headers use in place of keywords are replaced for parsing."""

from lamr_postprocess.languages.c import C
from lamr_postprocess.languages.plain import with_grammar
from lamr_postprocess.languages.table import ListKind, name_set

_MEMBERS = ListKind(
    items=name_set(
        "method_declaration property_declaration qualified_protocol_interface_declaration declaration type_definition "
        "implementation_definition"
    )
)
_LITERAL = ListKind(separators=frozenset({","}))

OBJECTIVE_C = with_grammar(
    "objective-c",
    scan=C.scan,
    grammar="tree_sitter_objc:language",
    leading=C.leading,
    ending=C.ending,
    stand_ins=("@implementation $", "- (void)$ {", "{"),
    macros=(
        (
            r"\b((?:typedef[ \t]+)?(?:NS|CF)_(?:CLOSED_|ERROR_)?(?:ENUM|OPTIONS)[ \t]*\([^()\n]{1,200}\))",
            "enum E",
        ),
        (
            r"\b(NS_(?:TYPED_|STRING_)(?:EXTENSIBLE_)?ENUM|NS_SWIFT_NAME\([^()\n]{0,100}(?:\([^()\n]{0,100}\))?\))",
            "",
        ),
        *C.macros,
    ),
    misread=("_(?:ENUM|OPTIONS)",),
    preprocessed=True,
    lists={
        **C.lists,
        "class_interface|class_implementation|protocol_declaration": _MEMBERS,
        "qualified_protocol_interface_declaration": _MEMBERS,
        "method_definition>compound_statement": C.lists["function_definition>compound_statement"],
        "array_literal|dictionary_literal": _LITERAL,
    },
    companions=C.companions | name_set("catch_clause finally_clause"),
    labels=C.labels,
    sections=C.sections,
    remarks=C.remarks,
    asides=C.asides,
    opaque=C.opaque,
    names=C.names
    + """
(method_definition) @scope
(block_literal) @scope.expression
(method_parameter (identifier) @variable)
(class_implementation|class_interface . (identifier) @definition @outside)
(property_attribute (identifier) @ignore)
""",
    definitions="""
(function_declarator declarator: (identifier) @name)
(struct_specifier|enum_specifier name: (type_identifier) @name body: (_))
(type_definition declarator: (type_identifier) @name)
(class_interface|class_implementation|protocol_declaration . (identifier) @name)
(method_definition . (method_type) . (identifier) @name)
""",
    continuation=C.continuation,
)
