"""The names of a file, with the scope that each stands in.

`read_names` runs a language's `names` query and puts what it captures in document order. The captures are:

- `@name`: every identifier. It is a use unless one of the next captures says otherwise.
- `@ignore`: an identifier that is neither use nor binding (the name behind a dot).
- `@import`, `@definition`, `@variable`: a binding in the scope around it.
- `@definition.private`: a binding in a class that its functions see, too, and without which what uses it doesn't parse.
- `@update`: a binding that is a use as well (`x += 1`).
- `@variable.function`: a binding in the nearest scope that isn't `@scope.expression` (`:=`).
- `@scope`, `@scope.members` (a class), `@scope.expression` (lambda, comprehension): a node that opens a scope.
- `@outside`: a part of a scope that is resolved in the scope around it (defaults, annotations, a function's name).
- `@declare.global`, `@declare.enclosing`: a declaration of a name that belongs to the outermost or an enclosing scope.
- `@import.path`: a quoted path whose last parts are what it binds (Go).
- `@import.all`: an import that may bind anything; names that nothing else binds need it.
- `@implicit`: a node that uses `Language.implicit_name` without spelling it.
- `@quoted`: text whose words are uses (annotations in quotes).
- `@command`: a name that may show that the grammar misread the text (`Language.misreadings`)."""

import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import field
from functools import cache
from itertools import pairwise
from operator import attrgetter

import numpy as np
import tree_sitter
from lamr_base.expressions import expression
from lamr_base.records import dataclass

from lamr_postprocess.clock import in_time
from lamr_postprocess.languages import Language
from lamr_postprocess.lines import IntArray
from lamr_postprocess.syntax import ParsedText

NO_SCOPE = -1
FUNCTION, MEMBERS, EXPRESSION = 0, 1, 2  # kinds of scopes

_LONG_ROW = 20_000  # bytes
# A query costs at each node as much as it has begun matches that haven't ended, and their number grows with the depth
# of the tree: without a bound, 5,000 calls within one another (15 kB) take seconds and 20,000 take a minute. Code that
# people write is 20 to 60 levels deep (250 for long sums), for which 256 open matches are enough.
_DEEPEST = 1_000  # levels of the tree; names below are not read
_OPEN_MATCHES = 256
_SECTION = 1 << 15  # bytes; nodes of a larger one fall out of a core's cache before they are read
_WORD = expression(rb"[A-Za-z_\x80-\xff][\w\x80-\xff]*")
_OPEN, _OUTSIDE = 0, 1
_NO_SPANS = np.zeros((0, 2), np.int64)
_SCOPES = {"scope": FUNCTION, "scope.members": MEMBERS, "scope.expression": EXPRESSION}
_BINDERS = ("update", "variable", "variable.function", "definition", "definition.private", "import")
_DECLARATIONS = ("declare.global", "declare.enclosing")
_USES = ("name", "update", *_DECLARATIONS)
# Later roles overrule earlier ones where one identifier is captured twice.
_ROLES = ("name", "ignore", *_BINDERS, *_DECLARATIONS)
_IS_BINDER, _IS_DECLARATION, _IS_USE = (
    np.array([role in wanted for role in _ROLES]) for wanted in (_BINDERS, _DECLARATIONS, _USES)
)


@dataclass(eq=False, slots=True)
class NameScope:
    """A region with names of its own."""

    parent: int  # the scope around this one, `NO_SCOPE` for the file
    kind: int  # FUNCTION, MEMBERS or EXPRESSION
    # the number of the bindings of each name; filled when bindings are resolved
    bound: dict[bytes, int] = field(default_factory=dict)
    # names that belong to another scope, with the declaration (`declare.global` or `declare.enclosing`) and its row
    declared: dict[bytes, tuple[str, int]] = field(default_factory=dict)


@dataclass(eq=False)
class Names:
    """The names of a file. Rows are 0-based, scopes are indices into `scopes`, and scope 0 is the file."""

    scopes: list[NameScope]  # all scopes, outer ones first
    words: list[bytes]  # the distinct words that are used
    # [n, 3], word (its place in `words`), row and scope of each use; each once, in document order
    uses: IntArray
    bindings: list[tuple[bytes, int, int, str]]  # name, row, scope and role of each binding
    wildcards: list[int]  # rows of imports that may bind anything
    misread: bool = False  # whether a name shows that the grammar took the text for another one


@cache  # one entry a column of a language
def encoded(names: frozenset[str]) -> frozenset[bytes]:
    """The names as a parsed text has them."""
    return frozenset(name.encode() for name in names)


