"""How far damage reaches: files with one fault each, and the lines that one kept line drags along.

    python -m benchmarks.damage                   # the fixtures of eleven languages, and a module of Python's
    python -m benchmarks.damage --files FOLDER    # files of one's own

Each file gets, one at a time: a word that the grammar doesn't know in the header of its largest definition (a macro);
a missing end of the function in its middle (a brace, Ruby's `end`, Python's colon); and a conflict of a merge in that
function. A line of the file alone is kept, one after another, and what repair adds to it is counted.
"""

from __future__ import annotations

import argparse
import queue
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from lamr_postprocess import Language, split_lines
from lamr_postprocess.definition_spans import DefinitionSpan, definition_spans
from lamr_postprocess.document import analyse

from benchmarks.material import language_of
from benchmarks.report import Figure, option_parser, run

FILES = (Path(__file__).parents[1] / "tests" / "postprocess" / "fixtures", Path(queue.__file__))
_MOST_LINES = 80
"""Lines of a file that are kept alone."""
_ENDS = ("}", "end", "};", "})", "});")
WORD = "EXPORTED"


def faults(code: str, language: Language) -> Iterator[tuple[str, str]]:
    """The name of each fault, and the text that has it."""
    lines, spans = split_lines(code), definition_spans(code, language)
    functions = [each for each in spans if each.is_function and each.last - each.first >= 4]
    largest = max(spans, key=lambda each: each.last - each.first)
    name = lines[largest.head].replace(largest.name, f"{WORD} {largest.name}", 1)
    yield "an unknown word", "".join([*lines[: largest.head], name, *lines[largest.head + 1 :]])
    middle = min(functions, key=lambda each: abs(each.first + each.last - len(lines)))
    yield "a missing end", "".join(_without_end(lines, middle))
    row = next(row for row in range((middle.head + middle.last) // 2, middle.last) if lines[row].strip())
    sides = ["<<<<<<< HEAD\n", lines[row], "=======\n", lines[row], ">>>>>>> feature\n"]
    yield "a conflict", "".join([*lines[:row], *sides, *lines[row + 1 :]])


def _without_end(lines: list[str], function: DefinitionSpan) -> list[str]:
    last = lines[function.last]
    if last.strip() in _ENDS:
        return [*lines[: function.last], *lines[function.last + 1 :]]
    header = next(row for row in range(function.head, function.last) if lines[row].rstrip().endswith(":"))
    return [*lines[:header], lines[header].rstrip()[:-1] + "\n", *lines[header + 1 :]]


def dragged(code: str, language: Language) -> list[float]:
    """The share of a text's lines that each of its lines, kept alone, drags along."""
    document = analyse(code, language)
    inked = np.flatnonzero(~document.blank)
    rows = inked[:: max(1, len(inked) // _MOST_LINES)]
    lines = np.arange(len(document.blank))
    return [((document.repair(lines == row) != 0).sum() - 1) / len(lines) for row in rows.tolist()]


def measure(options: argparse.Namespace) -> Iterator[Figure]:
    """The figures of each file and each fault, and of all together."""
    everything: dict[str, list[float]] = {}
    for path in _files(options.files):
        language, code = language_of(path), path.read_text(encoding="utf-8")
        if language is None or not language.mends:
            continue
        for name, text in [("nothing", code), *faults(code, language)]:
            shares = dragged(text, language)
            everything.setdefault(name, []).extend(shares)
            yield from _figures(f"{path.name}, {name}", shares)
    for name, shares in everything.items():
        yield from _figures(f"all files, {name}", shares)


def _files(paths: Iterable[str | Path]) -> list[Path]:
    every = [each for path in map(Path, paths) for each in ([path] if path.is_file() else path.rglob("*"))]
    return sorted(each for each in every if each.is_file())


def _figures(name: str, shares: list[float]) -> Iterator[Figure]:
    yield Figure(f"{name}: dragged along, median", 100 * float(np.median(shares)), "%")
    yield Figure(f"{name}: dragged along, worst", 100 * max(shares), "%")


PARSER = option_parser(__doc__)
PARSER.add_argument("--files", nargs="*", default=FILES, help="files and folders of one's own")

if __name__ == "__main__":
    sys.exit(run(PARSER, measure))
