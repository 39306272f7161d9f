"""A document's lines and, where it is Python, its syntax tree with the same line numbers."""

from __future__ import annotations

import ast
import warnings

from lamr_postprocess import split_lines


def parse_lines(code: str) -> tuple[list[str], ast.Module | None]:
    """The lines of any text, without their ends, and its syntax tree, whose nodes have these lines' numbers.

    Line ends of every kind and form feeds are allowed. The tree is None where the text isn't Python that parses; that
    alone decides whether a document gets dependency labels.
    """
    lines = [line.rstrip("\r\n") for line in split_lines(code)]
    text = "\n".join(lines).replace("\f", "")  # a form feed separates pages, not lines
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return lines, ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # MemoryError: too deep for the parser
        return lines, None
