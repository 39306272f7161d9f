"""What each part of a model's line scores brings, and what its chain does to the path that decides.

    python -m benchmarks.ingredients RECORDS [RECORDS ...] [--repository DIR] [--most 100] [--json]

RECORDS is a JSONL file, as `lamr corpus` and `lamr label` write it; records of projects that a model hasn't learned
from tell something. Two tables come out for each file. The first ranks lines, before any repair: recall of the gold
lines in a quarter of the file, and the area under recall against what is kept. The second has Viterbi's path alone,
with its repair, and beside it independent tokens, whose bias is fitted until they keep as many lines.
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
from lamr_contract.scoring.encoder_reading import RUBRICS
from lamr_contract.scoring.evidence import lexical_views
from lamr_contract.scoring.odds import logit
from lamr_contract.scoring.rules import PAPER, SEMANTIC, Scoring
from lamr_contract.scoring.scorer import Scorer
from lamr_contract.words import TermIndex, query_terms
from lamr_decoding import DecoderWeights
from lamr_evaluation.metrics import recall_curve
from lamr_evaluation.records import read_records
from lamr_training.fits.keep_bias import bisect
from lamr_training.fits.scored_files import ScoredFile, asked_document, compare, requests_of, selection
from numpy.typing import NDArray

from benchmarks.report import Figure, model_options, run

OUTPUTS = (*RUBRICS, RELEVANCE, KEEP_PROB)
"""The columns of what the line model reads of an encoder."""
_RELEVANCE_WEIGHT = 0.5  # of the chunks' relevance beside a chain
PARTS = {
    "the fused chain": {KEEP_PROB: 1.0},
    "the semantic chain": {SEMANTIC: 1.0},
    "and the chunks' relevance": {SEMANTIC: 1.0, RELEVANCE: _RELEVANCE_WEIGHT},
}
"""The weights of the outputs that rank lines in each row with the chain; outputs are standardized over the file."""


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
        asked = asked_document(encoder, record)
        requests, ranges = requests_of(encoder, asked)
        if requests:
            yield Chained(*(ScoredFile(record, asked, ranges, model.infer_many(requests)) for model in both))


def ranked(
    files: Sequence[Chained], encoder: PromptEncoder, scorer: Scorer
) -> Iterator[tuple[str, float, float]]:
    """Yield each part's name, and the means of its recall in a quarter of the lines and of its area."""
    rubrics, chained = scorer.rubrics, [file.chained for file in files]

    def row(name: str, scored: Sequence[ScoredFile], weights: dict[str, float]) -> tuple[str, float, float]:
        return name, *_means(scored, [_weighed(file, rubrics, weights) for file in scored])

    yield "lexical evidence alone", *_means(chained, [_evidence(file) for file in chained])
    yield row("tokens that decide alone", [file.alone for file in files], {KEEP_PROB: 1.0})
    for name, weights in PARTS.items():
        yield row(name, chained, weights)
    report = compare(chained, scorer, encoder.spec.threshold)
    yield "all that this repository weighs", report.recall_25, report.area


def _weighed(file: ScoredFile, rubrics: Sequence[str], weights: dict[str, float]) -> NDArray[np.float64]:
    """The weighted sum of outputs, each standardized over the file's lines, float64 [L]."""
    columns = file.reading(rubrics)[:, [OUTPUTS.index(name) for name in weights]].astype(np.float64)
    spread = np.maximum(columns.std(axis=0), 1e-6)
    summed: NDArray[np.float64] = (columns - columns.mean(axis=0)) / spread @ np.array(list(weights.values()))
    return summed


def _evidence(file: ScoredFile) -> NDArray[np.float64]:
    """The lexical evidence of a file's lines, float64 [L]."""
    asked = file.asked
    counts = TermIndex.of(asked.text, asked.layout).counts(query_terms(asked.query))
    return lexical_views(counts, asked.layout).mean()


def _means(files: Sequence[ScoredFile], scores: Sequence[NDArray[np.float64]]) -> tuple[float, float]:
    """The means of recall in a quarter of the lines and of the area, for scores [L] of each file."""
    curves = [
        recall_curve(each, file.record.gold, file.record.counted)
        for file, each in zip(files, scores, strict=True)
    ]
    quarter = np.mean([curve.at([0.25]) for curve in curves])
    return float(quarter), float(np.mean([curve.area for curve in curves]))


def run_lengths(decisions: Sequence[NDArray[np.uint8]]) -> NDArray[np.int64]:
    """Return how long each run of kept tokens is."""
    edges = [np.flatnonzero(np.diff(np.concatenate([[0], each, [0]]).astype(np.int8))) for each in decisions]
    return np.concatenate([np.diff(each)[::2] for each in edges])


def decided(files: Sequence[Chained], encoder: PromptEncoder) -> Iterator[tuple[str, float, float, float]]:
    """Yield the name of each way to decide: recall and share of lines, repair included, and the mean run of tokens."""
    paper, threshold = Scorer(Scoring(PAPER), encoder.spec.rubrics), encoder.spec.threshold

    def row(name: str, scored: Sequence[ScoredFile]) -> tuple[str, float, float, float]:
        runs = run_lengths([result.keep for file in scored for result in file.results])
        return name, *selection(scored, paper, threshold), float(runs.mean())

    chain = row("the fused chain's path", [file.chained for file in files])

    def kept(bias: float) -> float:
        return selection([file.independent(bias) for file in files], paper, threshold)[1]

    bias = bisect(kept, chain[2])
    yield chain
    yield row("independent tokens", [file.independent(bias) for file in files])


def measure(options: argparse.Namespace) -> Iterator[Figure | str]:
    """Measure every file of records."""
    encoder = PromptEncoder.from_repository(options.repository)
    both, scorer = models(options), Scorer.from_repository(options.repository, encoder.spec)
    for path in options.records:
        files = list(chained_files(both, path, options.most, encoder))
        yield f"{path.name}: {len(files)} files"
        yield Figure(f"{path.stem}, files", len(files))
        for name, recall, area in ranked(files, encoder, scorer):
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
