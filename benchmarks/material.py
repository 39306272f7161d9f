"""What the post-processing benchmark works on: masks like a model's, damaged texts, and counts of errors."""

from __future__ import annotations

import ast
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import tree_sitter
from lamr_postprocess import LANGUAGES, Language
from lamr_postprocess.lines import blank_lines, code_points, spans_of
from lamr_postprocess.syntax import parse
from numpy.typing import NDArray
from pyflakes import checker, messages

Mask = NDArray[np.bool_]


def model_like(lines: int, rng: np.random.Generator) -> Mask:
    """A mask like a model's: runs of 3 to 15 lines up to a quarter of the file."""
    return blocks(lines, 0.25, rng, lambda: int(rng.integers(3, 16)))


def blocks(lines: int, share: float, rng: np.random.Generator, length: Callable[[], int]) -> Mask:
    """Runs of lines of the given lengths, up to a share of the file."""
    mask = np.zeros(lines, dtype=np.bool_)
    while lines and mask.mean() < share:
        start = int(rng.integers(lines))
        mask[start : start + length()] = True
    return mask


def functions(code: str, lines: int, share: float, rng: np.random.Generator) -> Mask:
    """Short functions and top-level statements as a whole, and runs of lines of longer ones, up to a share."""
    tree = ast.parse(code)
    spans = [
        (node.lineno - 1 - len(getattr(node, "decorator_list", ())), node.end_lineno or node.lineno)
        for node in [*ast.walk(tree)]
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    spans += [(n.lineno - 1, n.end_lineno or 0) for n in tree.body if (n.end_lineno or 0) - n.lineno < 20]
    rng.shuffle(spans)
    mask = np.zeros(lines, dtype=np.bool_)
    for first, last in spans:
        if mask.mean() >= share:
            break
        start, stop = int(first), int(last)
        if stop - start > 12:
            size = int(rng.integers(6, stop - start + 1))
            start += int(rng.integers(0, stop - start - size + 1))
            stop = start + size
        mask[start:stop] = True
    return mask


def masks_of(code: str, lines: int, rng: np.random.Generator) -> dict[str, Mask]:
    """Masks of a quarter of a file, by name. A blank line goes with its neighbours, as it does in line scores."""
    masks = {
        "functions": functions(code, lines, 0.25, rng),
        "long blocks": blocks(lines, 0.25, rng, lambda: int(rng.geometric(1 / 20))),
        "blocks": model_like(lines, rng),
        "random": rng.random(lines) < 0.25,
        "alternating": np.arange(lines) % 2 == 0,
    }
    points = code_points(code)
    blank = np.flatnonzero(blank_lines(points, spans_of(points)))
    inked = np.setdiff1d(np.arange(lines), blank)
    slot = np.searchsorted(inked, blank)
    between = (slot > 0) & (slot < inked.shape[0])
    blank, slot = blank[between], slot[between]
    for mask in masks.values():
        mask[blank] |= mask[inked[slot - 1]] & mask[inked[slot]]
    return masks


def error_nodes(text: str, language: Language) -> int:
    """The number of ERROR and MISSING nodes in a text's tree."""
    return errors(parse(text, language).tree)


def errors(tree: tree_sitter.Tree) -> int:
    """The number of ERROR and MISSING nodes."""
    cursor = tree.walk()
    count = 0
    while True:
        node = cursor.node
        assert node is not None
        count += node.is_error or node.is_missing
        if node.has_error and cursor.goto_first_child():
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return count


def language_of(path: Path) -> Language | None:
    """The language with a grammar that a file name tells, Python apart."""
    suffix = path.suffix.lower()
    return next((each for each in LANGUAGES if each.grammar and suffix in each.suffixes - {".py"}), None)


def damaged(seeds: list[str], alphabet: str, chance: random.Random) -> str:
    """A piece of a seed with characters replaced, removed and inserted, or noise instead."""
    if chance.random() < 0.3:
        return "".join(chance.choices(alphabet, k=chance.randrange(120)))
    seed = chance.choice(seeds)
    start = chance.randrange(len(seed))
    piece = list(seed[start : start + chance.randrange(1, 1_500)])
    for _ in range(chance.randrange(6)):
        at = chance.randrange(len(piece))
        piece[at] = chance.choice(["", chance.choice(alphabet), piece[at] + chance.choice(alphabet)])
    return "".join(piece)


def words(text: str) -> int:
    """A count of tokens that is easy to follow: the words."""
    return len(text.split())


def undefined_names(code: str) -> set[str]:
    """Names that pyflakes calls undefined."""
    warnings = checker.Checker(ast.parse(code)).messages
    return {each.message_args[0] for each in warnings if isinstance(each, messages.UndefinedName)}
