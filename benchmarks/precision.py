"""Which lines another precision keeps: two repositories of one model, whole files, the default threshold.

    lamr export CHECKPOINT --output fp32-repository --precision fp32
    python benchmarks/precision.py fp32-repository [OTHER] [--json]

OTHER is the bundled repository unless given. The files and questions are those that `lamr export` verifies on. What
is counted are lines in the pruned file, after scoring, threshold and repair.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from lamr_client import Pruner, bundled_repository
from lamr_export.verify import standard_texts
from lamr_postprocess import line_spans
from numpy.typing import NDArray


@dataclass(frozen=True)
class Figures:
    """Lines; shares in percent of all lines. Target: at most 1 % changed."""

    files: int
    lines: int
    kept_percent: float
    other_kept_percent: float
    changed_percent: float


def kept(pruner: Pruner, query: str, code: str) -> NDArray[np.bool_]:
    """Which lines of a file stay, bool [lines]."""
    mask = np.zeros(len(line_spans(code)), dtype=np.bool_)
    mask[np.array(pruner.prune(query, code, language="python").kept_lines, dtype=int) - 1] = True
    return mask


def measure(first: Path, second: Path) -> Figures:
    texts = standard_texts()
    masks = []
    for repository in (first, second):
        with Pruner(model=repository, timeout=600) as pruner:
            masks.append(np.concatenate([kept(pruner, query, code) for query, code in texts]))
    one, other = masks
    return Figures(
        files=len(texts),
        lines=len(one),
        kept_percent=100 * float(one.mean()),
        other_kept_percent=100 * float(other.mean()),
        changed_percent=100 * float((one != other).mean()),
    )


def main() -> int:
    """Measure and print; the exit code is 1 if the target is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("first", type=Path, help="a model repository, say in fp32")
    parser.add_argument("second", type=Path, nargs="?", help="another (default: the bundled one)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    figures = measure(options.first, options.second or bundled_repository())
    if options.json:
        print(json.dumps(asdict(figures)))
    else:
        print(
            f"{figures.files} files, {figures.lines} lines, {figures.kept_percent:.1f} and "
            f"{figures.other_kept_percent:.1f} % kept; changed: {figures.changed_percent:.2f} % (target <= 1)"
        )
    return int(figures.changed_percent > 1)


if __name__ == "__main__":
    sys.exit(main())
