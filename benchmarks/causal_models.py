"""How fast causal models are read, and whether they rank alike.

    python -m benchmarks.causal_models MODEL... [--speed]

Each MODEL is what `lamr compress --model` takes. Modules of the standard library are ranked for a question each, and
compared with the first model's ranks; speeds are tokens a second of this process's CPU time, so that a server's count
only by the clock.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import time
from collections.abc import Iterator, Sequence

import numpy as np
from lamr_cli.scorers import scorer_of
from lamr_contract.perplexity.causal_scorer import CausalScorer, IntArray
from lamr_repositories.compression import Compression, CompressionOptions, compress

from benchmarks.report import Figure, option_parser, run

QUESTIONS = {
    "bisect": "Where does insort put equal values?",
    "fnmatch": "How is a pattern with brackets translated?",
    "graphlib": "How is a cycle found?",
    "heapq": "How are several sorted inputs merged?",
    "linecache": "When is a cached file read again?",
    "queue": "What happens when a full queue is put to with a timeout?",
    "quopri": "How is a soft line break decoded?",
    "sched": "How are two events at the same time ordered?",
    "shlex": "How is an unclosed quotation noticed?",
    "textwrap": "How is a word that is longer than the width broken?",
}
OPTIONS = CompressionOptions(rate=0.3, rank_only=True)


def measure(options: argparse.Namespace) -> Iterator[Figure | str]:
    """How much of its ranks each model shares with the first, and how fast it reads each shape of question."""
    first: list[Compression] = []
    for named in options.models:
        with scorer_of(named) as scorer:
            found = [_ranked(scorer, module) for module in QUESTIONS]
            first = first or found
            yield from _alike(scorer.name, first, found)
            if options.speed:
                yield from _speeds(scorer)


def _ranked(scorer: CausalScorer, module: str) -> Compression:
    code = inspect.getsource(importlib.import_module(module))
    return compress(code, QUESTIONS[module], scorer, OPTIONS, path=f"{module}.py")


def _alike(name: str, ours: Sequence[Compression], theirs: Sequence[Compression]) -> Iterator[Figure]:
    pairs = list(zip(ours, theirs, strict=True))
    yield Figure(f"{name}: files", len(pairs))
    yield Figure(f"{name}: with the same order", sum(a.order == b.order for a, b in pairs))
    yield Figure(f"{name}: with the same best function", sum(a.order[0] == b.order[0] for a, b in pairs))
    yield Figure(f"{name}: with the same text", sum(a.text == b.text for a, b in pairs))
    turned = together = 0
    for a, b in pairs:
        scores = [np.array([chunk.score for chunk in each.chunks]) for each in (a, b)]
        one, other = (np.sign(values[:, None] - values[None]) for values in scores)
        turned += int((one * other < 0).sum()) // 2
        together += len(scores[0]) * (len(scores[0]) - 1) // 2
    yield Figure(f"{name}: pairs of functions", together)
    yield Figure(f"{name}: pairs the other way", turned)


def _speeds(scorer: CausalScorer) -> Iterator[Figure]:
    ids = scorer.encode(inspect.getsource(argparse))
    shapes: dict[str, tuple[list[IntArray], list[int] | None]] = {
        f"{length} tokens, {what}": ([ids[:length]], firsts)
        for length in (256, 1024, 2048)
        for what, firsts in (("all asked", None), ("the last 20 asked", [length - 20]))
    }
    ends = [ids[3000 + 20 * place :][:20] for place in range(16)]
    shapes["4 texts of 20 after 1,000"] = (
        [np.concatenate([ids[:1000], end]) for end in ends[:4]],
        [1000] * 4,
    )
    shapes["20 after 250, 16 times"] = (
        [np.concatenate([ids[50 * place :][:250], end]) for place, end in enumerate(ends)],
        [250] * 16,
    )
    for shape, (sequences, firsts) in shapes.items():
        if max(map(len, sequences)) > scorer.max_tokens:
            continue
        cpu, clock = time.process_time(), time.perf_counter()
        scorer.log_probs(sequences, firsts)
        cpu, clock = time.process_time() - cpu, time.perf_counter() - clock
        yield Figure(f"{scorer.name}: {shape}, CPU", cpu, "s")
        yield Figure(f"{scorer.name}: {shape}, by the clock", clock, "s")
        yield Figure(f"{scorer.name}: {shape}, tokens a second of CPU", sum(map(len, sequences)) / cpu)


PARSER = option_parser(__doc__)
PARSER.add_argument("models", nargs="+", help="the first is what the others are compared with")
PARSER.add_argument("--speed", action="store_true", help="measure speeds as well")

if __name__ == "__main__":
    raise SystemExit(run(PARSER, measure))
