"""Rubric labels: why each line of a document is worth keeping (paper section 3.1), by static analysis alone.

`semantic` are the gold lines. `dependency` are the lines that are needed to understand these: relevance flows from the
gold lines along the edges of a dependency graph and loses a factor a hop. Lines are joined through *reasons*, what many
lines have in common, because edges between lines would be quadratic in number. Names are resolved by
spelling."""

import ast
import re
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from lamr_postprocess import split_lines
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

# The kinds of edges: to the headers of the functions, classes and compound statements around a line; to the headers of
# the other branches of those statements; to the import of a name that the line uses; to the header of a function or
# class that it uses, or the assignment of a module- or class-level name; from a header to its callers.
HEADER, SIBLING, IMPORTED, DEFINED, CALLER = range(5)
_WEIGHTS = np.array([1.0, 1.0, 1.0, 0.8, 0.4])  # how much of a line's relevance flows along each kind


@dataclass(frozen=True, eq=False)
class DependencyGraph:
    """The reasons of a file of L lines; line numbers are 0-based."""

    lines: int  # the number of lines, L
    ranges: IntArray  # int64 `[R, 2]`, the first and one-past-last line that have each of the first R reasons
    users: IntArray  # int64 `[M]`, further pairs of a line and its reason
    reasons: IntArray
    count: int  # how many reasons there are
    origins: IntArray  # int64 `[T]`
    targets: IntArray
    kinds: IntArray

    def flow(self, relevance: FloatArray) -> FloatArray:
        """The relevance that one hop carries to each line, float64 `[L]`."""
        of_reasons = np.zeros(self.count)
        if len(self.ranges):
            padded = np.append(relevance, 0.0)
            of_reasons[: len(self.ranges)] = np.maximum.reduceat(padded, self.ranges.reshape(-1))[::2]
        np.maximum.at(of_reasons, self.reasons, relevance[self.users])
        reached = np.zeros(self.lines)
        carried = of_reasons[self.origins] * _WEIGHTS[self.kinds]
        np.maximum.at(reached, self.targets, carried)
        return reached


FunctionNode = (ast.FunctionDef, ast.AsyncFunctionDef)
_DEFINITION_LINES = 5  # of an assignment, to explain its name; tables can be long


def dependency_graph(tree: ast.Module, lines: Sequence[str]) -> DependencyGraph:
    walk = _Walk(lines)
    walk.statements(tree)
    walk.expressions()
    return walk.graph()


# The fields of compound statements that hold their branches; what else such a statement holds is in its header.
_BRANCHES: dict[type, tuple[str, ...]] = {
    **dict.fromkeys((*FunctionNode, ast.ClassDef, ast.With, ast.AsyncWith, ast.ExceptHandler), ("body",)),
    **dict.fromkeys((ast.If, ast.For, ast.AsyncFor, ast.While), ("body", "orelse")),
    ast.Try: ("body", "handlers", "orelse", "finalbody"),
    ast.Match: ("cases",),
    ast.match_case: ("body",),
}
if hasattr(ast, "TryStar"):  # Python 3.11
    _BRANCHES[ast.TryStar] = _BRANCHES[ast.Try]

# Fields that hold text, numbers or nothing that names can be in.
_PLAIN_FIELDS = """
    id attr arg name names ctx op ops type_comment type_ignores kind module level conversion rest kwd_attrs
    """
_PLAIN = frozenset(_PLAIN_FIELDS.split())
_LEAVES = (ast.Name, ast.Constant, ast.MatchSingleton)


def _inner_fields(kind: type[ast.AST]) -> tuple[str, ...]:
    if kind in _LEAVES:
        return ()
    return tuple(name for name in kind._fields if name not in _PLAIN and name not in _BRANCHES.get(kind, ()))


_FIELDS = {
    kind: _inner_fields(kind)
    for kind in vars(ast).values()
    if isinstance(kind, type) and issubclass(kind, ast.AST)
}

_ELSE, _FINALLY, _CASE = (re.compile(rf"\s*{word}\b") for word in ("else", "finally", "case"))
_NO_CODE = re.compile(r"\s*(?:#|$)")
_Places = Mapping[str, Collection[int]]


