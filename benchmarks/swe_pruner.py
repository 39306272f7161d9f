"""Whether LaMR serves SWE-Pruner's checkpoints as SWE-Pruner does: the same lines, the same text, and how fast.

    git clone https://github.com/Ayanami1314/swe-pruner CHECKOUT
    python -m benchmarks.swe_pruner CHECKOUT [--code FILE ...] [--triton] [--speed] [--json]

For random checkpoints of two sizes, files are pruned by SWE-Pruner's own code in fp32 and by LaMR, with `emission`
scoring, with `paper` scoring and with chunks of 2,048 tokens. A line is on the same side if both score it at least .5,
or neither does. Files are modules of Python's standard library, and whatever `--code` names.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from lamr_client import Pruner, PruneResult
from lamr_export import export_repository
from lamr_serving import ServerOptions, TritonServer

from benchmarks.anew import reading_anew
from benchmarks.report import Figure, option_parser, run
from benchmarks.swe_pruner_reference import SIZES, Answer, Reference, write_checkpoint

LIBRARY = Path(sysconfig.get_paths()["stdlib"])
# The last one is longer than a window.
MODULES = (
    "abc",
    "bisect",
    "code",
    "colorsys",
    "copy",
    "fnmatch",
    "getpass",
    "glob",
    "keyword",
    "linecache",
    "queue",
)
MODULES += ("sched", "shelve", "functools")
QUESTIONS = (
    "Where is the error handled?",
    "how are values compared",
    "Which function reads its input, and how?\n",
)
VARIANTS: dict[str, dict[str, str | int]] = {
    "emission": {},
    "paper": {"scoring": "paper"},
    "emission, chunks of 2,048": {"chunk_tokens": 2048},
}
THRESHOLD = 0.5
LEAST_AGREEMENT = 99.9
ROUNDING = 1e-4
"""Scores this close to the threshold may fall on either side, because sums are taken in another order."""


@dataclass
class Agreement:
    """What two pruners made of the same files."""

    files: int = 0
    lines: int = 0
    other_side: int = 0
    by_rounding: int = 0
    same_selection: int = 0
    same_text: int = 0
    largest: float = 0.0

    def add(self, theirs: Answer, ours: PruneResult) -> None:
        """Count one file; a line that theirs gives no score isn't kept by it, as one of score 0."""
        scores, other = np.nan_to_num(theirs.scores, nan=0.0), np.array(ours.line_scores)
        if len(scores) != len(other):
            raise ValueError("the two count lines differently; leave files with form feeds out")
        differ = (scores >= THRESHOLD) != (other >= THRESHOLD)
        self.files += 1
        self.lines += len(scores)
        self.other_side += int(differ.sum())
        self.by_rounding += int((differ & (np.abs(scores - THRESHOLD) < ROUNDING)).sum())
        self.largest = max(self.largest, float(np.abs(scores - other).max(initial=0.0)))
        if ours.kept_lines == theirs.kept:
            self.same_selection += 1
            self.same_text += ours.text == theirs.text

    def figures(self, name: str, exact: bool) -> Iterator[Figure]:
        """The table's rows; `exact` ones have targets."""
        agreement = 100 * (1 - self.other_side / max(self.lines, 1))
        yield Figure(
            f"{name}: lines on the same side",
            agreement,
            "%",
            LEAST_AGREEMENT if exact else None,
            at_least=True,
        )
        yield Figure(
            f"{name}: other lines, not explained by rounding",
            self.other_side - self.by_rounding,
            target=0 if exact else None,
        )
        yield Figure(f"{name}: largest difference of a line's score", self.largest)
        yield Figure(f"{name}: files of {self.files} with the same selection", self.same_selection)
        yield Figure(
            f"{name}: of these, with another text",
            self.same_selection - self.same_text,
            target=0 if exact else None,
        )


