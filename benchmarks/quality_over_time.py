"""How much better an answer gets the longer one waits for it: recall over the time that a file may take.

    python -m benchmarks.quality_over_time ITEMS [ITEMS ...] [--most 50] [--within 0.25 1 4] [--plot PNG] [--json]
    python -m benchmarks.quality_over_time ITEMS [ITEMS ...] --lengths 5 80 600 2500 20000

ITEMS are JSONL files of records (`python -m lamr_evaluation OUTPUT --suite NAME` writes a suite's). The first items of
each are pruned by the line model alone, within each time, and in full. The seconds are means of whole calls, for which
nothing that was read is kept. Figures of different machines don't compare: a faster one reads more chunks in a second.
Then each file is asked another item's question, with and without what was read for the first one: CPU of whole calls.

With `--lengths`, the line model and a keyword search answer queries of so many characters: each item's query is cut, or
goes on with those of the other items, which say nothing of its file. Beyond 600 characters the items that have more are
compared with their own first 600, without what others say (`alone`) and with it.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from lamr_client import Pruner
from lamr_evaluation.baselines import grep
from lamr_evaluation.metrics import recall_curve
from lamr_evaluation.records import Record, read_records
from numpy.typing import NDArray

from benchmarks.anew import reading_anew
from benchmarks.report import Figure, option_parser, run

FloatArray = NDArray[np.float64]
USUAL = 600
"""Characters of a query that every model was made for."""
Point = tuple[str, float, float]
"""How much was read, the seconds of a call, and recall in a quarter of the lines."""


def points(pruner: Pruner, items: Sequence[Record], seconds: Sequence[float]) -> Iterator[Point]:
    """Measure the items at each effort."""
    efforts: dict[str, dict[str, Any]] = {"instant": {"effort": "instant"}}
    efforts |= {f"within {each:g} s": {"within": each} for each in seconds}
    efforts["full"] = {"effort": "full"}
    for name, options in efforts.items():
        took, recalls = [], []
        for item in items:
            begin = time.perf_counter()
            result = pruner.prune(item.query, item.code, task=item.task, path=item.path or None, **options)
            took.append(time.perf_counter() - begin)
            curve = recall_curve(np.array(result.line_scores), item.gold, item.counted)
            recalls.append(float(curve.at([0.25])[0]))
        yield name, float(np.mean(took)), float(np.mean(recalls))


def another_question(items: Sequence[Record]) -> tuple[float, float]:
    """The mean CPU seconds of a question about a file that was read in full, and the same with nothing kept."""
    seconds = []
    for one in (Pruner(timeout=3600), reading_anew()):
        with one as pruner:
            took = 0.0
            for item, other in zip(items, [*items[1:], items[0]], strict=True):
                pruner.prune(item.query, item.code, path=item.path or None, effort="full")
                begin = time.process_time()
                pruner.prune(other.query, item.code, path=item.path or None, effort="full")
                took += time.process_time() - begin
        seconds.append(took / len(items))
    return seconds[0], seconds[1]


def lengthened(queries: Sequence[str], place: int, length: int) -> str:
    """One of the queries, and those after it, cut to so many characters."""
    text = queries[place]
    for other in range(1, 1 + length // max(1, min(map(len, queries)))):
        if len(text) >= length:
            break
        text += "\n\n" + queries[(place + other) % len(queries)]
    return text[:length].strip() or queries[place]


def over_lengths(
    pruner: Pruner, name: str, items: Sequence[Record], lengths: Sequence[int]
) -> Iterator[Figure]:
    """Recall of the items at each length of their queries."""
    queries = [item.words for item in items]
    long = np.array([len(query) > USUAL for query in queries])

    def recalls(scored: Callable[[str, Record], Sequence[float]], asked: Sequence[str]) -> FloatArray:
        curves = [
            recall_curve(np.array(scored(query, item)), item.gold, item.counted)
            for query, item in zip(asked, items, strict=True)
        ]
        return np.array([float(curve.at([0.25])[0]) for curve in curves])

    def model(query: str, item: Record) -> Sequence[float]:
        return pruner.prune(query, item.code, path=item.path or None, effort="instant").line_scores

    def keywords(query: str, item: Record) -> Sequence[float]:
        return list(grep(query, item.code))

    usual = recalls(model, [query[:USUAL] for query in queries])
    for length in lengths:
        asked = [lengthened(queries, place, length) for place in range(len(items))]
        found = recalls(model, asked)
        yield Figure(f"{name}, {length:,} characters: recall at 25 %", found.mean())
        yield Figure(f"{name}, {length:,} characters: keyword search", recalls(keywords, asked).mean())
        if length > USUAL and long.any():
            alone = recalls(model, [query[:length] for query in queries]) - usual
            yield Figure(
                f"{name}, {length:,} characters alone, over {USUAL}", alone[long].mean(), "", 0, at_least=True
            )
        if length > USUAL:
            yield Figure(f"{name}, {length:,} characters, over {USUAL} of its own", (found - usual).mean())


def plot(measured: dict[str, list[Point]], path: Path) -> None:
    """Draw recall over seconds, one line for each file of items."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4.2))
    for name, row in measured.items():
        axes.plot([each[1] for each in row], [each[2] for each in row], marker="o", label=name)
    axes.set(xscale="log", xlabel="seconds for a file", ylabel="recall at 25 % of the lines")
    axes.legend()
    axes.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, dpi=130)


def measure(arguments: argparse.Namespace) -> Iterator[Figure]:
    """Measure each file of items; draw them if asked."""
    measured = {}
    with reading_anew() as pruner:
        if not arguments.lengths:
            pruner.warm()
        for path in arguments.items:
            items = [item for item in islice(read_records(path), arguments.most) if item.kept_frags]
            if arguments.lengths:
                yield from over_lengths(pruner, path.stem, items, arguments.lengths)
                continue
            rows = list(points(pruner, items, arguments.within))
            measured[path.stem] = rows
            for name, seconds, recall in rows:
                yield Figure(f"{path.stem}, {name}: recall at 25 %", recall)
                yield Figure(f"{path.stem}, {name}", seconds, "s")
            again, anew = another_question(items)
            yield Figure(f"{path.stem}, another question about a file that was read, CPU", again, "s")
            yield Figure(f"{path.stem}, the same with nothing kept", anew, "s")
            yield Figure(f"{path.stem}, with nothing kept over kept", anew / again, "x")
    if arguments.plot:
        plot(measured, arguments.plot)


PARSER = option_parser(__doc__)
PARSER.add_argument("items", type=Path, nargs="+", help="JSONL files of records")
PARSER.add_argument("--most", type=int, default=50, help="items of each file (%(default)s)")
PARSER.add_argument("--within", type=float, nargs="+", default=[0.25, 1.0, 4.0], help="seconds")
PARSER.add_argument("--lengths", type=int, nargs="+", default=[], help="characters of the queries")
PARSER.add_argument("--plot", type=Path, help="PNG to draw into")

if __name__ == "__main__":
    sys.exit(run(PARSER, measure))