def read_names(source: ParsedText, language: Language) -> Names:
    """Collect every name of a parsed file. A language without a query has none."""
    names = Names([NameScope(NO_SCOPE, FUNCTION)], [], np.zeros((0, 3), np.int64), [], [])
    if source.grammar.query is None:
        return names
    captures = _captures(source, source.grammar.query)
    misreadings, commands = encoded(language.misreadings), captures.get("command", _NO_SPANS).tolist()
    names.misread = any(source.data[start:end] in misreadings for start, end in commands)
    implicit = _read_extras(captures, source, language, names)
    roles, quoted = _role_table(captures), captures.get("quoted", _NO_SPANS)
    scope_at = _scopes(captures, names)
    starts = roles[:, 0]
    placed = np.column_stack([_rows(source, starts), scope_at(starts), roles[:, 2]])
    texts = list(map(source.data.__getitem__, map(slice, starts.tolist(), roles[:, 1].tolist())))
    binding = np.flatnonzero(_IS_BINDER[roles[:, 2]] | _IS_DECLARATION[roles[:, 2]])
    for at, (row, scope, role) in zip(binding.tolist(), placed[binding].tolist(), strict=True):
        if _IS_BINDER[role]:
            names.bindings.append((texts[at], row, scope, _ROLES[role]))
        else:
            names.scopes[scope].declared.setdefault(texts[at], (_ROLES[role], row))
    used = np.flatnonzero(_IS_USE[roles[:, 2]])
    words, places, order = list(map(texts.__getitem__, used.tolist())), placed[used, :2], starts[used]
    if len(quoted):
        quoted_words, at = _quoted_words(source, quoted)
        words += quoted_words
        inside = np.column_stack([_rows(source, quoted[:, 0]), scope_at(quoted[:, 0])])
        places = np.concatenate([places, inside[at]])
        # A name that begins where quoted text does comes before its words.
        by_place = np.argsort(np.append(2 * order, 2 * quoted[at, 0] + 1), kind="stable")
        words, places = list(map(words.__getitem__, by_place.tolist())), places[by_place]
    _enter_uses(names, implicit, words, places)
    return names


def _enter_uses(
    names: Names, implicit: list[tuple[bytes, int]], words: list[bytes], places: IntArray
) -> None:
    """Record each distinct use: implicit ones, which are the file's, and words with their rows and scopes [n, 2]."""
    words = [*(word for word, _ in implicit), *words]
    first = np.array([(row, 0) for _, row in implicit], np.int64).reshape(-1, 2)
    number = {word: at for at, word in enumerate(dict.fromkeys(words))}
    numbers = np.fromiter(map(number.__getitem__, words), np.int64, len(words))
    table = np.column_stack([numbers, np.concatenate([first, places])])
    keys = (numbers * (int(table[:, 1].max(initial=0)) + 1) + table[:, 1]) * len(names.scopes) + table[:, 2]
    _, once = np.unique(keys, return_index=True)
    names.words, names.uses = list(number), table[np.sort(once)]


def _quoted_words(source: ParsedText, quoted: IntArray) -> tuple[list[bytes], list[int]]:
    """The words of quoted texts, and the place of each word's text in the table of their spans."""
    words_of = [_WORD.findall(source.data[start:end]) for start, end in quoted[:, :2].tolist()]
    return [word for words in words_of for word in words], [
        at for at, words in enumerate(words_of) for _ in words
    ]


def _scopes(captures: dict[str, IntArray], names: Names) -> Callable[[IntArray], IntArray]:
    """Open the scopes of a file; returns a function from offsets int [n] to the scopes in force there."""
    parts = [(captures.get(name, _NO_SPANS), _OPEN, kind) for name, kind in _SCOPES.items()]
    parts.append((captures.get("outside", _NO_SPANS), _OUTSIDE, 0))
    tables = [
        np.column_stack([spans, np.full((len(spans), 2), (what, detail))])
        for spans, what, detail in parts
        if len(spans)
    ]
    places, scopes = [0], [0]  # from each place on, the scope that is in force
    stack: list[tuple[float, int]] = [(math.inf, 0)]  # (end, scope in force until there)

    def leave(until: float) -> None:
        while stack[-1][0] <= until:
            end, _ = stack.pop()
            places.append(max(int(end), places[-1]))
            scopes.append(stack[-1][1])

    if tables:
        table = np.concatenate(tables)
        # A scope opens before its parts, and the outer one of two that begin together before the inner one.
        table = table[np.lexsort((-table[:, 1], table[:, 2], table[:, 0]))]
        for start, end, what, detail in table.tolist():
            leave(start)
            scope = scopes[-1]
            if what == _OPEN:
                names.scopes.append(NameScope(scope, detail))
                scope = len(names.scopes) - 1
            else:
                scope = max(names.scopes[scope].parent, 0)
            stack.append((end, scope))
            places.append(start)
            scopes.append(scope)
        leave(sys.maxsize)
    where, which = np.array(places, np.int64), np.array(scopes, np.int64)
    return lambda offsets: which[np.searchsorted(where, offsets, side="right") - 1]


def _captures(source: ParsedText, query: tree_sitter.Query) -> dict[str, IntArray]:
    """Start and end of each node that the query captures, int [n, 2] by the capture's name, in no particular order.

    Very long rows are left out: nobody reads their names, and there are many."""
    root = source.tree.root_node
    long = np.flatnonzero(source.rows[:, 1] - source.rows[:, 0] > _LONG_ROW)
    edges = np.concatenate(([0], source.rows[long].ravel(), [len(source.data)])).reshape(-1, 2)
    parts = edges[edges[:, 1] > edges[:, 0]].tolist() if long.size else [None]
    spans: dict[str, list[IntArray]] = {}
    for part in parts:
        for section, nodes in in_time(bounded_captures(root, query, part), 1):
            for name, its in nodes.items():
                found = _spans(its)  # at once, because nodes that are all alive are slow to read again
                spans.setdefault(name, []).append(found[found[:, 0] >= section])
    captures = {name: np.concatenate(its) for name, its in spans.items()}
    return {name: _distinct(its) for name, its in captures.items()} if long.size else captures


