"""CSS."""

from lamr_postprocess.languages import scans
from lamr_postprocess.languages.plain import with_grammar
from lamr_postprocess.languages.table import ListKind, name_set

_DECLARATIONS = ListKind(separators=frozenset({";"}))

CSS = with_grammar(
    "css",
    scan=scans.CSS,
    grammar="tree_sitter_css:language",
    lists={
        "stylesheet|block": _DECLARATIONS,
        "keyframe_block_list": ListKind(),
    },
    comments=name_set("comment js_comment"),
    opaque=frozenset({"string_value"}),
    definitions="(rule_set (selectors) @name)",
)
