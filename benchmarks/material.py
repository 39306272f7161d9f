"""What benchmarks and tests of post-processing share: a mask like a model's, and counts of errors."""

import numpy as np
import tree_sitter
from numpy.typing import NDArray

Mask = NDArray[np.bool_]


def model_like(lines: int, rng: np.random.Generator) -> Mask:
    """A mask like a model's: runs of 3 to 15 lines up to a quarter of the file."""
    mask = np.zeros(lines, dtype=np.bool_)
    while lines and mask.mean() < 0.25:
        start = int(rng.integers(lines))
        mask[start : start + int(rng.integers(3, 16))] = True
    return mask


def errors(tree: tree_sitter.Tree) -> int:
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
