"""Dependency labels without a syntax tree, for the variant that learns without one.

A line needs the less indented lines above it, and the lines that seem to bind its names as an editor's search would
find them. This module knows lines of text, and of the language only `import`, `def`, `class` and `=`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

_WORD = re.compile(r"[A-Za-z_]\w*")
_BINDS = re.compile(r"\s*(?:from\s.*\bimport\b|import\b|(?:async\s+)?def\b|class\b)|\w+\s*(?::[^=]+)?=(?!=)")


def textual_dependency(lines: Sequence[str], kept: Collection[int]) -> NDArray[np.bool_]:
    """Which lines the kept ones need, bool `[L]`.

    Args:
        lines: the lines of a document.
        kept: the 1-based numbers of the kept ones.
    """
    needed = np.zeros(len(lines), np.bool_)
    binding: dict[str, list[int]] = {}
    for number, line in enumerate(lines):
        if _BINDS.match(line):
            bound = (
                line.partition("=")[0]
                if "=" in line and not line.lstrip().startswith(("def", "async"))
                else line
            )
            for word in set(_WORD.findall(bound.partition("(")[0])):
                binding.setdefault(word, []).append(number)
    for number in kept:
        for word in set(_WORD.findall(lines[number - 1])):
            needed[binding.get(word, [])] = True
    needed[list(_headers(lines, kept))] = True
    return needed


def _headers(lines: Sequence[str], kept: Collection[int]) -> set[int]:
    """The 0-based lines above the kept ones that are less indented than all lines between."""
    above: set[int] = set()
    stack: list[tuple[int, int]] = []  # indent and 0-based number of each line that encloses the next one
    wanted = set(kept)
    for number, line in enumerate(lines):
        if not line.strip():
            continue
        indent = len(line) - len(line.lstrip())
        while stack and stack[-1][0] >= indent:
            stack.pop()
        if number + 1 in wanted:
            above.update(place for _, place in stack)
        stack.append((indent, number))
    return above
