"""What benchmarks and tests of post-processing share: a mask like a model's, and counts of errors."""

from pathlib import Path

import numpy as np
import tree_sitter
from lamr_postprocess import LANGUAGES, Language
from lamr_postprocess.syntax import parse
from numpy.typing import NDArray

Mask = NDArray[np.bool_]


def model_like(lines: int, rng: np.random.Generator) -> Mask:
    """A mask like a model's: runs of 3 to 15 lines up to a quarter of the file."""
    mask = np.zeros(lines, dtype=np.bool_)
    while lines and mask.mean() < 0.25:
        start = int(rng.integers(lines))
        mask[start : start + int(rng.integers(3, 16))] = True
    return mask


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