@dataclass(eq=False)
class _Walk:
    """What the walks over one tree have collected; line numbers are 1-based until `graph`."""

    lines: Sequence[str]
    heads: list[Any] = field(default_factory=list)
    ranges: list[tuple[int, int]] = field(default_factory=list)
    edges: list[tuple[int, int, int]] = field(default_factory=list)  # reason, line that explains it, kind
    elifs: set[ast.AST] = field(default_factory=set)
    imports: dict[str, list[int]] = field(default_factory=dict)
    definitions: dict[str, list[int]] = field(default_factory=dict)
    names: dict[str, set[int]] = field(default_factory=dict)
    attributes: dict[str, set[int]] = field(default_factory=dict)
    calls: dict[str, set[int]] = field(default_factory=dict)

    def statements(self, tree: ast.Module) -> None:
        """Collect headers, branches, imports and definitions, and in `heads` every node that holds expressions."""
        stack: list[tuple[Any, bool]] = [(node, True) for node in tree.body]
        while stack:
            node, outside = stack.pop()  # whether the node is outside every function
            self.heads.append(node)
            branches = _BRANCHES.get(node.__class__)
            if branches is None:
                self._simple(node, outside)
                continue
            if not isinstance(node, ast.match_case):
                self._compound(node, outside)
            outside = outside and not isinstance(node, FunctionNode)
            stack += [(child, outside) for name in branches for child in getattr(node, name)]

    def expressions(self) -> None:
        """Collect the names in all of `heads`."""
        todo, names, attributes, calls = self.heads, self.names, self.attributes, self.calls
        while todo:
            node = todo.pop()
            kind = node.__class__
            if kind is ast.Name:
                names.setdefault(node.id, set()).add(node.lineno)
                continue
            if kind is ast.Attribute:  # its name is on the line that the node ends on
                attributes.setdefault(node.attr, set()).add(node.end_lineno)
            elif kind is ast.Call:
                called = node.func
                name = getattr(called, "id", None) or getattr(called, "attr", None)
                if name is not None:
                    calls.setdefault(name, set()).add(called.end_lineno)
            for place in _FIELDS[kind]:
                value = getattr(node, place)
                if value.__class__ is list:
                    todo += [each for each in value if each is not None]
                elif value is not None and isinstance(value, ast.AST):
                    todo.append(value)

    def graph(self) -> DependencyGraph:
        """The collected reasons as arrays."""
        users: list[int] = []
        reasons: list[int] = []
        count = len(self.ranges)
        for places, name, tables in self._named():
            users += places
            reasons += [count] * len(places)
            self.edges += [(count, line, kind) for kind, by_name in tables for line in by_name.get(name, ())]
            count += 1
        edge = np.array(self.edges, np.int64).reshape(-1, 3)
        line, reason = np.array(users, np.int64) - 1, np.array(reasons, np.int64)
        inside = (line >= 0) & (line < len(self.lines))  # before 3.12, names in f-strings have odd places
        ranges = np.array(self.ranges, np.int64).reshape(-1, 2) - [1, 0]
        pairs = (line[inside], reason[inside], count, edge[:, 0], edge[:, 1] - 1, edge[:, 2])
        return DependencyGraph(len(self.lines), ranges, *pairs)

    def _named(self) -> Iterator[tuple[Collection[int], str, tuple[tuple[int, _Places], ...]]]:
        """The lines that share a name, the name, and the tables of lines that explain it. Only a bare name can be an
        import's."""
        bare = ((IMPORTED, self.imports), (DEFINED, self.definitions))
        for name in self.names.keys() & (self.imports.keys() | self.definitions.keys()):
            yield self.names[name], name, bare
        for name in self.attributes.keys() & self.definitions.keys():
            yield self.attributes[name], name, bare[1:]
        for name in self.calls.keys() & self.definitions.keys():
            yield self.definitions[name], name, ((CALLER, self.calls),)

    def _simple(self, node: Any, outside: bool) -> None:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
            for alias in node.names:
                bound = (alias.asname or alias.name).partition(".")[0]
                self.imports.setdefault(bound, []).extend(lines)
        elif outside and isinstance(node, (ast.Assign, ast.AnnAssign)):
            for target in node.targets if isinstance(node, ast.Assign) else (node.target,):
                if isinstance(target, ast.Name):
                    self.definitions.setdefault(target.id, []).extend(self._shown(node))

    def _shown(self, node: ast.Assign | ast.AnnAssign) -> list[int]:
        lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
        return [n for n in lines if self.lines[n - 1].strip()][:_DEFINITION_LINES]

    def _compound(self, node: Any, outside: bool) -> None:
        decorators = getattr(node, "decorator_list", None)
        own: int = node.lineno
        first = decorators[0].lineno if decorators else own
        inner = node.cases[0].pattern if isinstance(node, ast.Match) else node.body[0]
        stop = self._header_stop(own, inner)
        if isinstance(node, (*FunctionNode, ast.ClassDef)) and outside:
            self.definitions.setdefault(node.name, []).extend(range(own, stop))
        chained = node in self.elifs
        # A header explains its body, and itself if it has several lines. The branches of an `elif` chain explain all
        # of the chain.
        last = node.body[-1].end_lineno if chained else node.end_lineno
        self._reason(stop if stop == first + 1 else first, last, range(first, stop), HEADER)
        if isinstance(node, ast.Match):
            self._cases(node)
        elif len(_BRANCHES[node.__class__]) > 1 and not chained:
            self._reason(first, node.end_lineno, self._branches(node), SIBLING)

    def _reason(self, first: int, last: int, explaining: Iterable[int], kind: int) -> None:
        targets = list(explaining)
        if first <= last and targets:
            self.edges += [(len(self.ranges), line, kind) for line in targets]
            self.ranges.append((first, last))

    def _header_stop(self, first: int, inner: Any) -> int:
        """One past the header's last line; comments and blank lines before the first inner statement aren't in it."""
        decorators = getattr(inner, "decorator_list", None)
        stop: int = decorators[0].lineno if decorators else inner.lineno
        while stop - 1 > first and _NO_CODE.match(self.lines[stop - 2]):
            stop -= 1
        return max(stop, first + 1)

    def _branches(self, node: Any) -> list[int]:
        headers: list[int] = []
        before = node.body[-1].end_lineno
        for handler in getattr(node, "handlers", ()):
            headers += range(handler.lineno, self._header_stop(handler.lineno, handler.body[0]))
            before = handler.end_lineno
        branch: list[ast.stmt] = node.orelse
        while branch:
            head = branch[0]
            if not (isinstance(node, ast.If) and isinstance(head, ast.If) and self._is_elif(head)):
                headers += self._keyword(_ELSE, before, head.lineno)
                before = branch[-1].end_lineno
                break
            self.elifs.add(head)
            headers += range(head.lineno, self._header_stop(head.lineno, head.body[0]))
            before, branch = head.body[-1].end_lineno, head.orelse
        final: list[ast.stmt] = getattr(node, "finalbody", [])
        if final:
            headers += self._keyword(_FINALLY, before, final[0].lineno)
        return headers

    def _cases(self, node: ast.Match) -> None:
        headers: list[int] = []
        before = node.subject.end_lineno or node.lineno
        for case in node.cases:
            first = next(iter(self._keyword(_CASE, before, case.pattern.lineno)), case.pattern.lineno)
            headers += range(first, self._header_stop(first, case.body[0]))
            before = case.body[-1].end_lineno or first
        self._reason(node.lineno, node.end_lineno or node.lineno, headers, SIBLING)

    def _is_elif(self, node: ast.If) -> bool:
        return self.lines[node.lineno - 1].lstrip().startswith("elif")

    def _keyword(self, word: re.Pattern[str], before: int, head: int) -> list[int]:
        """The line of a keyword after line `before` and up to line `head`; empty if it isn't at a line's start."""
        places = range(before + 1, head + 1)
        return next(([n] for n in places if word.match(self.lines[n - 1])), [])


