"""Formats of data: JSON with and without comments, YAML, TOML."""

import json
from dataclasses import replace

from lamr_postprocess.languages import scans
from lamr_postprocess.languages.plain import with_grammar
from lamr_postprocess.languages.table import Comment, ListKind, name_set

_COMMA = frozenset({","})
_VALUES = ListKind(separators=_COMMA)
_BLOCK = ListKind(first_behind=frozenset({"anchor"}), by_column=True)
_MEMBER = Comment('"//": "', '",', '"')
_VALUE = Comment('"// ', '",', '"')


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


_OBJECT = ListKind(separators=_COMMA, keep_last=True, comment=_MEMBER)
_ARRAY = replace(_OBJECT, comment=_VALUE)
_ITEM = replace(_OBJECT, keep_first=True)  # the first member of an object in an array names it
_JSON = {"object": _OBJECT, "array>object": _ITEM, "array": _ARRAY}
JSON = with_grammar(
    "json", scan=scans.SLASHED, grammar="tree_sitter_json:language", lists=_JSON, parses=_is_json
)
# The rows of a cell, and of what it printed, stand together.
_CELLS = {**_JSON, "array": replace(_ARRAY, unless=frozenset({"string"}))}
NOTEBOOK = with_grammar(
    "notebook", scan=scans.SLASHED, grammar="tree_sitter_json:language", lists=_CELLS, parses=_is_json
)
JSONC = with_grammar(
    "jsonc",
    scan=scans.SLASHED,
    grammar="tree_sitter_json:language",
    lists={"object|array": ListKind(separators=_COMMA, keep_last=True)},
)
YAML = with_grammar(
    "yaml",
    scan=scans.YAML,
    grammar="tree_sitter_yaml:language",
    lists={
        "stream": ListKind(items=frozenset({"document"})),
        "block_mapping|block_sequence": _BLOCK,
        "flow_mapping|flow_sequence": _VALUES,
    },
    opaque=name_set("block_scalar double_quote_scalar single_quote_scalar plain_scalar"),
    names="""
[(anchor_name) (alias_name)] @name
(anchor_name) @definition
""",
)
TOML = with_grammar(
    "toml",
    scan=scans.HASHED,
    grammar="tree_sitter_toml:language",
    lists={
        "document": ListKind(),
        "table|table_array_element": ListKind(items=frozenset({"pair"})),
        "array": _VALUES,
    },
    opaque=frozenset({"string"}),
)
