"""Elixir."""

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
    names="""
(identifier) @name
(alias) @name
((call target: (identifier) @_kind) @scope (#any-of? @_kind "def" "defp" "defmacro" "defmacrop" "defguard" "defguardp"))
[(do_block) (anonymous_function) (stab_clause)] @scope.expression
(call target: (identifier) @_kind (arguments . [(call target: (identifier) @definition @outside)
  (identifier) @definition @outside
  (binary_operator left: (call target: (identifier) @definition @outside) operator: "when")])
  (#any-of? @_kind "def" "defp" "defmacro" "defmacrop" "defguard" "defguardp"))
(call target: (identifier) @_kind (arguments . [(call (arguments [(identifier) @variable (_ (identifier) @variable)]))
  (binary_operator left: (call (arguments [(identifier) @variable (_ (identifier) @variable)])) operator: "when")])
  (#any-of? @_kind "def" "defp" "defmacro" "defmacrop" "defguard" "defguardp"))
(binary_operator left: [(identifier) @variable (_ (identifier) @variable)
  (list (binary_operator (identifier) @variable)) (map (map_content (keywords (pair value: (identifier) @variable))))]
  operator: ["=" "<-"])
(stab_clause left: (arguments [(identifier) @variable (tuple (identifier) @variable) (list (identifier) @variable)]))
(unary_operator operator: "@" operand: (call target: (identifier) @definition)
  (#not-any-of? @definition "doc" "moduledoc" "typedoc" "spec" "impl" "type" "opaque" "callback" "behaviour"))
(call target: (identifier) @_kind (arguments . (alias) @import.path) (#any-of? @_kind "alias" "require"))
(call target: (identifier) @_kind (arguments . (dot right: (tuple (alias) @import)))
  (#any-of? @_kind "alias" "require"))
(call target: (identifier) @_kind (arguments (keywords (pair value: (alias) @import)))
  (#any-of? @_kind "alias" "require"))
(dot right: (identifier) @ignore)
""",
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
