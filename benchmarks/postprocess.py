"""What post-processing promises, measured: speed, extremes, budgets, real files, the cost of repair, fuzz.

    python benchmarks/postprocess.py                   # every part on a sample, two minutes or so
    python benchmarks/postprocess.py --full            # 3,000 files, 500 budgets, 100,000 fuzz cases
    python benchmarks/postprocess.py speed budget      # some parts

Prints each figure beside its target; the exit code is 1 if a target is missed. Times are of one core (CPU time).
The corpus is what is installed: the standard library and the packages beside it. Masks are like a model's: `blocks`
are runs of 3 to 15 lines anywhere, `long blocks` runs of 20 on average, `functions` whole short functions and runs
of lines in long ones; `random` and `alternating` are unlike any model's and only there to break things.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
from lamr_postprocess import cut_texts, language_named, line_spans, prune_lines, restore
from lamr_postprocess.document import analyse
from lamr_postprocess.render import Style, render
from material import FIGURES, MISSED, blocks, damaged, error_nodes, language_of, python_files, report, words
from postprocess_corpus import corpus
from tqdm import tqdm

warnings.simplefilter("ignore")
FIXTURES = Path(__file__).parent.parent / "tests" / "postprocess" / "fixtures"


def seconds(action: Callable[[], object], repeats: int = 5) -> float:
    """Least CPU time of some calls, after one that doesn't count."""
    action()
    times = []
    for _ in range(repeats):
        began = time.process_time()
        action()
        times.append(time.process_time() - began)
    return min(times)


def speed(_: argparse.Namespace) -> None:
    """From scores to text: 10,000 lines of whole files that parse as one, and the same lines twice."""
    parts: list[str] = []
    for _path, code in python_files(400):
        if 150 < code.count("\n") < 1500 and "from __future__" not in code and not code.startswith("\ufeff"):
            parts.append(code if code.endswith("\n") else code + "\n")
    rng = np.random.default_rng(0)
    once = joined(parts, 10_000)
    mask = blocks(10_000, 0.25, rng, lambda: int(rng.integers(3, 16))).astype(np.float64)
    # Not other files: twice the lines would have more or less than twice the names.
    texts, masks = {10_000: once, 20_000: once + once}, {10_000: mask, 20_000: np.tile(mask, 2)}
    # In turn, so that a busy machine slows both.
    times: dict[int, list[float]] = {count: [] for count in texts}
    for _round in range(5):
        for count, code in texts.items():
            times[count].append(
                seconds(lambda a=code, b=masks[count]: prune_lines(a, b, language="python"), repeats=1)
            )
    least = {count: min(values) for count, values in times.items()}
    report("10,000 lines of Python, scores to text", least[10_000] * 1e3, "ms", 400)
    report("20,000 lines of Python, scores to text", least[20_000] * 1e3, "ms")
    report("20,000 lines / 10,000 lines", least[20_000] / least[10_000], "x", 2.3)
    for count, code in texts.items():
        assert prune_lines(code, masks[count], language="python").note is None, "the text must parse"


def joined(parts: list[str], lines: int) -> str:
    """Whole files up to a number of lines, and comments to come to it."""
    text = ""
    size = 0
    for part in parts:
        count = len(line_spans(part))
        if size + count <= lines:
            text += part
            size += count
    return text + "# the end\n" * (lines - size)


def extremes(_: argparse.Namespace) -> None:
    """Shapes that make quadratic tools crawl."""
    deep = "".join(f"{' ' * i}if x:\n" for i in range(1_000)) + " " * 1_000 + "y = 1\n"
    braces = "".join("{\n" for _ in range(1_000)) + "}\n" * 1_000
    shapes = {
        "one 1 MB line": ("python", "x = [" + "abc, " * 200_000 + "]\n"),
        "one 1 MB line of minified JavaScript": (
            "javascript",
            "var a=function(b){return b+1};" * 34_000 + "\n",
        ),
        "5,000 nested brackets": ("python", "x = " + "[\n" * 5_000 + "]\n" * 5_000),
        "5,000 open brackets": ("python", "(\n" * 5_000),
        "50,000 imports": ("python", "".join(f"import m{i}\n" for i in range(50_000)) + "print(m1)\n"),
        "1,000 levels of indentation": ("python", deep),
        "1,000 levels of braces": ("javascript", braces),
        "20,000 bindings of one name": ("python", "x = x + 1\n" * 20_000),
    }
    for name, (language, code) in shapes.items():
        scores = (np.arange(len(line_spans(code))) % 4 < 2).astype(np.float64)
        took = seconds(lambda a=code, b=scores, c=language: prune_lines(a, b, language=c), repeats=1)
        report(name, took, "s", 2)


