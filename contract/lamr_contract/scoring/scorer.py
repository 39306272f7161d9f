"""`DocumentScorer`: from a model's answers about chunks to one score for each line of the document.

It calls the other modules of this package in order. A client that prunes, a pack, and the fitting of a model's
`Scoring` all compute line scores here, so a model is fitted on what it is served with. The module asks no model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

import numpy as np
from lamr_postprocess.lines import TokenLines
from numpy.typing import NDArray

from lamr_contract.arrays import Float64Array
from lamr_contract.asked import AskedDocument
from lamr_contract.errors import ModelMismatchError
from lamr_contract.layout import LineLayout, token_lines
from lamr_contract.model_io import ChunkResult
from lamr_contract.names import KEEP_PROB, RELEVANCE, SCORING_FILE
from lamr_contract.scoring.associations import Associations
from lamr_contract.scoring.features import output_logits, output_names, standardized
from lamr_contract.scoring.merging import Averages, ScoreMerger
from lamr_contract.scoring.named_lines import nearness
from lamr_contract.scoring.odds import logit, sigmoid
from lamr_contract.scoring.presence import document_features
from lamr_contract.scoring.rules import DEPENDENCY, LINES, SEMANTIC, TOKEN_RULES, LineRule, Scoring
from lamr_contract.scoring.threshold import adapted
from lamr_contract.scoring.weights import LineWeights, load_weights
from lamr_contract.spec import ModelSpec, client_files

SETTLED = 2.0
"""Log-odds between a line and the threshold beyond which nothing that is read is expected to move the line across."""
LEAST_GAIN = 0.05
"""Lines' worth of doubt; a chunk with less isn't worth its reading."""


@dataclass(frozen=True, eq=False)
class Scorer:
    """How one model's answers become line scores: the rule that its description names, and what was learned for it.

    Attributes:
        scoring: the rule.
        rubrics: the names of the model's rubrics, in the order of the K axis.
        weights: the network and what it reads; None for a rule over tokens.

    Raises:
        ModelMismatchError: the rule needs weights and there are none, or the network reads what the model doesn't give.
    """

    scoring: Scoring
    rubrics: tuple[str, ...]
    weights: LineWeights | None = None

    def __post_init__(self) -> None:
        if (self.weights is None) == (self.scoring.kind == LINES):
            raise ModelMismatchError(
                f"scoring of the kind {LINES} needs weights, and no other one has any; export the model again"
            )
        if unknown := set(self.outputs) - {KEEP_PROB, RELEVANCE, *self.rubrics}:
            raise ModelMismatchError(
                f"the network reads {sorted(unknown)}, which is neither {KEEP_PROB}, {RELEVANCE} nor a rubric of "
                f"{list(self.rubrics)}; export the model again"
            )

    @classmethod
    def from_repository(cls, repository: Path, spec: ModelSpec) -> Scorer:
        """Return the scorer of a model repository.

        Args:
            repository: a model repository.
            spec: its description.

        Raises:
            ModelMismatchError: the weights are missing or damaged, or don't belong to the model.
        """
        lines = spec.scoring.kind == LINES
        weights = load_weights(client_files(repository) / SCORING_FILE) if lines else None
        return cls(spec.scoring, spec.rubrics, weights)

    @property
    def outputs(self) -> tuple[str, ...]:
        """The outputs of the model that features of lines are made of."""
        return () if self.weights is None else output_names(self.weights.network.features)

    @property
    def instant(self) -> bool:
        """Whether lines can be scored without the encoder."""
        return self.weights is not None and self.weights.associations is not None

    @property
    def want_rubrics(self) -> bool:
        """Whether answers must carry `rubric_prob`.

        One rubric alone says nothing that the fused chain doesn't, so it is asked for only if the network reads it.
        """
        return _wants_rubrics(self.outputs, self.rubrics)


@dataclass(frozen=True, eq=False)
class LineScores:
    """What a document's L lines score.

    Attributes:
        scores: float32 [L], in [0, 1].
        dependency: bool [L], whether the dependency rubric speaks for a line more than the semantic one does; None
            where the model lacks either or gave no marginals of them.
        relevance: P(the document holds what is looked for), if the rule knows `Presence`; else that of the most
            relevant chunk. 0 without any.
        rule: what gave the scores.
        inked: bool [L], which lines aren't blank.
    """

    scores: NDArray[np.float32]
    dependency: NDArray[np.bool_] | None
    relevance: float
    rule: LineRule
    inked: NDArray[np.bool_]

    def adapted(self, threshold: float) -> float:
        """Return the threshold that this document gets where the caller gives none (`threshold.adapted`).

        Args:
            threshold: the model's.
        """
        return adapted(threshold, self.rule, self.scores[self.inked], self.relevance)


class DocumentScorer:
    """Takes in the answers about a document's chunks, any of them in any order, and gives the scores of its lines.

    Tokens are made when there is an answer to take in, or a chunk's gain to tell.
    """

    def __init__(self, scorer: Scorer, document: AskedDocument) -> None:
        """Begin without an answer.

        Args:
            scorer: what becomes of the answers; the document's query picks its part.
            document: the document and its query.
        """
        self._scorer, self._document = scorer, document
        self._rule = scorer.scoring.for_query(document.query)
        self._by_token = TOKEN_RULES.get(scorer.scoring.kind)
        self._begun = False
        self._finished: LineScores | None = None

    def add(self, tokens: tuple[int, int], result: ChunkResult) -> None:
        """Take in the answer about the chunk of this token range.

        Raises:
            ModelMismatchError: the answer doesn't fit the chunk or the model's rubrics.
        """
        self._begun, self._finished = True, None
        self._merger.add(tokens, result)

    def gains(
        self, ranges: NDArray[np.int64], threshold: Callable[[LineScores], float]
    ) -> NDArray[np.float64]:
        """Return what reading each of some chunks is expected to bring, float64 [C]; 0 where all is settled.

        It is the sum over a chunk's lines of how open it is whether the line reaches the threshold, as far as its
        tokens haven't been read.

        Args:
            ranges: int64 [C, 2], the range of each chunk's tokens.
            threshold: gives the threshold that scores are compared with.
        """
        scores = self.finish()
        cut = logit(min(max(threshold(scores), 0.0), 1.0))
        open_lines = np.maximum(0.0, 1.0 - np.abs(logit(scores.scores) - cut) / SETTLED) * scores.inked
        line = token_lines(self._document.offsets, self._document.layout)
        of_token = open_lines[line] / np.bincount(line, minlength=len(open_lines))[line]
        if self._begun:
            of_token[self._merger.merged().read] = 0.0
        sums = np.concatenate([[0.0], np.cumsum(of_token)])
        gains: NDArray[np.float64] = sums[ranges[:, 1]] - sums[ranges[:, 0]]
        gains[gains < LEAST_GAIN] = 0.0
        return gains

    def finish(self) -> LineScores:
        """Return the line scores by what was read so far, nothing included. Lines of encoded data score 0.

        Raises:
            ModelMismatchError: an answer holds NaN or infinity.
        """
        if self._finished is None:
            self._finished = self._scored()
        return self._finished

    def _scored(self) -> LineScores:
        weights = self._scorer.weights
        learned = None if weights is None else weights.associations
        merged = self._merger.merged() if self._begun or learned is None else None
        if merged is None:
            assert learned is not None
            scores = self._by_words(learned)
        elif weights is None:
            scores = self._lines.means(merged.values[:, 0])
        else:
            scores = self._by_network(merged, weights)
        if (data := self._document.data) is not None:
            scores = np.where(data.lines, np.float32(0), scores)
        return LineScores(
            scores,
            None if merged is None else self._dependency(merged.rubrics),
            self._relevance(() if merged is None else merged.relevances),
            self._rule,
            ~self._document.layout.blank,
        )

    @cached_property
    def _merger(self) -> ScoreMerger:
        scorer, count, by_token = self._scorer, len(self._document.ids), self._by_token
        if by_token is None:
            return output_merger(scorer.outputs, scorer.rubrics, count)
        return ScoreMerger(
            lambda outputs: by_token.value(outputs)[:, None],
            *(1, scorer.rubrics, count),
            want_rubrics=scorer.want_rubrics,
        )

    @cached_property
    def _lines(self) -> TokenLines:
        lines = TokenLines if self._by_token is None else self._by_token.lines
        return lines(self._document.offsets, self._document.layout.points, self._document.layout.spans)

    def _by_words(self, learned: Associations) -> NDArray[np.float32]:
        """Return line scores [L] from words and lines alone."""
        document, features = self._document, self._document.features
        known = features.matrix(learned.known)
        return self._scores(learned.of(document.query, features.index, document.layout, known))

    def _by_network(self, merged: Averages, weights: LineWeights) -> NDArray[np.float32]:
        """Return line scores [L] from the model's outputs, by the network over lines."""
        document, network = self._document, weights.network
        features = network_features(document, self._lines, merged, network.features, weights.associations)
        return self._scores(network.logits(features, document.layout))

    def _scores(self, logits: Float64Array) -> NDArray[np.float32]:
        """Return line scores [L] from log-odds [L], by the query's kind and the lines that it names."""
        document, rule = self._document, self._rule
        logits = logits + rule.bias
        if document.named is not None:
            logits = logits + rule.named * nearness(document.named)
        return over_blank(sigmoid(logits), document.layout).astype(np.float32)

    def _relevance(self, relevances: Sequence[float]) -> float:
        """Return the relevance of the document, from that of each chunk; without any, from words and the path."""
        presence, document = self._rule.presence, self._document
        if presence is None:
            return max(relevances, default=0.0)
        together = document.features.views.together
        known = document_features(relevances or (0.5,), together, document.query, document.path)
        learned = self._scorer.weights and self._scorer.weights.associations
        return presence.probability(known, learned.understood(document.query) if learned else 1.0)

    def _dependency(self, marginals: Float64Array | None) -> NDArray[np.bool_] | None:
        """Return `LineScores.dependency` from the tokens' marginals [n, K]."""
        rubrics = self._scorer.rubrics
        if marginals is None or not {SEMANTIC, DEPENDENCY} <= set(rubrics):
            return None
        dependency, semantic = (marginals[:, rubrics.index(name)] for name in (DEPENDENCY, SEMANTIC))
        return self._lines.means(dependency - semantic) > 0