def _distinct(spans: IntArray) -> IntArray:
    """The distinct ones of spans int [n, 2]."""
    beyond = int(spans.max(initial=0)) + 1
    return np.stack(np.divmod(np.unique(spans[:, 0] * beyond + spans[:, 1]), beyond), axis=1)


def bounded_captures(
    root: tree_sitter.Node, query: tree_sitter.Query, between: tuple[int, int] | None = None
) -> Iterator[tuple[int, dict[str, list[tree_sitter.Node]]]]:
    """Yield the captures of one section after another, in no particular order, in time linear in the nodes.

    Each comes with the section's first byte, 0 for the first section. A node that begins before it was captured there.

    tree-sitter's `captures` is quick, but to keep document order it holds ended matches back until all earlier ones
    end, and those count against the limit. Its `matches` takes 3.7 times as long and holds none back; the limit makes
    it drop the outermost open matches, such as the quoted annotations of the outer ones of hundreds of nested calls. So
    a text goes in sections, and only those that meet the limit take the slow way."""
    first = 0
    for section in _sections(root, between):
        cursor = _bounded_cursor(query, section)
        captures = cursor.captures(root)
        if cursor.did_exceed_match_limit:
            nodes: dict[str, dict[int, tree_sitter.Node]] = {}  # by id, since some are in several matches
            for _, captured in _bounded_cursor(query, section).matches(root):
                for name, its in captured.items():
                    nodes.setdefault(name, {}).update((node.id, node) for node in its)
            captures = {name: list(its.values()) for name, its in nodes.items()}
        yield first, captures
        first = section[1]


def _sections(root: tree_sitter.Node, between: tuple[int, int] | None) -> list[tuple[int, int]]:
    """Stretches of bytes that begin where a child of the root does, none much shorter than `_SECTION`."""
    start, end = between or (0, root.end_byte)
    edges = [start]
    for child in root.children:
        if edges[-1] + _SECTION <= child.start_byte < end:
            edges.append(child.start_byte)
    return list(pairwise([*edges, max(end, edges[-1] + 1)]))


def _bounded_cursor(query: tree_sitter.Query, between: tuple[int, int] | None) -> tree_sitter.QueryCursor:
    cursor = tree_sitter.QueryCursor(query, match_limit=_OPEN_MATCHES)
    cursor.set_max_start_depth(_DEEPEST)
    if between is not None:
        cursor.set_byte_range(*between)
    return cursor


def _rows(source: ParsedText, starts: IntArray) -> IntArray:
    """The rows int [n] of byte offsets. A node that a grammar makes up at the end of a text belongs to the last row."""
    rows: IntArray = np.searchsorted(source.rows[:, 1], starts, side="right")
    return np.minimum(rows, len(source.rows) - 1)


def _spans(nodes: list[tree_sitter.Node]) -> IntArray:
    """Start and end of each node, int [n, 2]."""
    spans = np.empty((len(nodes), 2), np.int64)
    for side, edge in enumerate((attrgetter("start_byte"), attrgetter("end_byte"))):
        spans[:, side] = np.fromiter(map(edge, nodes), np.int64, len(nodes))
    return spans


def _role_table(captures: dict[str, IntArray]) -> IntArray:
    """Start, end and strongest role of each identifier, int [n, 3], in document order."""
    spans = [captures.get(role, _NO_SPANS) for role in _ROLES]
    roles = np.repeat(np.arange(len(_ROLES)), [len(each) for each in spans])
    table = np.column_stack([np.concatenate(spans), roles])
    table = table[np.argsort(table[:, 0] * len(_ROLES) + roles, kind="stable")]
    strongest = np.append(table[1:, 0] != table[:-1, 0], True)[: len(table)]
    identifiers: IntArray = table[strongest]
    return identifiers


def _read_extras(
    captures: dict[str, IntArray], source: ParsedText, language: Language, names: Names
) -> list[tuple[bytes, int]]:
    """Add imports by path and wildcard imports, and return implicit uses with their rows; all are the file's own."""

    def rows(capture: str) -> list[int]:
        capture_rows: list[int] = _rows(source, captures.get(capture, _NO_SPANS)[:, 0]).tolist()
        return capture_rows

    paths = captures.get("import.path", _NO_SPANS)
    for (start, end), row in zip(paths.tolist(), rows("import.path"), strict=True):
        parts = source.data[start:end].split(b"/")[-2:]
        names.bindings.extend((word, row, 0, "import") for part in parts for word in _WORD.findall(part))
    names.wildcards = sorted(set(rows("import.all")))
    implicit = language.implicit_name.encode()
    return [(implicit, row) for row in sorted(set(rows("implicit")))] if implicit else []
