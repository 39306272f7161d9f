"""Which lines another precision or version keeps, and at what cost: whole files, the default threshold.

    lamr export CHECKPOINT --output fp32-repository --precision fp32
    python -m benchmarks.precision fp32-repository [OTHER] [--json]

OTHER is the bundled repository unless given. The files and questions are those that `lamr export` verifies on. The
lines of the pruned files are compared, after scoring, threshold and repair. Times are CPU seconds of whole prunes in
this process, medians of rounds in which the two take turns.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
from lamr_client import Pruner, bundled_repository
from lamr_export.verify import standard_texts
from lamr_postprocess import line_spans
from numpy.typing import NDArray

from benchmarks.anew import reading_anew
from benchmarks.report import Figure, option_parser, run
from benchmarks.timing import time_in_turns

ROUNDS = 3


def kept(pruner: Pruner, query: str, code: str) -> NDArray[np.bool_]:
    """Which lines of a file stay, bool [lines]."""
    mask = np.zeros(len(line_spans(code)), dtype=np.bool_)
    mask[np.array(pruner.prune(query, code, language="python", effort="full").kept_lines, dtype=int) - 1] = (
        True
    )
    return mask


def measure(options: argparse.Namespace) -> Iterator[Figure]:
    """Prune every file with both and compare."""
    texts = standard_texts()
    with reading_anew(options.first) as one, reading_anew(options.second) as other:

        def masks(pruner: Pruner) -> NDArray[np.bool_]:
            return np.concatenate([kept(pruner, query, code) for query, code in texts])

        first, second = masks(one), masks(other)
        timings = time_in_turns({"first": partial(masks, one), "second": partial(masks, other)}, ROUNDS)
        tokens = sum(one.encoder.count_tokens(code) for _, code in texts)
    yield Figure("files", len(texts))
    yield Figure("lines", len(first))
    yield Figure("  kept by the first", 100 * float(first.mean()), "%")
    yield Figure("  kept by the second", 100 * float(second.mean()), "%")
    yield Figure("lines that are kept by one alone", 100 * float((first != second).mean()), "%", 1)
    seconds = {name: timing.cpu_median for name, timing in timings.items()}
    for name, each in seconds.items():
        yield Figure(f"CPU of a million tokens, the {name}", 1e6 * each / tokens, "s")
    yield Figure("CPU of a token, the second over the first", seconds["second"] / seconds["first"], "x")


PARSER = option_parser(__doc__)
PARSER.add_argument("first", type=Path, help="a model repository, say in fp32")
PARSER.add_argument(
    "second", type=Path, nargs="?", default=bundled_repository(), help="another (default: the bundled one)"
)

if __name__ == "__main__":
    sys.exit(run(PARSER, measure))
