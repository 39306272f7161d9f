"""Lexical baselines: what a pruner must beat to earn its model.

Each is a callable `(query, code) -> float [L]` with one score for each line; higher is better. A segmentation is an int
array `[L]` with the number of the piece that each line belongs to; pieces are numbered from 0 without
gaps."""

import ast
import hashlib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Protocol

import numpy as np
from lamr_model.bm25 import bm25, idf
from lamr_model.words import TermIndex, query_terms
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from lamr_evaluation.records import bare_lines

Segments = NDArray[np.intp]


def span(node: ast.stmt) -> range:
    """1-based lines of a statement, decorators included."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
    return range(first, (node.end_lineno or node.lineno) + 1)


def _outermost_functions(body: Sequence[ast.stmt]) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
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
    """Each outermost function or method with its decorators; everything else in paragraphs. Class headers, settings and
    tables at module level are thus pieces of their own. A file that Python can't parse, or that it splits into other
    lines than we do, is cut into paragraphs throughout."""
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
    before = np.maximum.accumulate(np.where(inked, np.arange(len(lines)), 0))  # the last line with text
    changed = np.concatenate(([True], owner[1:] != owner[before[:-1]]))
    return _pieces(inked & (changed | (paragraph & (owner == 0))))


def windows(lines: Sequence[str], size: int, offset: int = 0) -> Segments:
    """Pieces of `size` lines; the first one is `offset` lines short."""
    return ((np.arange(len(lines)) + offset) // size).astype(np.intp)


FloatArray = NDArray[np.float64]
WINDOW, STRIDE = 20, 5
CONTEXT = 5


class LineScorer(Protocol):
    """Ranks the lines of a file for a query."""

    def __call__(self, query: str, code: str) -> FloatArray:
        """Scores of the lines, float `[L]`, finite, higher for lines to keep."""
        ...


@lru_cache(maxsize=8)
def _prepared(code: str) -> tuple[tuple[str, ...], TermIndex]:
    """A file's lines and words; they are cached because several baselines and questions read the same file in a row."""
    lines = tuple(bare_lines(code))
    return lines, TermIndex(code, len(lines))


def bm25_functions(query: str, code: str) -> FloatArray:
    """BM25 over functions, class headers and paragraphs of module-level code."""
    lines, tokens = _prepared(code)
    pieces = functions(code, lines)
    return bm25(tokens.counts(query_terms(query)), pieces)[pieces]


def bm25_windows(query: str, code: str) -> FloatArray:
    """BM25 over windows of 20 lines that begin every 5 lines; a line has the sum of its windows. Overlap keeps an
    answer whole wherever it lies; the sum did better than the best window."""
    lines, tokens = _prepared(code)
    counts = tokens.counts(query_terms(query))
    cuts = (windows(lines, WINDOW, offset) for offset in range(0, WINDOW, STRIDE))
    return np.asarray(np.sum([bm25(counts, cut)[cut] for cut in cuts], axis=0), dtype=np.float64)


def grep(query: str, code: str) -> FloatArray:
    """Keyword grep with 5 lines of context: a line has the hits of itself and its neighbours. A line's hits count as
    the summed rarity of the distinct query terms in it."""
    lines, tokens = _prepared(code)
    if not lines:
        return np.zeros(0)
    frequency = tokens.counts(query_terms(query)).lines
    hits = np.pad((frequency > 0) @ idf(frequency), CONTEXT)
    return np.asarray(sliding_window_view(hits, 2 * CONTEXT + 1).sum(axis=-1), dtype=np.float64)


def _scaled(scores: FloatArray) -> FloatArray:
    top = scores.max(initial=0.0)
    return scores / top if top > 0 else scores


def lexical_sum(query: str, code: str) -> FloatArray:
    """Sum of BM25 over functions, BM25 over windows and grep, each scaled to a maximum of 1."""
    return sum((_scaled(part(query, code)) for part in (bm25_functions, bm25_windows, grep)), np.zeros(1))


def random_paragraphs(query: str, code: str) -> FloatArray:
    """Random scores for paragraphs, the same every time for the same query and code."""
    lines, _ = _prepared(code)
    pieces = paragraphs(lines)
    seed = int.from_bytes(hashlib.sha256(f"{query}\x00{code}".encode("utf-8", "replace")).digest()[:8], "big")
    return np.asarray(np.random.default_rng(seed).random(len(lines) + 1)[pieces], dtype=np.float64)


BASELINES: dict[str, LineScorer] = {
    "bm25-functions": bm25_functions,
    "bm25-windows": bm25_windows,
    "grep±5": grep,
    "lexical-sum": lexical_sum,
    "random-paragraphs": random_paragraphs,
}
