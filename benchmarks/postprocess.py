"""What post-processing promises, measured: speed, extremes, budgets, real files, the cost of repair, fuzz.

    python -m benchmarks.postprocess                   # every part on a sample, two minutes or so
    python -m benchmarks.postprocess --full            # 3,000 files, 500 budgets, 100,000 fuzz cases
    python -m benchmarks.postprocess speed budget      # some parts

Times are of one core (CPU time). The corpus is what is installed: the standard library and the packages beside it.
Masks are like a model's: `blocks` are runs of 3 to 15 lines anywhere, `long blocks` runs of 20 on average, `functions`
whole short functions and runs of lines in long ones. `random` and `alternating` are unlike any model's and are there to
break things.
"""

from __future__ import annotations

import argparse
import random
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from lamr_postprocess import Language, cut_texts, line_spans, prune_lines, restore
from lamr_postprocess.document import analyse
from lamr_postprocess.render import Style, render
from tqdm import tqdm

from benchmarks.material import damaged, error_nodes, language_of, model_like, words
from benchmarks.postprocess_corpus import corpus
from benchmarks.report import Figure, option_parser, run
from benchmarks.sources import python_files
from benchmarks.timing import time_call, time_in_turns

FIXTURES = sorted((Path(__file__).parents[1] / "tests" / "postprocess" / "fixtures").iterdir())


def speed(_: argparse.Namespace) -> Iterator[Figure]:
    """From scores to text: 10,000 lines of whole files that parse as one, and the same lines twice."""
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


def extremes(_: argparse.Namespace) -> Iterator[Figure]:
    """Shapes that make quadratic tools crawl."""
    deep = "".join(f"{' ' * i}if x:\n" for i in range(1_000)) + " " * 1_000 + "y = 1\n"
    braces = "{\n" * 1_000 + "}\n" * 1_000
    minified = "var a=function(b){return b+1};" * 34_000 + "\n"
    shapes = {
        "one 1 MB line": ("python", "x = [" + "abc, " * 200_000 + "]\n"),
        "one 1 MB line of minified JavaScript": ("javascript", minified),
        "5,000 nested brackets": ("python", "x = " + "[\n" * 5_000 + "]\n" * 5_000),
        "5,000 open brackets": ("python", "(\n" * 5_000),
        "50,000 imports": ("python", "".join(f"import m{i}\n" for i in range(50_000)) + "print(m1)\n"),
        "1,000 levels of indentation": ("python", deep),
        "1,000 levels of braces": ("javascript", braces),
        "20,000 bindings of one name": ("python", "x = x + 1\n" * 20_000),
    }
    for name, (language, code) in shapes.items():
        scores = (np.arange(len(line_spans(code))) % 4 < 2).astype(np.float64)
        timing = time_call(partial(prune_lines, code, scores, language=language), 1)
        yield Figure(name, timing.cpu_median, "s", 2)


def budget(options: argparse.Namespace) -> Iterator[Figure]:
    """Random files and budgets: never exceeded, and well used."""
    rng = np.random.default_rng(0)
    used = []
    pairs = 500 if options.full else 60
    for path, code in python_files(pairs * 2):
        total = words(code)
        if total < 200:
            continue
        limit = int(rng.integers(100, total))
        scores = np.convolve(rng.random(len(line_spans(code)) + 8), np.ones(9) / 9, "valid")
        pruned = prune_lines(code, scores, path=str(path), max_tokens=limit, count_tokens=words)
        used.append(words(pruned.text) / limit)
        if len(used) == pairs:
            break
    yield Figure(f"budgets exceeded, of {len(used)}", sum(share > 1 for share in used), "", 0)
    yield Figure("budget used, median", float(np.median(used)))
    yield Figure("budget used, 1st percentile", float(np.quantile(used, 0.01)), "", 0.85, at_least=True)
    yield Figure("budgets used by less than 85 %", sum(share < 0.85 for share in used))


def languages(options: argparse.Namespace) -> Iterator[Figure]:
    """The fixtures of the other languages, and `--files FOLDER` of real ones: error nodes and the cost of repair."""
    files = [path for folder in options.files for path in sorted(Path(folder).rglob("*")) if path.is_file()]
    yield from language_figures("fixtures", FIXTURES, 20 if options.full else 4, 0)
    yield from language_figures("files", files, 1, None)


