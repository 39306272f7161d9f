"""How fast post-processing is, from line scores to text.

    python -m benchmarks.postprocess [--json]

Times are of one core (CPU time). The texts are made of installed Python files, and the mask is like a model's: runs of
3 to 15 lines anywhere."""

import argparse
import sys
import warnings
from collections.abc import Iterator
from functools import partial

import numpy as np
from lamr_postprocess import line_spans, prune_lines

from benchmarks.material import model_like
from benchmarks.report import Figure, option_parser, run
from benchmarks.sources import python_files
from benchmarks.timing import time_in_turns


def measure(_: argparse.Namespace) -> Iterator[Figure]:
    """From scores to text: 10,000 lines of whole files that parse as one, and the same lines twice."""
    warnings.simplefilter("ignore")  # invalid escapes in other people's files
    parts: list[str] = []
    for _path, code in python_files(400):
        if 150 < code.count("\n") < 1500 and "from __future__" not in code and not code.startswith("\ufeff"):
            parts.append(code if code.endswith("\n") else code + "\n")
    once = joined(parts, 10_000)
    mask = model_like(10_000, np.random.default_rng(0)).astype(np.float64)
    # The same lines twice instead of other files, which would have more or less than twice the names.
    calls = {
        "10,000": partial(prune_lines, once, mask, language="python"),
        "20,000": partial(prune_lines, once + once, np.tile(mask, 2), language="python"),
    }
    assert all(call().note is None for call in calls.values()), "the text must parse"
    least = {count: min(timing.cpu) for count, timing in time_in_turns(calls, 5).items()}
    yield Figure("post-processing 10,000 lines of Python, scores to text", least["10,000"] * 1e3, "ms", 400)
    yield Figure("post-processing 20,000 lines of Python, scores to text", least["20,000"] * 1e3, "ms")
    yield Figure("post-processing 20,000 lines over 10,000", least["20,000"] / least["10,000"], "x", 2.3)


def joined(parts: list[str], lines: int) -> str:
    """Whole files up to a number of lines, and comment lines for the rest."""
    text = ""
    size = 0
    for part in parts:
        count = len(line_spans(part))
        if size + count <= lines:
            text += part
            size += count
    return text + "# the end\n" * (lines - size)


PARSER = option_parser(__doc__)

if __name__ == "__main__":
    sys.exit(run(PARSER, measure))
