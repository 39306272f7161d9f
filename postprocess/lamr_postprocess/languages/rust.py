"""Rust."""

import dataclasses

from lamr_postprocess.languages import scans
from lamr_postprocess.languages.plain import IN_RUST
from lamr_postprocess.languages.table import BLOCK_COMMENT, Comment, Language, ListKind, name_set

_ELEMENTS = ListKind(separators=frozenset({","}))
# The last expression of a body, without a semicolon, is what it returns.
_RESULTS = name_set(
    "identifier call_expression field_expression reference_expression macro_invocation "
    "struct_expression binary_expression self try_expression tuple_expression "
    "unit_expression boolean_literal scoped_identifier"
)

_PRELUDE = name_set(
    "Some None Ok Err Vec String Option Result Box Default Clone Copy Debug Iterator Into From Drop Fn FnMut FnOnce "
    "Send Sync Sized Self println format vec assert assert_eq panic write writeln std self super crate"
)

_NAMES = """
[(identifier) (type_identifier)] @name
[(function_item) (closure_expression)] @scope
[(block) (match_arm) (if_expression) (while_expression) (for_expression) (mod_item)] @scope.expression
(let_declaration|parameter|for_expression|field_pattern pattern: (identifier) @variable)
(closure_parameters|tuple_pattern|slice_pattern|mut_pattern|ref_pattern|reference_pattern|or_pattern
  (identifier) @variable)
(tuple_struct_pattern type: (_) (identifier) @variable)
(captured_pattern . (identifier) @variable)
(field_pattern name: (shorthand_field_identifier) @variable)
(match_pattern (identifier) @update)
(assignment_expression left: (identifier) @update)
(type_parameter name: (type_identifier) @variable)
(const_parameter name: (identifier) @variable)

(function_item|mod_item name: (identifier) @definition @outside)
(function_signature_item|const_item|static_item|macro_definition name: (identifier) @definition)
(struct_item|enum_item|union_item|trait_item|type_item name: (type_identifier) @definition)
(associated_type|scoped_type_identifier name: (type_identifier) @ignore)
(enum_variant|scoped_identifier name: (identifier) @ignore)

(use_declaration argument: (identifier) @import)
(use_declaration argument: (scoped_identifier name: (identifier) @import))
(use_list (identifier) @import)
(use_list (scoped_identifier name: (identifier) @import))
(use_as_clause path: (identifier) @ignore)
(use_as_clause alias: (identifier) @import)
(use_wildcard) @import.all
"""

_DEFINITIONS = """
(function_item|function_signature_item|mod_item|macro_definition name: (identifier) @name)
(struct_item|enum_item|union_item|trait_item|type_item name: (type_identifier) @name)
"""

RUST = Language(
    name="rust",
    comment=Comment("//"),
    aliases=frozenset({"rs"}),
    suffixes=frozenset({".rs"}),
    shebangs=name_set("rust-script cargo"),
    frames=r"[{})\]]",
    ending="}",
    leading=r"#!?\[",
    wholes=IN_RUST,
    stand_ins=("mod $ {", "fn $() {", "{"),
    hints=(
        r"^[ \t]*(pub(\([\w: ]+\))? )?(async |const |unsafe )*fn \w+",
        r"^[ \t]*(pub )?(use|mod) [\w:{}*, ]+;",
        r"^[ \t]*(pub )?(struct|enum|trait|impl)\b.*[{;]$",
        r"\blet (mut )?\w+(: [^=]+)? = ",
        r"^[ \t]*#!?\[\w+",
    ),
    scan=scans.RUST,
    grammar="tree_sitter_rust:language",
    lists={
        "block_comment": BLOCK_COMMENT,
        "source_file|declaration_list|match_block": ListKind(),
        "block": ListKind(separators=frozenset({";"})),
        "function_item>block": ListKind(separators=frozenset({";"}), results=_RESULTS),
        "enum_variant_list": dataclasses.replace(_ELEMENTS, valued=frozenset({"value"}), counts_late=True),
        "field_declaration_list|field_initializer_list|use_list|array_expression": _ELEMENTS,
        "macro_definition": ListKind(items=frozenset({"macro_rule"}), separators=frozenset({";"})),
    },
    comments=frozenset({"line_comment", "block_comment"}),
    companions=frozenset({"else_clause"}),
    prefixes=frozenset({"attribute_item"}),
    directives=r"#!\[",
    documents=r"///(?!/)|/\*\*(?![*/])",
    opaque=frozenset({"string_literal", "raw_string_literal", "token_tree"}),
    names=_NAMES,
    definitions=_DEFINITIONS,
    builtins=_PRELUDE,
)
