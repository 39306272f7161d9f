"""The names of a file, with the scope that each stands in.

Runs a language's `names` query and puts what it captures in document order. This module knows captures and no
language; which binding a use means is `names.py`'s business. The captures:

- `@name`: every identifier. Unless one of the next says otherwise it is a use.
- `@ignore`: neither use nor binding (the name behind a dot).
- `@import`, `@definition`, `@variable`: binds in the scope around it; `@update`: binds and uses (`x += 1`).
- `@variable.function`: binds in the nearest scope that isn't `@scope.expression` (`:=`).
- `@scope`, `@scope.members` (a class), `@scope.expression` (lambda, comprehension): opens a scope.
- `@outside`: a part of a scope that is resolved in the scope around it (defaults, annotations, a function's name).
- `@declare.global`, `@declare.enclosing`: the name belongs to the outermost, or to an enclosing, scope.
- `@import.path`: a quoted path whose last parts are what it binds (Go).
- `@import.all`: an import that may bind anything; names that nothing else binds need it.
- `@implicit`: uses `Language.implicit_name`. `@quoted`: text whose words are uses (annotations in quotes).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np
import tree_sitter

from lamr_postprocess.languages import Language
from lamr_postprocess.lines import IntArray
from lamr_postprocess.syntax import Source

NO_SCOPE = -1
FUNCTION, MEMBERS, EXPRESSION = 0, 1, 2  # kinds of scopes

_LONG_ROW = 20_000  # bytes
# A query's cost a node is the number of matches it has begun and not ended, which grows with the depth of the tree:
# unbounded, 5,000 calls within one another (15 kB) take seconds, 20,000 a minute. Written code is 20 to 60 levels
# deep (long sums: 250), and 256 open matches suffice it.
_DEEPEST = 1_000  # levels of the tree; no name below is read
_OPEN_MATCHES = 256
_WORD = re.compile(rb"[A-Za-z_\x80-\xff][\w\x80-\xff]*")
_OPEN, _OUTSIDE, _ROLE, _QUOTED = 0, 1, 2, 3
_SCOPES = {"scope": FUNCTION, "scope.members": MEMBERS, "scope.expression": EXPRESSION}
# Later roles overrule earlier ones where one identifier is captured twice.
_ROLES = (
    "name",
    "ignore",
    "update",
    "variable",
    "variable.function",
    "definition",
    "import",
    "declare.global",
    "declare.enclosing",
)
_BINDERS = frozenset({"update", "variable", "variable.function", "definition", "import"})
_DECLARATIONS = frozenset({"declare.global", "declare.enclosing"})
_USES = frozenset({"name", "update"}) | _DECLARATIONS


@dataclass(eq=False, slots=True)
class Scope:
    """A region with names of its own: the scope around it, its kind, the names it declares to be another's.

    `declared` maps a name to the declaration (`declare.global` or `declare.enclosing`) and its row; `bound` is filled
    when bindings are resolved.
    """

    parent: int
    kind: int
    bound: dict[bytes, Binding] = field(default_factory=dict)
    declared: dict[bytes, tuple[str, int]] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class Binding:
    """The bindings of one name in one scope, in document order: row, whether by import, whether the scope's own code
    makes it (not a function that declares the name global)."""

    rows: list[int] = field(default_factory=list)
    imported: list[bool] = field(default_factory=list)
    native: list[bool] = field(default_factory=list)


@dataclass(eq=False)
class Names:
    """What a file names. Rows are 0-based, scopes are indices into `scopes`; scope 0 is the file.

    Attributes:
        uses: (name, row, scope).
        bindings: (name, row, scope, role).
        wildcards: rows of imports that may bind anything.
    """

    scopes: list[Scope]
    uses: list[tuple[bytes, int, int]]
    bindings: list[tuple[bytes, int, int, str]]
    wildcards: list[int]


def read_names(source: Source, language: Language) -> Names:
    """Every name of a parsed file. A language without a query has none."""
    names = Names([Scope(NO_SCOPE, FUNCTION)], [], [], [])
    if source.grammar.query is None:
        return names
    captures = _captures(source, source.grammar.query)
    _read_extras(captures, source, language, names)
    events = _events(captures, source)
    del captures  # a node for every name: as long as they live, each collection of garbage walks over them
    scope = 0
    stack: list[tuple[int, int]] = [(len(source.data) + 1, 0)]  # (end, scope in force until there)
    for start, end, row, what, detail in events:
        while start >= stack[-1][0]:
            stack.pop()
            scope = stack[-1][1]
        if what == _ROLE:
            _enter(names, source.data[start:end], row, scope, _ROLES[detail])
            continue
        if what == _QUOTED:
            names.uses.extend((word, row, scope) for word in _WORD.findall(source.data[start:end]))
            continue
        if what == _OPEN:
            names.scopes.append(Scope(scope, detail))
            scope = len(names.scopes) - 1
        else:
            scope = max(names.scopes[scope].parent, 0)
        stack.append((end, scope))
    return names


def _captures(source: Source, query: tree_sitter.Query) -> dict[str, list[tree_sitter.Node]]:
    """The query's captures, but for what lies in very long rows alone: nobody reads names there, and there are many."""
    long = np.flatnonzero(source.rows[:, 1] - source.rows[:, 0] > _LONG_ROW)
    if long.shape[0] == 0:
        return _bounded_captures(source.tree.root_node, query, None)
    edges = np.concatenate(([0], source.rows[long].ravel(), [len(source.data)])).reshape(-1, 2)
    found: dict[str, dict[tuple[int, int], tree_sitter.Node]] = {}
    for start, end in edges[edges[:, 1] > edges[:, 0]].tolist():
        for name, nodes in _bounded_captures(source.tree.root_node, query, (start, end)).items():
            found.setdefault(name, {}).update({(node.start_byte, node.end_byte): node for node in nodes})
    return {name: list(nodes.values()) for name, nodes in found.items()}


