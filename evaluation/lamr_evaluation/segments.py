"""Cuts a file into pieces that a retrieval baseline ranks.

A segmentation is an int array `[L]` with the number of the piece that each line belongs to; pieces are numbered from 0
without gaps.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

Segments = NDArray[np.intp]


def span(node: ast.stmt) -> range:
    """1-based lines of a statement, decorators included."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
    return range(first, (node.end_lineno or node.lineno) + 1)


def _outermost_functions(body: Sequence[ast.stmt]) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Functions that lie in no other function: those of the module, of its classes, and under `if` or `try`."""
    stack: list[ast.AST] = list(body)
    while stack:
        node = stack.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node
        elif isinstance(node, (ast.stmt, ast.ExceptHandler)):
            stack += ast.iter_child_nodes(node)


def _paragraph_starts(lines: Sequence[str]) -> NDArray[np.bool_]:
    blank = np.fromiter((not line.strip() for line in lines), dtype=np.bool_, count=len(lines))
    return np.asarray(~blank & np.concatenate(([True], blank[:-1])), dtype=np.bool_)


def _pieces(starts: NDArray[np.bool_]) -> Segments:
    """Numbers of the pieces that begin where `starts` says; lines before the first belong to it."""
    return np.maximum(np.cumsum(starts) - 1, 0).astype(np.intp)


def paragraphs(lines: Sequence[str]) -> Segments:
    """A piece starts after each blank line."""
    return _pieces(_paragraph_starts(lines))


def functions(code: str, lines: Sequence[str]) -> Segments:
    """Each outermost function or method with its decorators; everything else in paragraphs.

    Class headers, settings and tables at module level are thus pieces of their own. A file that Python can't parse, or
    that it splits into other lines than we do, is cut into paragraphs throughout.
    """
    paragraph = _paragraph_starts(lines)
    if len(code.splitlines()) != len(lines):
        return _pieces(paragraph)
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError):
        return _pieces(paragraph)
    owner = np.zeros(len(lines), dtype=np.intp)
    for number, node in enumerate(_outermost_functions(tree.body), 1):
        lines_of = span(node)
        owner[lines_of.start - 1 : lines_of.stop - 1] = number
    inked = np.fromiter((bool(line.strip()) for line in lines), dtype=np.bool_, count=len(lines))
    before = np.maximum.accumulate(
        np.where(inked, np.arange(len(lines)), 0)
    )  # last line with text, up to here
    changed = np.concatenate(([True], owner[1:] != owner[before[:-1]]))
    return _pieces(inked & (changed | (paragraph & (owner == 0))))


def windows(lines: Sequence[str], size: int, offset: int = 0) -> Segments:
    """Pieces of `size` lines; the first one is `offset` lines short."""
    return ((np.arange(len(lines)) + offset) // size).astype(np.intp)