def codes(files: list[Path]) -> list[tuple[str, str]]:
    """Question and code of every file."""
    paths = [*(LIBRARY / f"{module}.py" for module in MODULES), *files]
    texts = [path.read_bytes().decode() for path in paths]
    return [(QUESTIONS[place % len(QUESTIONS)], text) for place, text in enumerate(texts)]


def pruned(pruner: Pruner, query: str, code: str) -> PruneResult:
    """The selection alone, with SWE-Pruner's text."""
    return pruner.prune(query, code, language="text", repair=False, markers="swe-pruner", effort="full")


def compare(
    repository: Path, items: list[tuple[str, str]], answers: list[Answer], server: str | None = None
) -> Agreement:
    """Prune every file with a repository and compare."""
    agreement = Agreement()
    with Pruner(server, model=repository, timeout=3600) as pruner:
        for (query, code), answer in zip(items, answers, strict=True):
            agreement.add(answer, pruned(pruner, query, code))
    return agreement


@contextlib.contextmanager
def served(repository: Path) -> Iterator[str]:
    """The gRPC address of a Triton that serves a repository."""
    with TritonServer(repository, ServerOptions()) as server:
        yield server.addresses.grpc


def speed(reference: Reference, repository: Path, size: str) -> Iterator[Figure]:
    """Seconds for files of three lengths, of SWE-Pruner's service as it is and of LaMR, each the best of two."""
    for module in ("fnmatch", "queue", "functools"):
        code = (LIBRARY / f"{module}.py").read_text(encoding="utf-8")
        with reading_anew(repository) as pruner:
            tokens = pruned(pruner, QUESTIONS[0], code).tokens_in
            ours = min(_seconds(lambda: pruned(pruner, QUESTIONS[0], code)) for _ in range(2))  # noqa: B023
        theirs = min(_seconds(lambda: reference.serve(QUESTIONS[0], code)) for _ in range(2))  # noqa: B023
        yield Figure(f"{size}: {tokens:,} tokens, SWE-Pruner's service", theirs, "s")
        yield Figure(f"{size}: {tokens:,} tokens, LaMR in process", ours, "s")


def _seconds(call: Callable[[], object]) -> float:
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun


def measure(options: argparse.Namespace) -> Iterator[Figure | str]:
    """Compare both sizes in all variants, and with Triton where it is asked for."""
    items = codes(options.code)
    yield Figure("files", len(items))
    with tempfile.TemporaryDirectory() as folder:
        for size in options.size:
            root = Path(folder, size)
            write_checkpoint(root / "checkpoint", options.checkout, SIZES[size])
            reference = Reference(options.checkout, root / "checkpoint")
            answers = [reference.answer(query, code) for query, code in items]
            kept = np.concatenate([answer.scores >= THRESHOLD for answer in answers]).mean()
            yield Figure(f"{size}: lines that SWE-Pruner keeps", 100 * float(kept), "%")
            yield Figure(f"{size}: files of several chunks", sum(answer.chunks > 1 for answer in answers))
            for variant, choice in VARIANTS.items():
                repository = root / variant
                # Verified on a short file: what this program compares shows more.
                export_repository(root / "checkpoint", repository, texts=items[:1], **choice)
                exact = not choice
                name = f"{size}, {variant}"
                yield from compare(repository, items, answers).figures(name, exact)
                if exact and options.triton:
                    with served(repository) as server:
                        agreement = compare(repository, items, answers, server)
                    yield from agreement.figures(f"{name}, Triton", exact)
            if options.speed:
                yield from speed(reference, root / "emission", size)


PARSER = option_parser(__doc__)
PARSER.add_argument("checkout", type=Path, help="a checkout of SWE-Pruner's public repository")
PARSER.add_argument("--code", type=Path, nargs="+", default=[], help="further files, of any language")
PARSER.add_argument("--size", nargs="+", choices=SIZES, default=[*SIZES], help="sizes of checkpoints (all)")
PARSER.add_argument("--triton", action="store_true", help="compare through a Triton as well")
PARSER.add_argument("--speed", action="store_true", help="time both on three files")

if __name__ == "__main__":
    sys.exit(run(PARSER, measure))
