"""The names of a file, with the scope that each stands in.

`read_names` runs a language's `names` query and puts what it captures in document order. The captures are:

- `@name`: every identifier. It is a use unless one of the next captures says otherwise.
- `@ignore`: an identifier that is neither use nor binding (the name behind a dot).
- `@import`, `@definition`, `@variable`: a binding in the scope around it.
- `@update`: a binding that is a use as well (`x += 1`).
- `@variable.function`: a binding in the nearest scope that isn't `@scope.expression` (`:=`).
- `@scope`, `@scope.members` (a class), `@scope.expression` (lambda, comprehension): a node that opens a scope.
- `@outside`: a part of a scope that is resolved in the scope around it (defaults, annotations, a function's name).
- `@declare.global`, `@declare.enclosing`: a declaration of a name that belongs to the outermost or an enclosing scope.
- `@import.path`: a quoted path whose last parts are what it binds (Go).
- `@import.all`: an import that may bind anything; names that nothing else binds need it.
- `@implicit`: a node that uses `Language.implicit_name` without spelling it.
- `@quoted`: text whose words are uses (annotations in quotes).
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
# A query costs at each node as much as it has begun matches that haven't ended, and their number grows with the depth
# of the tree: without a bound, 5,000 calls within one another (15 kB) take seconds and 20,000 take a minute. Code that
# people write is 20 to 60 levels deep (250 for long sums), for which 256 open matches are enough.
_DEEPEST = 1_000  # levels of the tree; names below are not read
_OPEN_MATCHES = 256
_WORD = re.compile(rb"[A-Za-z_\x80-\xff][\w\x80-\xff]*")
_OPEN, _OUTSIDE, _ROLE, _QUOTED = 0, 1, 2, 3
_SCOPES = {"scope": FUNCTION, "scope.members": MEMBERS, "scope.expression": EXPRESSION}
_BINDERS = ("update", "variable", "variable.function", "definition", "import")
_DECLARATIONS = ("declare.global", "declare.enclosing")
_USES = ("name", "update", *_DECLARATIONS)
# Later roles overrule earlier ones where one identifier is captured twice.
_ROLES = ("name", "ignore", *_BINDERS, *_DECLARATIONS)


@dataclass(eq=False, slots=True)
class Scope:
    """A region with names of its own.

    Attributes:
        parent: the scope around this one, `NO_SCOPE` for the file.
        kind: FUNCTION, MEMBERS or EXPRESSION.
        bound: the bindings of each name; filled when bindings are resolved.
        declared: names that belong to another scope, with the declaration (`declare.global` or `declare.enclosing`)
            and its row.
    """

    parent: int
    kind: int
    bound: dict[bytes, Binding] = field(default_factory=dict)
    declared: dict[bytes, tuple[str, int]] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class Binding:
    """The bindings of one name in one scope, in document order.

    Attributes:
        rows: the row of each binding.
        imported: whether an import makes it.
        native: whether the scope's own code makes it, and not a function that declares the name global.
    """

    rows: list[int] = field(default_factory=list)
    imported: list[bool] = field(default_factory=list)
    native: list[bool] = field(default_factory=list)


@dataclass(eq=False)
class Names:
    """The names of a file. Rows are 0-based, scopes are indices into `scopes`, and scope 0 is the file.

    Attributes:
        scopes: all scopes, outer ones first.
        uses: name, row and scope of each use.
        bindings: name, row, scope and role of each binding.
        wildcards: rows of imports that may bind anything.
    """

    scopes: list[Scope]
    uses: list[tuple[bytes, int, int]]
    bindings: list[tuple[bytes, int, int, str]]
    wildcards: list[int]


def read_names(source: Source, language: Language) -> Names:
    """Collect every name of a parsed file. A language without a query has none."""
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
    """The query's captures outside very long rows, whose names nobody reads and of which there are many."""
    long = np.flatnonzero(source.rows[:, 1] - source.rows[:, 0] > _LONG_ROW)
    if long.shape[0] == 0:
        return bounded_captures(source.tree.root_node, query)
    edges = np.concatenate(([0], source.rows[long].ravel(), [len(source.data)])).reshape(-1, 2)
    captures: dict[str, dict[tuple[int, int], tree_sitter.Node]] = {}
    for start, end in edges[edges[:, 1] > edges[:, 0]].tolist():
        for name, nodes in bounded_captures(source.tree.root_node, query, (start, end)).items():
            captures.setdefault(name, {}).update({(node.start_byte, node.end_byte): node for node in nodes})
    return {name: list(nodes.values()) for name, nodes in captures.items()}