def output_merger(outputs: Sequence[str], rubrics: Sequence[str], tokens: int) -> ScoreMerger:
    """Return what averages the log-odds of a model's outputs over chunks.

    Args:
        outputs: their names.
        rubrics: the names of the model's rubrics, in the order of the K axis.
        tokens: the number of the document's tokens.
    """
    values = partial(output_logits, names=outputs, rubrics=rubrics)
    return ScoreMerger(values, len(outputs), rubrics, tokens, want_rubrics=_wants_rubrics(outputs, rubrics))


def _wants_rubrics(outputs: Sequence[str], rubrics: Sequence[str]) -> bool:
    return len(rubrics) > 1 or not set(outputs).isdisjoint(rubrics)


def network_features(
    document: AskedDocument,
    lines: TokenLines,
    merged: Averages,
    names: Iterable[str],
    associations: Associations | None,
) -> Float64Array:
    """Return the features float64 [L, F] of a document's lines.

    Args:
        document: the document and its query.
        lines: the lines of its tokens.
        merged: from `output_merger` for the outputs that the names need.
        names: the features.
        associations: the model's, if it has any.
    """
    names, features = tuple(names), document.features
    columns = standardized(merged.values, merged.read)
    means = {
        name: lines.means(columns[:, place]).astype(np.float64)
        for place, name in enumerate(output_names(names))
    }
    learned = None
    if associations is not None:
        known = features.matrix(associations.known)
        learned = associations.of(document.query, features.index, document.layout, known)
    return features.matrix(names, means, learned)


def over_blank(scores: Float64Array, layout: LineLayout) -> Float64Array:
    """Return line scores [L] in which each blank line has the smaller score of its neighbours."""
    inked, blank = np.flatnonzero(~layout.blank), np.flatnonzero(layout.blank)
    if not len(inked):
        return scores
    after = np.searchsorted(inked, blank)
    before = np.maximum(after - 1, 0)
    result = scores.copy()
    result[blank] = np.minimum(scores[inked[before]], scores[inked[np.minimum(after, len(inked) - 1)]])
    return result
