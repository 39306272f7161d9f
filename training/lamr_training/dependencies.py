"""Which lines of a Python file need which others: edges from a line to the lines that explain it.

Kinds of edges, each with a weight: enclosing headers, sibling branches, imports, definitions, call sites. Names are
resolved by spelling within the file, which is what can be done without running it. Knows the syntax tree only.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lamr_training.syntax import FunctionNode, header_end, span

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class EdgeWeights:
    """How much of a line's relevance flows along each kind of edge, in [0, 1]; 0 switches a kind off.

    Attributes:
        header: to headers of the functions, classes and compound statements around the line.
        sibling: to the other branches' headers of those compound statements.
        imported: to the import of a name that the line uses.
        defined: to the header of a function or class of the file, or the assignment of a module-level name, that
            the line uses.
        caller: from a definition's header to the lines that call it.
    """

    header: float = 1.0
    sibling: float = 1.0
    imported: float = 1.0
    defined: float = 0.8
    caller: float = 0.4


def dependency_edges(
    tree: ast.Module, lines: Sequence[str], weights: EdgeWeights
) -> tuple[IntArray, IntArray, NDArray[np.float64]]:
    """Edges as arrays: source lines, target lines (both 0-based int64 `[E]`) and weights float64 `[E]`."""
    edges = _Edges()
    _structure(tree, [], lines, weights, edges)
    _names(tree, weights, edges)
    source, target, weight = edges.arrays()
    inside = (source < len(lines)) & (target < len(lines))
    return source[inside], target[inside], weight[inside]


class _Edges:
    """Products of line ranges, expanded at the end."""

    def __init__(self) -> None:
        self.source: list[int] = []
        self.target: list[int] = []
        self.weight: list[float] = []

    def add(self, sources: Sequence[int], targets: Sequence[int], weight: float) -> None:
        """From every source line to every target line, 1-based. Plain lists: most products have a few entries."""
        if weight > 0 and sources and targets:
            self.source += [line for line in sources for _ in targets]
            self.target += [*targets] * len(sources)
            self.weight += [weight] * (len(sources) * len(targets))

    def arrays(self) -> tuple[IntArray, IntArray, NDArray[np.float64]]:
        """Sources and targets, 0-based, and weights."""
        return (
            np.array(self.source, np.int64) - 1,
            np.array(self.target, np.int64) - 1,
            np.array(self.weight, np.float64),
        )


def _structure(
    node: ast.AST, above: list[int], lines: Sequence[str], weights: EdgeWeights, edges: _Edges
) -> None:
    """Edges from every statement's own lines to the headers above it and to sibling branches."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (ast.stmt, ast.ExceptHandler, ast.match_case)):
            continue
        own = _own_lines(child)
        edges.add(own, above, weights.header)
        branches = _branch_headers(child, lines)
        if isinstance(child, (ast.If, ast.Try, ast.For, ast.While, ast.AsyncFor)) and branches:
            last = span(child)[-1]
            edges.add(range(own[0], last + 1), branches, weights.sibling)
        scope = [*above, *range(own[0], own[-1] + 1)] if _has_body(child) else above
        _structure(child, scope, lines, weights, edges)


def _has_body(node: ast.AST) -> bool:
    return isinstance(getattr(node, "body", None), list)


def _own_lines(node: ast.AST) -> range:
    """A statement's lines, or only its header's if it has a body."""
    if isinstance(node, ast.match_case):
        return range(node.pattern.lineno, max(node.pattern.lineno, span(node.body[0])[0] - 1) + 1)
    if not _has_body(node):
        return span(node)
    return range(span(node)[0], header_end(node) + 1)


def _branch_headers(node: ast.AST, lines: Sequence[str]) -> list[int]:
    """Lines of `elif`, `else`, `except` and `finally` that belong to a statement."""
    found: list[int] = []
    for handler in getattr(node, "handlers", []):
        found += range(handler.lineno, header_end(handler) + 1)
    previous = getattr(node, "body", [None])[-1]
    for handler in getattr(node, "handlers", []):
        previous = handler
    for name in ("orelse", "finalbody"):
        branch = getattr(node, name, None)
        if not isinstance(branch, list) or not branch or previous is None:
            continue
        head = branch[0]
        if isinstance(node, ast.If) and isinstance(head, ast.If) and _is_elif(head, lines):
            found += range(head.lineno, header_end(head) + 1)
            found += _branch_headers(head, lines)
        else:
            between = range(span(previous)[-1] + 1, span(head)[0] + 1)
            word = "finally" if name == "finalbody" else "else"
            found += [n for n in between if lines[n - 1].lstrip().startswith(word)][-1:]
        previous = branch[-1]
    return found


def _is_elif(node: ast.If, lines: Sequence[str]) -> bool:
    return lines[node.lineno - 1].lstrip().startswith("elif")


def _names(tree: ast.Module, weights: EdgeWeights, edges: _Edges) -> None:
    """Edges from the use of a name to its import or definition, and from a definition to its calls."""
    imports: dict[str, list[int]] = {}
    definitions: dict[str, list[int]] = {}
    _definitions(tree, definitions)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                bound = (alias.asname or alias.name).split(".")[0]
                imports.setdefault(bound, []).extend(span(node))
    uses: dict[str, set[int]] = {}
    called: dict[str, set[int]] = {}
    for node in ast.walk(tree):
        name = (
            node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else None
        )
        if name is not None:
            uses.setdefault(name, set()).add(node.lineno)  # type: ignore[attr-defined]
        if isinstance(node, ast.Call):
            target = getattr(node.func, "id", None) or getattr(node.func, "attr", None)
            if target:
                called.setdefault(target, set()).add(node.lineno)
    for name, places in uses.items():
        edges.add(sorted(places), imports.get(name, []), weights.imported)
        edges.add(sorted(places), definitions.get(name, []), weights.defined)
    for name, places in called.items():
        edges.add(definitions.get(name, []), sorted(places), weights.caller)


def _definitions(scope: ast.Module | ast.ClassDef, found: dict[str, list[int]]) -> None:
    """Headers of functions and classes, and module- or class-level assignments, by name."""
    for node in scope.body:
        if isinstance(node, (*FunctionNode, ast.ClassDef)):
            found.setdefault(node.name, []).extend(range(node.lineno, header_end(node) + 1))
            if isinstance(node, ast.ClassDef):
                _definitions(node, found)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if isinstance(target, ast.Name):
                    found.setdefault(target.id, []).extend(
                        range(node.lineno, min(span(node)[-1], node.lineno + 4) + 1)
                    )
