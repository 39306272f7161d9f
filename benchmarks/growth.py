"""How post-processing grows with a text: time when its lines double, and memory for a megabyte.

    python -m benchmarks.growth [--lines N] [--languages NAME ...] [--shapes NAME ...] [--memory] [--ratio R]
    python -m benchmarks.growth --within SECONDS ... [--effort NAME] [--texts N]

Every language that has a grammar reads every text, so that most texts are another language's. Scores are given, and
times are CPU times. A factor counts where the longer text takes 50 ms.

With `--within`, a pruner gets so much time for each of some of these texts, of 30 and 90 kB. Its clock is the CPU time
of the process, with one thread, so that a busy machine makes no answer late."""

import argparse
import json
import os
import random
import resource
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
from lamr_client import InProcessTransport, Pruner
from lamr_model.spec import bundled_repository
from lamr_postprocess import line_spans, prune_lines
from lamr_postprocess.languages import LANGUAGES, Language

from benchmarks.report import Figure, option_parser, run

FIXTURES = Path(__file__).resolve().parents[1] / "tests/postprocess/fixtures"
MEGABYTE = 1_000_000
_LEAST_SECONDS, _MOST_SECONDS = 0.05, 300
_MOST_LATE = 0.1  # seconds

# Each is repeated, with a number of its own in the place of `%`.
UNITS = {
    "assignments": "a% = b% + 1\n",
    "uses of one name": "total = total + value_%\n",
    "imports of all": "from m% import *\nprint(x%)\n",
    "imports": "import a%.b\n",
    "calls": "call(a%, (b, [c]), {})\n",
    "functions of Python": "def f%(a, b):\n    return a + b\n\n",
    "functions of C": "int f%(int a)\n{\n    if (a) { return a; }\n    return %;\n}\n",
    "functions of JavaScript": "function f%(a) {\n  return () => g(a, %);\n}\n",
    "classes": "class A% {\n    int f() { return %; }\n}\n",
    "headers without bodies": "def f%(a, b:\n",
    "half functions": "int f%(int a) {\n    if (a == %) {\n        return 1;\n    }\n",
    "ends": "}\n",
    "closed brackets": ")]\n",
    "opened and closed": "a% {\n}\n",
    "ifs": "if a%:\n",
    "decorators": "@a%\n",
    "double quotes": '"\n',
    "strings": 'a% = "it\'s %"\n',
    "single quotes": "'\n",
    "back quotes": "`a%\n",
    "comments of C": "/* a% */ b;\n",
    "opened comments": "/* a%\n",
    "conditions": "#if A%\nint a%;\n#endif\n",
    "opened conditions": "#if A%\n",
    "conflicts": "<<<<<<< a\nb% = 1\n=======\nb% = 2\n>>>>>>> c\n",
    "here-documents": "cat <<E%\na\nE%\n",
    "tags": "<a id='%'><b>c</b></a>\n",
    "opened tags": "<a%>\n",
    "template": "{{ a% }}{{#if b}}c{{/if}}\n",
    "JSON": '{"a%": [1, {"b": null}]},\n',
    "keys": "a%:\n  - b: c\n    d: [%]\n",
    "headings": "# a%\n\n- b `c%`\n\n| d | e |\n",
    "log": "2024-01-02 12:00:%,% [w-%] INFO a.B$C: (status: 200) \"GET /d?e=%\" <f>\n",
    "prose": "It's the % of \"these\" things; yes, don't (see below) do that.\n",
    "table": "%,\"name %\",it's,0.5\n",
    "base 64": "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo%/+=\n",
}  # fmt: skip
OWN = "its own"