def language_figures(group: str, paths: list[Path], rounds: int, target: float | None) -> Iterator[Figure]:
    """For each language of a group of files: cases with more errors than before, and what repair adds."""
    rng = np.random.default_rng(0)
    worse: Counter[str] = Counter()
    cases: Counter[str] = Counter()
    costs: dict[str, list[float]] = {}
    for path in paths:
        language, code = language_of(path), decoded(path)
        if language is None or not code or len(code) > 400_000:
            continue
        counts = mask_counts(code, language, rounds, rng)
        worse[language.name] += counts.worse
        cases[language.name] += 3 * rounds
        costs.setdefault(language.name, []).extend(counts.costs)
    for name, count in sorted(cases.items()):
        median, most = np.quantile(costs[name] or [0.0], [0.5, 0.9]).tolist()
        yield Figure(f"{name} ({group}): more errors, of {count}", worse[name], "", target)
        yield Figure(f"  {name} ({group}): repair adds, median of lines", median, "%")
        yield Figure(f"  {name} ({group}): repair adds, 90th percentile", most, "%")


@dataclass
class MaskCounts:
    """One file under several masks.

    Attributes:
        worse: cases in which the pruned text has more error nodes than the file.
        costs: percent of the lines that repair adds, for each mask like a model's in a file of 50 lines or more.
    """

    worse: int
    costs: list[float]


def mask_counts(code: str, language: Language, rounds: int, rng: np.random.Generator) -> MaskCounts:
    """Prune a file under three masks a round: one like a model's, a quarter of the lines, and a few."""
    document, before = analyse(code, language), error_nodes(code, language)
    lines = document.spans.shape[0]
    counts = MaskCounts(0, [])
    for _ in range(rounds):
        wanted = model_like(lines, rng)
        for mask in (wanted, rng.random(lines) < 0.25, rng.random(lines) < 0.03):
            kept = document.repair(mask) != 0
            counts.worse += error_nodes(render(document, kept, Style())[0], language) > before
            if mask is wanted and lines >= 50:
                counts.costs.append(float((kept & ~mask).mean()) * 100)
    return counts


def decoded(path: Path) -> str | None:
    """A file's text, or None if it isn't UTF-8."""
    try:
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        return None


def fuzz(options: argparse.Namespace) -> Iterator[Figure | str]:
    """Random and damaged texts in every language: no exception, and the original can be rebuilt."""
    chance = random.Random(0)
    seeds = [path.read_text(encoding="utf-8") for path in FIXTURES]
    seeds += [code for _, code in python_files(20)]
    fixtures = sorted({language.name for path in FIXTURES if (language := language_of(path))})
    names = [*fixtures, "python", "text", "markdown", "diff", "yaml", None]
    alphabet = "abc def:()[]{}<>\"'`\\#/*\n\r\t @=,;.x1\ufeff\0é\x0c\u2028$%&|!?-+"
    count = 100_000 if options.full else 2_000
    failed = 0
    for _ in tqdm(range(count), unit="text", disable=None):
        code = damaged(seeds, alphabet, chance)
        scores = [chance.random() for _ in range(len(line_spans(code)))]
        name = chance.choice(names)
        try:
            pruned = prune_lines(code, scores, language=name, threshold=chance.choice([0.1, 0.5, 0.9]))
            good = restore(pruned, cut_texts(code, pruned)) == code
        except Exception as error:
            yield f"  {type(error).__name__}: {error} for {name} {code!r:.200}"
            good = False
        failed += not good
    yield Figure(f"fuzz cases that fail, of {count:,}", failed, "", 0)


PARTS: dict[str, Callable[[argparse.Namespace], Iterator[Figure | str]]] = {
    "speed": speed,
    "extremes": extremes,
    "budget": budget,
    "languages": languages,
    "corpus": corpus,
    "fuzz": fuzz,
}


def measure(options: argparse.Namespace) -> Iterator[Figure | str]:
    """The parts that were asked for, in their order."""
    warnings.simplefilter("ignore")  # invalid escapes in other people's files
    for name in options.parts or PARTS:
        yield f"-- {name}"
        yield from PARTS[name](options)


PARSER = option_parser(__doc__)
PARSER.add_argument("parts", nargs="*", choices=[*PARTS, []], help="all by default")
PARSER.add_argument("--full", action="store_true", help="the whole corpus, which takes an hour")
PARSER.add_argument("--count", type=int, help="Python files of `corpus`; default 150, or 3,000 with --full")
PARSER.add_argument("--files", nargs="*", default=[], help="folders with real files for `languages`")

if __name__ == "__main__":
    sys.exit(run(PARSER, measure))