BoolArray = NDArray[np.bool_]

_HOPS = 2  # How many edges relevance flows along
# The share of relevance that is left at each hop after the first, which has the edge's own weight
_DECAY = 0.5
_THRESHOLD = 0.5  # The least weight of a line that is labelled "keep", as a share of the document's score
_SCORE_FLOOR = 0.1  # The score below which a document keeps nothing, because its lines are noise


@dataclass(frozen=True, eq=False)
class RubricLabels:
    """The labels of L lines."""

    semantic: BoolArray  # bool `[L]`, the lines that each rubric keeps
    dependency: BoolArray
    dependency_weight: FloatArray  # float64 `[L]` in [0, 1], before the threshold
    parsed: bool  # whether the document is Python that parses; if not, `dependency` is empty


def label_lines(code: str, kept: Iterable[int], score: float = 1.0) -> RubricLabels:
    lines, graph = _analysed(code)
    places = np.fromiter(kept, np.int64) - 1
    if len(places) and (places.min() < 0 or places.max() >= len(lines)):
        raise ValueError(f"a kept line is outside 1 to {len(lines)}")
    gold = np.zeros(len(lines), np.bool_)
    gold[places] = score >= _SCORE_FLOOR
    dependency = np.zeros(len(lines)) if graph is None else _dependency(graph, gold) * score
    # The threshold compares a line with its document's other lines; the score itself is for the relevance head.
    least = _THRESHOLD * max(score, _SCORE_FLOOR)
    return RubricLabels(
        semantic=gold,
        dependency=(dependency >= least) & (dependency > 0),
        dependency_weight=dependency,
        parsed=graph is not None,
    )


@lru_cache(maxsize=128)  # several records ask about one file
def _analysed(code: str) -> tuple[list[str], DependencyGraph | None]:
    """A document's lines, without line ends, and its dependency graph; None if it isn't Python that parses."""
    lines, tree = parse_lines(code)
    return lines, None if tree is None else dependency_graph(tree, lines)


def _dependency(graph: DependencyGraph, gold: BoolArray) -> FloatArray:
    relevance, weight = gold.astype(np.float64), np.zeros(graph.lines)
    for hop in range(_HOPS):
        relevance = graph.flow(relevance) * (_DECAY if hop else 1.0)
        weight = np.maximum(weight, relevance)
    return weight


def parse_lines(code: str) -> tuple[list[str], ast.Module | None]:
    """The lines of any text, without their ends, and its syntax tree, whose nodes have these lines' numbers. Line ends
    of every kind and form feeds are allowed. The tree is None where the text isn't Python that parses; that alone
    decides whether a document gets dependency labels."""
    lines = [line.rstrip("\r\n") for line in split_lines(code)]
    text = "\n".join(lines).replace("\f", "")  # a form feed separates pages, not lines
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return lines, ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # MemoryError: too deep for the parser
        return lines, None
