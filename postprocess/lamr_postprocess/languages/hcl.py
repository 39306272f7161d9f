"""HCL, as Terraform writes it."""

from lamr_postprocess.languages import scans
from lamr_postprocess.languages.plain import with_grammar
from lamr_postprocess.languages.table import ListKind, name_set

TERRAFORM = with_grammar(
    "terraform",
    scan=scans.TERRAFORM,
    grammar="tree_sitter_hcl:language",
    lists={
        "body": ListKind(),
        "object": ListKind(items=frozenset({"object_elem"}), separators=frozenset({","})),
        "tuple": ListKind(items=frozenset({"expression"}), separators=frozenset({","})),
    },
    opaque=name_set("template_expr string_lit heredoc_template"),
    definitions="(block (string_lit (template_literal) @name) . (block_start)) @type",
)
