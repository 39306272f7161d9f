"""Fits what a `Scoring` makes of a line model's log-odds, on a model's answers about whole files.

A scoring has a bias and a presence for questions, and others for other queries. A presence is how likely a file holds
an answer. The model is asked once about each file, so trying a scoring costs little. Line scores come from
`lamr_model`'s `DocumentScorer`, which also serves them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from lamr_base.arrays import logit
from lamr_evaluation.metrics import recall_curve
from lamr_evaluation.records import Record
from lamr_model.crf import LinearChainCrf, viterbi
from lamr_model.encoding import PromptEncoder
from lamr_model.model_io import ChunkRequest, ChunkResult
from lamr_model.query_kind import asks
from lamr_model.query_truncation import Query
from lamr_model.rules import FEATURES, LINES, AnswerPrior, LineRule, Scoring
from lamr_model.scoring.line_model import LineModel
from lamr_model.scoring.query_document import QueryDocument
from lamr_model.scoring.scorer import DocumentScorer, Scorer, best_lines, document_features
from lamr_model.scoring.weights import LineWeights
from lamr_postprocess import SourceFile, prune_lines
from numpy.typing import NDArray

from lamr_training.errors import RunError

Ask = Callable[[Sequence[ChunkRequest]], Sequence[ChunkResult]]


@dataclass(frozen=True, eq=False)
class ScoredFile:
    """A model's answers about one whole file."""

    record: Record  # query, code and gold lines
    asked: QueryDocument  # the file as a client prepares it
    ranges: list[tuple[int, int]]  # each chunk's token range in the file
    results: Sequence[ChunkResult]  # each chunk's outputs

    def finished(self, scorer: Scorer, chunks: Iterable[int] | None = None) -> DocumentScorer:
        """Return what has taken in the answers about the file, or those about some of its chunks."""
        document = DocumentScorer(scorer, self.asked)
        for chunk in range(len(self.results)) if chunks is None else chunks:
            document.add(self.ranges[chunk], self.results[chunk])
        return document

    def line_scores(self, scorer: Scorer) -> NDArray[np.float32]:
        """Return the scores float32 [L] that a client computes for the file."""
        return self.finished(scorer).finish().scores

    def unread(self, scorer: Scorer) -> DocumentScorer:
        """Return what has taken in no answer about the file."""
        return DocumentScorer(scorer, self.asked)


@dataclass(frozen=True)
class ScoringReport:
    """How well a scoring ranks and selects: means over files with gold lines."""

    recall_25: float  # figures of the ranking of inked lines
    recall_50: float
    area: float
    recall: float  # figures of the selection at a threshold, before any repair
    kept: float


def score_files(ask: Ask, encoder: PromptEncoder, records: Iterable[Record]) -> list[ScoredFile]:
    files = []
    for record in records:
        asked = asked_document(encoder, record)
        requests, ranges = requests_of(encoder, asked)
        if requests:
            files.append(ScoredFile(record, asked, ranges, ask(requests)))
    return files


def asked_document(encoder: PromptEncoder, record: Record) -> QueryDocument:
    """Return a record's file and query as a client prepares them."""
    return QueryDocument.of(encoder, Query(record.query, record.task), SourceFile(record.code, record.path))


def requests_of(
    encoder: PromptEncoder, asked: QueryDocument
) -> tuple[list[ChunkRequest], list[tuple[int, int]]]:
    """Return what a client asks about a document: the requests, and each one's token range."""
    chunks = list(asked.chunks(encoder))
    requests = [ChunkRequest(c.input_ids, c.document_span, want_rubrics=True) for c in chunks]
    return requests, [c.tokens for c in chunks]


def compare(files: Sequence[ScoredFile], scorer: Scorer, threshold: float) -> ScoringReport:
    """Measure how well a scorer ranks and selects."""
    rows = []
    for file in files:
        gold, counted = file.record.gold, file.record.counted
        if not (gold & counted).any():
            continue
        scores = file.line_scores(scorer)
        curve = recall_curve(scores, gold, counted)
        kept = (scores >= threshold) & counted
        quarter, half = curve.at([0.25, 0.5])
        recall = (kept & gold).sum() / (gold & counted).sum()
        rows.append((quarter, half, curve.area, recall, kept.sum() / counted.sum()))
    return ScoringReport(*(round(float(value), 4) for value in np.mean(rows, axis=0)))