def budget(options: argparse.Namespace) -> None:
    """Random files and budgets: never above, well used."""
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
    report(f"budgets exceeded, of {len(used)}", sum(share > 1 for share in used), "", 0)
    report("budget used, median", float(np.median(used)), "")
    report("budget used, 1st percentile", float(np.quantile(used, 0.01)), "", 0.85, at_least=True)
    report("budgets used by less than 85 %", sum(share < 0.85 for share in used), "")


def languages(options: argparse.Namespace) -> None:
    """The fixtures of the other languages, and `--files FOLDER` of real ones: error nodes and the cost of repair."""
    rng = np.random.default_rng(0)
    rounds = 20 if options.full else 4
    found = [path for folder in options.files for path in sorted(Path(folder).rglob("*")) if path.is_file()]
    for group, paths in (("fixtures", sorted(FIXTURES.iterdir())), ("files", found)):
        more: Counter[str] = Counter()
        cases: Counter[str] = Counter()
        costs: dict[str, list[float]] = {}
        for path in paths:
            try:
                code = path.read_bytes().decode("utf-8")
            except UnicodeDecodeError:
                continue
            document = analyse(code, language_named(name)) if (name := language_of(path)) and code else None
            if document is None or len(code) > 400_000:
                continue
            before, lines = error_nodes(code, name), document.spans.shape[0]
            for _ in range(rounds if group == "fixtures" else 1):
                model_like = blocks(lines, 0.25, rng, lambda: int(rng.integers(3, 16)))
                for mask in (model_like, rng.random(lines) < 0.25, rng.random(lines) < 0.03):
                    kept = document.repair(mask) != 0
                    cases[name] += 1
                    more[name] += error_nodes(render(document, kept, Style())[0], name) > before
                    if mask is model_like and lines >= 50:
                        costs.setdefault(name, []).append(float((kept & ~mask).mean()) * 100)
        for name, count in sorted(cases.items()):
            cost = np.quantile(costs.get(name, [0.0]), [0.5, 0.9])
            report(
                f"{name} ({group}): more errors, of {count}",
                more[name],
                "",
                0 if group == "fixtures" else None,
            )
            print(
                f"  repair adds {cost[0]:.1f} % of lines in the median, {cost[1]:.1f} % in the 90th percentile"
            )


def fuzz(options: argparse.Namespace) -> None:
    """Random and damaged texts in every language: no exception, and the original can be rebuilt."""
    chance = random.Random(0)
    seeds = [path.read_text(encoding="utf-8") for path in sorted(FIXTURES.iterdir())]
    seeds += [code for _, code in python_files(20)]
    names = [
        *{language_of(path) for path in FIXTURES.iterdir()},
        "python",
        "text",
        "markdown",
        "diff",
        "yaml",
        None,
    ]
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
            print(f"  {type(error).__name__}: {error} for {name} {code!r:.200}")
            good = False
        failed += not good
    report(f"fuzz cases that fail, of {count:,}", failed, "", 0)


PARTS: dict[str, Callable[[argparse.Namespace], None]] = {
    "speed": speed,
    "extremes": extremes,
    "budget": budget,
    "languages": languages,
    "corpus": corpus,
    "fuzz": fuzz,
}


def main() -> int:
    """Run the parts that were asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="all by default")
    parser.add_argument("--full", action="store_true", help="the whole corpus, which takes an hour")
    parser.add_argument(
        "--count", type=int, help="Python files of `corpus`; default 150, or 3,000 with --full"
    )
    parser.add_argument("--files", nargs="*", default=[], help="folders with real files for `languages`")
    parser.add_argument("--json", action="store_true", help="print the figures as one JSON object")
    options = parser.parse_args()
    with contextlib.redirect_stdout(sys.stderr if options.json else sys.stdout):
        for name in options.parts or PARTS:
            print(f"-- {name}")
            PARTS[name](options)
    if options.json:
        print(json.dumps(FIGURES))
    if MISSED:
        print(f"missed: {', '.join(MISSED)}", file=sys.stderr)
    return 1 if MISSED else 0


if __name__ == "__main__":
    sys.exit(main())