def bounded_captures(
    root: tree_sitter.Node, query: tree_sitter.Query, between: tuple[int, int] | None = None
) -> dict[str, list[tree_sitter.Node]]:
    """The captures between two bytes, in time linear in the nodes and in no particular order.

    tree-sitter's `captures` is quick, but to keep document order it holds ended matches back until all earlier ones
    end, and those count against the limit. Its `matches` takes 3.7 times as long and holds none back; the limit makes
    it drop the outermost open matches, such as the quoted annotations of the outer ones of hundreds of nested calls.
    """
    cursor = _bounded_cursor(query, between)
    captures = cursor.captures(root)
    if not cursor.did_exceed_match_limit:
        return captures
    captures = {}
    for _, captured in _bounded_cursor(query, between).matches(root):
        for name, nodes in captured.items():
            captures.setdefault(name, []).extend(nodes)
    return captures


def _bounded_cursor(query: tree_sitter.Query, between: tuple[int, int] | None) -> tree_sitter.QueryCursor:
    cursor = tree_sitter.QueryCursor(query, match_limit=_OPEN_MATCHES)
    cursor.set_max_start_depth(_DEEPEST)
    if between is not None:
        cursor.set_byte_range(*between)
    return cursor


def _enter(names: Names, name: bytes, row: int, scope: int, role: str) -> None:
    """Record one identifier as what its role makes it."""
    if role in _BINDERS:
        names.bindings.append((name, row, scope, role))
    elif role in _DECLARATIONS:
        names.scopes[scope].declared.setdefault(name, (role, row))
    if role in _USES:
        names.uses.append((name, row, scope))


def _events(captures: dict[str, list[tree_sitter.Node]], source: Source) -> list[list[int]]:
    """Start, end, row, what and detail of each capture, sorted: a scope opens before its parts, a part before its
    names."""
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
    events: list[list[int]] = np.column_stack(
        [table[:, :2], _rows(source, table[:, 0]), table[:, 2:]]
    ).tolist()
    return events


def _rows(source: Source, starts: IntArray) -> IntArray:
    """The rows int [n] of byte offsets. A node that a grammar makes up at the end of a text belongs to the last row."""
    rows: IntArray = np.searchsorted(source.rows[:, 1], starts, side="right")
    return np.minimum(rows, len(source.rows) - 1)


def _spans(nodes: list[tree_sitter.Node], what: int, detail: int) -> IntArray:
    """Start, end, `what` and `detail` of each node, int [n, 4]."""
    flat = [edge for node in nodes for edge in (node.start_byte, node.end_byte)]
    spans = np.array(flat, dtype=np.int64).reshape(-1, 2)
    table: IntArray = np.column_stack([spans, np.full((len(spans), 2), (what, detail), dtype=np.int64)])
    return table


def _role_table(captures: dict[str, list[tree_sitter.Node]]) -> IntArray:
    """Start, end and strongest role of each identifier, int [n, 3]."""
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
    """Add imports by path, wildcard imports and implicit uses, all of which stand in the outermost scope."""

    def rows(capture: str) -> list[int]:
        starts = np.array([node.start_byte for node in captures.get(capture, [])], dtype=np.int64)
        capture_rows: list[int] = _rows(source, starts).tolist()
        return capture_rows

    for node, row in zip(captures.get("import.path", []), rows("import.path"), strict=True):
        parts = source.data[node.start_byte : node.end_byte].split(b"/")[-2:]
        names.bindings.extend((word, row, 0, "import") for part in parts for word in _WORD.findall(part))
    names.wildcards = sorted(set(rows("import.all")))
    implicit = language.implicit_name.encode()
    if implicit:
        names.uses.extend((implicit, row, 0) for row in sorted(set(rows("implicit"))))
