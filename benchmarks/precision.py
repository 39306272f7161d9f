"""Which lines another precision keeps: two repositories of one model, whole files, the default threshold.

    lamr export CHECKPOINT --output fp32-repository --precision fp32
    python -m benchmarks.precision fp32-repository [OTHER] [--json]

OTHER is the bundled repository unless given. The files and questions are those that `lamr export` verifies on. The
lines of the pruned files are compared, after scoring, threshold and repair.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from lamr_client import Pruner, bundled_repository
from lamr_export.verify import standard_texts
from lamr_postprocess import line_spans
from numpy.typing import NDArray

from benchmarks.report import Figure, option_parser, run


def kept(pruner: Pruner, query: str, code: str) -> NDArray[np.bool_]:
    """Which lines of a file stay, bool [lines]."""
    mask = np.zeros(len(line_spans(code)), dtype=np.bool_)
    mask[np.array(pruner.prune(query, code, language="python").kept_lines, dtype=int) - 1] = True
    return mask


def measure(options: argparse.Namespace) -> Iterator[Figure]:
    """Prune every file with both and compare."""
    texts = standard_texts()
    masks = []
    for repository in (options.first, options.second):
        with Pruner(model=repository, timeout=600) as pruner:
            masks.append(np.concatenate([kept(pruner, query, code) for query, code in texts]))
    first, second = masks
    yield Figure("files", len(texts))
    yield Figure("lines", len(first))
    yield Figure("  kept by the first", 100 * float(first.mean()), "%")
    yield Figure("  kept by the second", 100 * float(second.mean()), "%")
    yield Figure("lines that are kept by one alone", 100 * float((first != second).mean()), "%", 1)


PARSER = option_parser(__doc__)
PARSER.add_argument("first", type=Path, help="a model repository, say in fp32")
PARSER.add_argument(
    "second", type=Path, nargs="?", default=bundled_repository(), help="another (default: the bundled one)"
)

if __name__ == "__main__":
    sys.exit(run(PARSER, measure))