def text_of(shape: str, language: Language, lines: int) -> str:
    """A text of so many lines."""
    if shape == OWN:
        endings = tuple(language.suffixes)
        found = next((each for each in sorted(FIXTURES.iterdir()) if each.name.endswith(endings)), None)
        unit = found.read_text(encoding="utf-8") if found else ""
    else:
        unit = UNITS[shape]
    if not unit:
        return ""
    count = -(-lines // unit.count("\n"))
    texts = (unit if shape == OWN else unit.replace("%", str(number)) for number in range(count))
    return "".join("".join(texts).splitlines(keepends=True)[:lines])


def seconds(text: str, language: Language, ratio: float | None = None) -> float:
    """CPU time of one pruning whose scores are given, within a budget where there is a ratio."""
    scores = np.random.default_rng(0).random(len(line_spans(text)))
    begin = time.process_time()
    prune_lines(text, scores, language=language.name, threshold=None if ratio else 0.7, ratio=ratio)
    return time.process_time() - begin


def alone(
    language: Language, shape: str, lines: int, *, memory: bool, ratio: float | None = None
) -> list[float]:
    """Times of 1, 2 and 4 times the lines, or MB of a megabyte, in a process of its own; nothing if that ended."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (_MOST_SECONDS, _MOST_SECONDS))
        if memory:
            text = text_of(shape, language, lines)
            text = (text * (MEGABYTE // max(len(text), 1) + 1))[:MEGABYTE]
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            seconds(text, language)
            found = [(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1e3]
        else:
            found = [seconds(text_of(shape, language, times * lines), language, ratio) for times in (1, 2, 4)]
        os.write(writing, json.dumps(found).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        data = stream.read()
    os.waitpid(child, 0)
    return list(json.loads(data)) if data else []


def measure(options: argparse.Namespace) -> Iterator[Figure]:
    """Growth, or with `within` lateness."""
    yield from lateness(options) if options.within else growth(options)


def lateness(options: argparse.Namespace) -> Iterator[Figure]:
    """How many answers are late, and the worst, by each time that a call may take."""
    time.monotonic = time.process_time
    rng = random.Random(0)
    languages = [each for each in LANGUAGES if each.grammar]
    cases = [
        (rng.choice(languages), rng.choice([*UNITS]), rng.choice((30, 90))) for _ in range(options.texts)
    ]
    with Pruner(transport=InProcessTransport(bundled_repository(), threads=1)) as pruner:
        pruner.prune("what", "x = 1\n" * 50, path="a.py", effort="full")
        for within in options.within:
            late = list[float]()
            for number, (language, shape, size) in enumerate(cases):
                text = f"{number} {within}\n{text_of(shape, language, 20_000)[: size * 1_000]}"
                begin = time.process_time()
                asked = {"language": language.name, "effort": options.effort, "within": within}
                pruner.prune(f"How is a{number} read?", text, **asked)
                late.append(time.process_time() - begin - within)
                print(
                    f"{within}\t{language.name}\t{shape}\t{size}\t{late[-1]:.3f}", file=sys.stderr, flush=True
                )
            yield Figure(
                f"within {within} s: late by more than 0.1 s", sum(each > _MOST_LATE for each in late), "", 0
            )
            yield Figure(f"within {within} s: the latest", 1e3 * max(late), "ms")


def growth(options: argparse.Namespace) -> Iterator[Figure]:
    """The worst shape of each language, and on stderr every case."""
    shapes: Sequence[str] = options.shapes or [OWN, *UNITS]
    for language in LANGUAGES:
        if not language.grammar or (options.languages and language.name not in options.languages):
            continue
        for warming in (OWN, *UNITS):
            seconds(text_of(warming, language, 100), language)
        worst = (0.0, "nothing")
        for shape in shapes:
            found = alone(language, shape, options.lines, memory=options.memory, ratio=options.ratio)
            if options.memory:
                value = found[0] if found else float("inf")
            elif found:
                value = max((b / a for a, b in pairwise(found) if b > _LEAST_SECONDS), default=0.0)
            else:
                value = float("inf")
            worst = max(worst, (value, shape))
            print(f"{language.name}\t{shape}\t{value:.2f}\t{found}", file=sys.stderr, flush=True)
        unit, target = ("MB", 300.0) if options.memory else ("x", 2.3)
        yield Figure(f"{language.name}: {worst[1]}", worst[0], unit, target)


PARSER = option_parser(__doc__)
PARSER.add_argument("--lines", type=int, default=1_000, help="of the shortest text")
PARSER.add_argument("--languages", nargs="+")
PARSER.add_argument("--shapes", nargs="+", choices=[OWN, *UNITS])
PARSER.add_argument("--memory", action="store_true", help="measure memory instead")
PARSER.add_argument("--ratio", type=float, help="a budget, as `prune_lines` takes it")
PARSER.add_argument("--within", type=float, nargs="+", help="measure lateness instead")
PARSER.add_argument("--effort", default="instant", help="(%(default)s)")
PARSER.add_argument("--texts", type=int, default=100, help="(%(default)s)")

if __name__ == "__main__":
    sys.exit(run(PARSER, measure))