def selection(
    files: Sequence[ScoredFile], scorer: Scorer, threshold: float, *, read: bool = True
) -> tuple[float, float]:
    """Return means of what pruning keeps, repair included: recall (of files that hold an answer), share of lines."""
    recalls, shares = [], []
    for file in files:
        gold, inked = file.record.gold, file.record.counted
        lines = (file.finished(scorer) if read else file.unread(scorer)).finish()
        pruned = prune_lines(
            file.record.code, lines.scores, path=file.record.path or None, answering=lines.adapted(threshold)
        )
        kept = np.zeros(len(inked), np.bool_)
        kept[np.array(pruned.kept_lines, np.int64) - 1] = True
        kept &= inked
        shares.append(kept.sum() / max(1, inked.sum()))
        if (gold & inked).any():
            recalls.append((kept & gold).sum() / (gold & inked).sum())
    return float(np.mean(recalls)), float(np.mean(shares))


LEAST = 20  # How many files of either sort are enough for a fit
PRIOR = 0.95
"""The share of files that hold an answer, among those that are read for one. With it, validation files that hold one
lose nothing at the same share of lines, and those that don't keep much less."""
_RIDGE = 1.0  # The weight of the squared weights, in files


def fit_presence(files: Sequence[ScoredFile], lines: LineModel, *, read: bool) -> AnswerPrior | None:
    """Fit a presence by files with and without gold lines; None if there are fewer than `LEAST` of either. Both sorts
    count the same in all, so 0.5 is where a file is as likely to hold an answer as not. Each file counts half with its
    path and half without, for callers that know none."""
    present = np.array([bool(file.record.kept_frags) for file in files], np.bool_)
    if min(present.sum(), (~present).sum()) < LEAST:
        return None
    both = [_features(file, lines, read) for file in files]
    rows = [row for rows in zip(*both, strict=True) for row in rows]
    each = np.where(present, 1 / present.sum(), 1 / (~present).sum()) * len(files) / 4
    weights, bias = logistic_regression(np.array(rows), np.tile(present, 2), np.tile(each, 2), _RIDGE)
    fitted = {name: round(float(weight), 4) for name, weight in zip(FEATURES, weights, strict=True)}
    return AnswerPrior(fitted, round(bias, 4), PRIOR)


def _features(file: ScoredFile, lines: LineModel, read: bool) -> list[list[float]]:
    asked = file.asked.asked_lines(lines)[0]
    if read:
        opinions = logit([float(result.relevance) for result in file.results])
    else:
        opinions = best_lines(lines.score(asked).logits[asked.positions.lines])
    known = (
        document_features(opinions, asked.together, asked.terms, path)
        for path in (file.asked.source.path, "")
    )
    return [[features[name] for name in FEATURES] for features in known]


_ROUNDS = 30


def logistic_regression(
    features: NDArray[np.float64], positive: NDArray[np.bool_], counts: NDArray[np.float64], ridge: float
) -> tuple[NDArray[np.float64], float]:
    """Return weights [F] and bias of the likeliest logistic regression, by Newton's method. Shapes: `features` `[N,
    F]`, `positive` `[N]`, `counts` `[N]`."""
    centre, spread = features.mean(axis=0), features.std(axis=0) + 1e-6
    inputs = np.column_stack([(features - centre) / spread, np.ones(len(features))])
    penalty = np.diag([*[ridge] * features.shape[1], 0.0])
    weights = np.zeros(inputs.shape[1])
    for _ in range(_ROUNDS):
        chance = 1 / (1 + np.exp(-inputs @ weights))
        slope = inputs.T @ (counts * (positive - chance)) - penalty @ weights
        curve = (inputs * (counts * chance * (1 - chance))[:, None]).T @ inputs + penalty
        step = np.linalg.solve(curve, slope)
        weights += step
        if np.abs(step).max() < 1e-8:
            break
    scaled: NDArray[np.float64] = weights[:-1] / spread
    return scaled, float(weights[-1] - scaled @ centre)


WIDEST = 24.0  # The bias lies between this and its negative; at both ends emissions say nothing any more


