"""What each part of a model's line scores brings, and what its chain does to the path that decides.

    python -m benchmarks.ingredients RECORDS [RECORDS ...] [--repository DIR] [--most 100] [--json]

RECORDS is a JSONL file, as `lamr corpus` and `lamr label` write it; records of projects that a model hasn't learned
from tell something. Two tables come out for each file. The first ranks lines, before any repair: recall of the gold
lines in a quarter of the file, and the area under recall against what is kept. Its weights of relevance, lexical
evidence and blocks are lamr-mini 0.6's, the same for every file. The second has Viterbi's path alone, with its repair,
and beside it independent tokens, whose bias is fitted until they keep as many lines.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np
from lamr_contract.encoding import PromptEncoder
from lamr_contract.local_model import LocalModel
from lamr_contract.names import DECODER, KEEP_PROB, RELEVANCE, WEIGHTS_FILE, version_folder
from lamr_contract.scoring.odds import logit
from lamr_contract.scoring.rules import BLOCK, LEXICAL, SEMANTIC, Scoring
from lamr_decoding import DecoderWeights
from lamr_evaluation.metrics import recall_curve
from lamr_evaluation.records import read_records
from lamr_training.recipes.keep_bias import bisect
from lamr_training.recipes.scoring_fit import ScoredFile, compare, requests_of, selection
from numpy.typing import NDArray

from benchmarks.report import Figure, model_options, run

PAPER = Scoring("paper")
_CHAIN = {SEMANTIC: 1.0}
_FILE = {**_CHAIN, RELEVANCE: 0.5}
FUSED = Scoring("relative", {KEEP_PROB: 1.0})
PARTS = {
    "the fused chain": FUSED,
    "the semantic chain": Scoring("relative", _CHAIN),
    "and the chunks' relevance": Scoring("relative", _FILE),
    "and lexical evidence": Scoring("relative", {**_FILE, LEXICAL: 3.0}),
    "and blocks": Scoring("relative", {**_FILE, LEXICAL: 3.0, BLOCK: 0.6}),
}
"""The scoring of each row that has the chain and isn't the repository's own."""


@dataclass(frozen=True, eq=False)
class Chained:
    """One file as the fused chain decides, and as its tokens decide alone.

    Attributes:
        chained, alone: the model's answers about the file with its chain, and with a chain of zeros.
    """

    chained: ScoredFile
    alone: ScoredFile

    def independent(self, bias: float) -> ScoredFile:
        """Return the file with the decisions of independent tokens, whose emissions for keep have a bias."""
        results = [
            replace(result, keep=(logit(result.keep_prob) + bias > 0).astype(np.uint8))
            for result in self.alone.results
        ]
        return replace(self.alone, results=results)


def models(options: argparse.Namespace) -> tuple[LocalModel, LocalModel]:
    """Load the repository's model with its chain, and with a chain of zeros."""
    weights = DecoderWeights.load(version_folder(options.repository, DECODER) / WEIGHTS_FILE)
    with_chain, without = (
        LocalModel(options.repository, threads=options.threads, weights=each)
        for each in (weights, weights.without_chain())
    )
    return with_chain, without


def chained_files(
    both: tuple[LocalModel, LocalModel], path: Path, most: int, encoder: PromptEncoder
) -> Iterator[Chained]:
    """Yield the first files of some records that hold an answer, decoded with and without the chain."""
    answered = (record for record in read_records(path) if record.kept_frags)
    for record in islice(answered, most):
        requests, ranges, document = requests_of(encoder, record)
        if requests:
            yield Chained(
                *(ScoredFile(record, ranges, model.infer_many(requests), document) for model in both)
            )


def ranked(files: Sequence[Chained], encoder: PromptEncoder) -> Iterator[tuple[str, float, float]]:
    """Yield each part's name, and the means of its recall in a quarter of the lines and of its area."""
    rubrics = encoder.spec.rubrics

    def row(name: str, scored: Sequence[ScoredFile], scoring: Scoring) -> tuple[str, float, float]:
        report = compare(scored, scoring, rubrics, encoder.spec.threshold)
        return name, report.recall_25, report.area

    chained = [file.chained for file in files]
    curves = [recall_curve(file.document.views.mean(), *file.gold()) for file in chained]
    recall = float(np.mean([curve.at([0.25]) for curve in curves]))
    yield "lexical evidence alone", recall, float(np.mean([curve.area for curve in curves]))
    yield row("tokens that decide alone", [file.alone for file in files], FUSED)
    for name, scoring in {**PARTS, "all that this repository weighs": encoder.spec.scoring}.items():
        yield row(name, chained, scoring)


def run_lengths(decisions: Sequence[NDArray[np.uint8]]) -> NDArray[np.int64]:
    """Return how long each run of kept tokens is."""
    edges = [np.flatnonzero(np.diff(np.concatenate([[0], each, [0]]).astype(np.int8))) for each in decisions]
    return np.concatenate([np.diff(each)[::2] for each in edges])


def decided(files: Sequence[Chained], encoder: PromptEncoder) -> Iterator[tuple[str, float, float, float]]:
    """Yield the name of each way to decide: recall and share of lines, repair included, and the mean run of tokens."""
    rubrics, threshold = encoder.spec.rubrics, encoder.spec.threshold

    def row(name: str, scored: Sequence[ScoredFile]) -> tuple[str, float, float, float]:
        runs = run_lengths([result.keep for file in scored for result in file.results])
        return name, *selection(scored, PAPER, rubrics, threshold), float(runs.mean())

    chain = row("the fused chain's path", [file.chained for file in files])

    def kept(bias: float) -> float:
        return selection([file.independent(bias) for file in files], PAPER, rubrics, threshold)[1]

    bias = bisect(kept, chain[2])
    yield chain
    yield row("independent tokens", [file.independent(bias) for file in files])


def measure(options: argparse.Namespace) -> Iterator[Figure | str]:
    """Measure every file of records."""
    encoder = PromptEncoder.from_repository(options.repository)
    both = models(options)
    for path in options.records:
        files = list(chained_files(both, path, options.most, encoder))
        yield f"{path.name}: {len(files)} files"
        yield Figure(f"{path.stem}, files", len(files))
        for name, recall, area in ranked(files, encoder):
            yield Figure(f"{path.stem}, {name}: R@25", recall)
            yield Figure(f"{path.stem}, {name}: area", area)
        for name, recall, kept, length in decided(files, encoder):
            yield Figure(f"{path.stem}, {name}: recall", recall)
            yield Figure(f"{path.stem}, {name}: lines kept", 100 * kept, "%")
            yield Figure(f"{path.stem}, {name}: mean run", length, "tokens")


PARSER = model_options(__doc__)
PARSER.add_argument("records", type=Path, nargs="+", help="JSONL files of records", metavar="RECORDS")
PARSER.add_argument(
    "--most", type=int, default=100, help="files with gold lines to take of each (%(default)s)"
)

if __name__ == "__main__":
    sys.exit(run(PARSER, measure))