def _bounded_captures(
    root: tree_sitter.Node, query: tree_sitter.Query, between: tuple[int, int] | None
) -> dict[str, list[tree_sitter.Node]]:
    """Captures between two bytes, in time linear in the nodes; no order is promised.

    `captures` is quick, but to keep document order it holds ended matches back until all earlier ones end, and these
    count against the limit; `matches` takes 3.7 times as long and holds none back. What the limit makes that one drop
    are the outermost open matches: within hundreds of calls, the outer ones' quoted annotations.
    """
    cursor = _bounded_cursor(query, between)
    captured = cursor.captures(root)
    if not cursor.did_exceed_match_limit:
        return captured
    found: dict[str, list[tree_sitter.Node]] = {}
    for _, captured in _bounded_cursor(query, between).matches(root):
        for name, nodes in captured.items():
            found.setdefault(name, []).extend(nodes)
    return found


def _bounded_cursor(query: tree_sitter.Query, between: tuple[int, int] | None) -> tree_sitter.QueryCursor:
    cursor = tree_sitter.QueryCursor(query, match_limit=_OPEN_MATCHES)
    cursor.set_max_start_depth(_DEEPEST)
    if between is not None:
        cursor.set_byte_range(*between)
    return cursor


def _enter(names: Names, name: bytes, row: int, scope: int, role: str) -> None:
    if role in _BINDERS:
        names.bindings.append((name, row, scope, role))
    elif role in _DECLARATIONS:
        names.scopes[scope].declared.setdefault(name, (role, row))
    if role in _USES:
        names.uses.append((name, row, scope))


def _events(
    captures: dict[str, list[tree_sitter.Node]], source: Source
) -> list[tuple[int, int, int, int, int]]:
    """(start, end, row, what, detail), sorted: a scope opens before its parts, a part before its names."""
    columns: list[IntArray] = []
    roles = _role_table(captures)
    if roles.shape[0]:
        columns.append(np.column_stack([roles[:, :2], np.full(len(roles), _ROLE), roles[:, 2]]))
    for name, kind in _SCOPES.items():
        columns.append(_spans(captures.get(name, []), _OPEN, kind))
    columns.append(_spans(captures.get("outside", []), _OUTSIDE, 0))
    columns.append(_spans(captures.get("quoted", []), _QUOTED, 0))
    table = np.concatenate(columns)
    table = table[np.lexsort((-table[:, 1], table[:, 2], table[:, 0]))]
    rows = _rows(source, table[:, 0])
    return list(
        zip(
            table[:, 0].tolist(),
            table[:, 1].tolist(),
            rows.tolist(),
            table[:, 2].tolist(),
            table[:, 3].tolist(),
            strict=True,
        )
    )


def _rows(source: Source, starts: IntArray) -> IntArray:
    """Rows of bytes [n]. What a grammar makes up at the very end of a text belongs to its last row."""
    found = np.searchsorted(source.rows[:, 1], starts, side="right")
    rows: IntArray = np.minimum(found, len(source.rows) - 1)
    return rows


def _spans(nodes: list[tree_sitter.Node], what: int, detail: int) -> IntArray:
    flat = [edge for node in nodes for edge in (node.start_byte, node.end_byte)]
    spans = np.array(flat, dtype=np.int64).reshape(-1, 2)
    table: IntArray = np.column_stack([spans, np.full((len(spans), 2), (what, detail), dtype=np.int64)])
    return table


def _role_table(captures: dict[str, list[tree_sitter.Node]]) -> IntArray:
    """Identifiers [n, 3]: start, end, role; one row an identifier, with its strongest role."""
    parts = []
    for number, role in enumerate(_ROLES):
        spans = _spans(captures.get(role, []), number, 0)
        if len(spans):
            parts.append(spans[:, :3])
    if not parts:
        return np.zeros((0, 3), dtype=np.int64)
    table = np.concatenate(parts)
    table = table[np.lexsort((table[:, 2], table[:, 0]))]
    strongest = np.append(table[1:, 0] != table[:-1, 0], True)
    identifiers: IntArray = table[strongest]
    return identifiers


def _read_extras(
    captures: dict[str, list[tree_sitter.Node]], source: Source, language: Language, names: Names
) -> None:
    """Imports by path, wildcard imports and implicit uses; all resolved from the outermost scope."""

    def rows(name: str) -> list[int]:
        starts = np.array([node.start_byte for node in captures.get(name, [])], dtype=np.int64)
        found: list[int] = _rows(source, starts).tolist()
        return found

    for node, row in zip(captures.get("import.path", []), rows("import.path"), strict=True):
        parts = source.data[node.start_byte : node.end_byte].split(b"/")[-2:]
        names.bindings.extend((word, row, 0, "import") for part in parts for word in _WORD.findall(part))
    names.wildcards = sorted(set(rows("import.all")))
    implicit = language.implicit_name.encode()
    if implicit:
        names.uses.extend((implicit, row, 0) for row in sorted(set(rows("implicit"))))