@dataclass(frozen=True, eq=False)
class Margins:
    """The fused emissions of one whole file, without a bias."""

    values: NDArray[np.float32]  # float32 `[m]`
    bounds: NDArray[np.int64]  # int64 `[B + 1]`, where each chunk's tokens begin and the last one's end

    def kept(self, crf: LinearChainCrf, bias: float) -> float:
        """Return the share of tokens on Viterbi's path."""
        emissions = np.stack([np.zeros_like(self.values), self.values + np.float32(bias)], axis=1)
        return float(viterbi(emissions, self.bounds, crf).mean())


def fit_keep_bias(files: Sequence[Margins], crf: LinearChainCrf, share: float) -> float:
    """Return the bias at which the paths keep a share of the tokens, as a mean over files; found by bisection. The
    likelihood of labels that are mostly 0 teaches a chain to keep next to nothing: few tokens are likelier gold than
    not. The order of the emissions is right all the same, so a constant brings the path to the share of tokens that a
    pruner should keep. It is added to each rubric's emissions, and reaches the fused ones whole since a gate's weights
    sum to 1."""
    return bisect(lambda bias: float(np.mean([file.kept(crf, bias) for file in files])), share)


def bisect(kept: Callable[[float], float], share: float) -> float:
    """Return the bias between -`WIDEST` and `WIDEST` at which a growing function reaches a share, to 0.006."""
    low, high = -WIDEST, WIDEST
    for _ in range(13):
        middle = (low + high) / 2
        low, high = (middle, high) if kept(middle) < share else (low, middle)
    return round((low + high) / 2, 3)


ASKED_SHARE, TOLD_SHARE = 0.34, 0.4
"""The share of the lines that is kept on average for a question, and for a query that asks nothing, repair included."""
LEAST_FILES = 40
"""How many files with a sort of query are enough for a bias of its own; with fewer, all files give it."""
NAMED_ODDS = 4.0
"""What the log-odds of a line gain whose number the query names. From 2 to 6 ranks are alike, and too few files have
such a query to fit it closer (docs/lab/lamr-mini.md)."""
SHARES = (0.05, 0.7)
"""The bounds of what the threshold selects. The model sees the whole file, so its log-odds tell by themselves how
many lines a file needs; these bounds only keep extremes away."""


def fit_scoring(
    files: Sequence[ScoredFile],
    weights: LineWeights,
    rubrics: Sequence[str],
    threshold: float,
    before: Scoring | None = None,
) -> Scoring:
    """Return a scoring for weights, with a bias and a presence for questions and for other queries."""
    answered = [file for file in files if file.record.kept_frags]
    if not answered:
        raise RunError("no validation record has lines that answer; the threshold needs some")

    def scorer(rule: LineRule) -> Scorer:
        return Scorer(Scoring(LINES, rule, rule), tuple(rubrics), weights)

    def rule(asked: bool, share: float, known: LineRule | None) -> LineRule:
        alike = [file for file in files if asks(file.asked.query) == asked]
        began = known or LineRule()
        fitted = replace(
            began,
            named=NAMED_ODDS,
            shares=SHARES,
            presence=fit_presence(alike, weights.model, read=True) or began.presence,
            unread_presence=fit_presence(alike, weights.model, read=False) or began.unread_presence,
        )
        own = [file for file in answered if asks(file.asked.query) == asked]
        chosen = own if len(own) >= LEAST_FILES else answered
        return with_kept_share(chosen, scorer, fitted, threshold, share)

    asked, told = (before.asked, before.told) if before else (None, None)
    return Scoring(LINES, asked=rule(True, ASKED_SHARE, asked), told=rule(False, TOLD_SHARE, told))


def with_kept_share(
    files: Sequence[ScoredFile],
    scorer: Callable[[LineRule], Scorer],
    rule: LineRule,
    threshold: float,
    kept: float,
) -> LineRule:
    """Return a rule with the biases at which pruning keeps a share of the lines of files, found by bisection."""

    def kept_with(trial: LineRule, read: bool) -> float:
        return selection(files, scorer(trial), threshold, read=read)[1]

    return replace(
        rule,
        bias=bisect(lambda trial: kept_with(replace(rule, bias=trial), True), kept),
        unread=bisect(lambda trial: kept_with(replace(rule, unread=trial), False), kept),
    )
