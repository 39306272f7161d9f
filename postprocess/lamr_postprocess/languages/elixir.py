"""Elixir."""

from __future__ import annotations

from lamr_postprocess.languages import scans
from lamr_postprocess.languages.plain import with_grammar
from lamr_postprocess.languages.table import ListKind, name_set

_CLAUSES = name_set("else_block rescue_block catch_block after_block")
_EXPRESSIONS = ListKind(separators=frozenset({";"}))
_ELEMENTS = ListKind(separators=frozenset({","}))

ELIXIR = with_grammar(
    "elixir",
    scan=scans.ELIXIR,
    grammar="tree_sitter_elixir:language",
    hints=(
        r"^[ \t]*defmodule [\w.]+ do[ \t]*$",
        r"^[ \t]*defp? \w+[?!]?(\(.*\))?( when .*)?(, do:| do[ \t]*$)",
        r"^[ \t]*@(doc|moduledoc|spec|impl) ",
        r"^[ \t]*\|> \w",
        r"^[ \t]*(alias|use|import|require) [A-Z][\w.]+",
    ),
    lists={
        "source|else_block|rescue_block|after_block": _EXPRESSIONS,
        "do_block": ListKind(separators=frozenset({";"}), fixed=_CLAUSES),
        "body": ListKind(filler="nil", separators=frozenset({";"})),
        "list": _ELEMENTS,
        "map": ListKind(),
    },
    companions=_CLAUSES,
    opaque=name_set("string charlist sigil quoted_content"),
    definitions="""
(call target: (identifier) @_kind (arguments . [(call target: (identifier) @name) (identifier) @name
  (binary_operator left: [(call target: (identifier) @name) (identifier) @name])])
  (#match? @_kind "^(def|defp|defmacro|defmacrop|defguard|defguardp|defdelegate)$")) @function
(call target: (identifier) @_kind (arguments . (alias) @name)
  (#match? @_kind "^(defmodule|defprotocol|defimpl)$")) @type
(call target: (identifier) @_kind (arguments . (string (quoted_content) @name)) (do_block)
  (#match? @_kind "^(describe|test|property|feature)$")) @function
""",
)
