"""`DocumentScorer`: from a model's answers about chunks to one score for each line of the document.

It calls the other modules of this package in order. A client that prunes, a pack, and the fitting of a model's
`Scoring` all compute line scores here, so a model is fitted on what it is served with. The module asks no
model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from lamr_base.arrays import Float64Array, logit, sigmoid
from lamr_base.errors import ModelMismatchError
from lamr_base.records import dataclass
from lamr_postprocess.layout import LineLayout, token_lines
from lamr_postprocess.lines import CharacterMeans, TokenLines
from numpy.typing import NDArray

from lamr_model.model_io import ChunkResult
from lamr_model.names import SCORING_FILE
from lamr_model.query_kind import is_foreign
from lamr_model.rules import (
    BEST,
    DEPENDENCY,
    EMISSION,
    LINES,
    MEAN,
    NAMED,
    PAPER,
    PATHLESS,
    SEMANTIC,
    TOGETHER,
    LineRule,
    Scoring,
    adapted,
)
from lamr_model.scoring.evidence import going_on, is_code, lexical_views
from lamr_model.scoring.fusion import (
    ENCODED,
    RUBRICS,
    EncoderReading,
    encoded_logits,
    features_of_lines,
)
from lamr_model.scoring.line_model import QueryLines, ScoredLines
from lamr_model.scoring.merging import Outputs, ScoreMerger
from lamr_model.scoring.query_document import QueryDocument
from lamr_model.scoring.query_words import name_terms
from lamr_model.scoring.weights import LineWeights, load_weights
from lamr_model.spec import ModelSpec, client_files
from lamr_model.words import TermIndex, query_terms

SETTLED = 2.0
"""Log-odds between a line and the threshold beyond which nothing that is read is expected to move the line across."""
FAILING = 3.0
"""Log-odds for lines of a command's output that say that something failed, whatever the query: less than for lines that
it names, and more than words are worth."""
GOING_ON = 2.0
"""Log-odds for a line behind one that equals the last line of a query of code."""
LEAST_GAIN = 0.05
"""Lines' worth of doubt; a chunk with less isn't worth its reading."""

_PART = 10  # the best tenth of the lines
_LEAST_LETTERS = 3  # a shorter word of a file's name says nothing
_LEAST_EVIDENCE = 0.05
"""What a line scores by keywords that has none, and how much less than 1 the best line scores."""


@dataclass(frozen=True)
class TokenRule:
    """A rule that gives each token one of the model's outputs as its score, and each line the mean over its characters.

    Attributes:
        value: the scores [m] of the tokens that outputs are about.
        lines: how means over lines are taken."""

    value: Callable[[Outputs], NDArray[Any]]
    lines: type[TokenLines] = TokenLines


TOKEN_RULES = {
    PAPER: TokenRule(lambda outputs: outputs.keep),
    EMISSION: TokenRule(lambda outputs: outputs.keep_prob, CharacterMeans),
}
"""The rules over tokens by the kind of scoring. For the second one, `keep_prob` is sigmoid(e_keep - e_prune) of the
fused emission, because its decoder is exported without a chain."""


@dataclass(frozen=True, eq=False)
class Scorer:
    """How one model's answers become line scores: the rule that its description names, and what was learned for it.

    Attributes:
        scoring: the rule.
        rubrics: the names of the encoder's rubrics, in the order of the K axis.
        weights: what scores lines; None for a rule over tokens.

    Raises:
        ModelMismatchError: the rule needs a line model and there is none, or it reads rubrics that there
            aren't."""

    scoring: Scoring
    rubrics: tuple[str, ...]
    weights: LineWeights | None = None

    def __post_init__(self) -> None:
        if (self.weights is None) == (self.scoring.kind == LINES):
            raise ModelMismatchError(
                f"scoring of the kind {LINES} needs a line model, and no other one has any; export the model again"
            )
        if self.weights is not None and not set(RUBRICS) <= set(self.rubrics):
            raise ModelMismatchError(
                f"the line model reads the rubrics {list(RUBRICS)}, but the model has {list(self.rubrics)}; export the "
                f"model again"
            )

    @classmethod
    def from_repository(cls, repository: Path, spec: ModelSpec) -> Scorer:
        """Return the scorer of a model repository. Raises `ModelMismatchError`: the line model is missing or damaged,
        or doesn't belong to the model."""
        lines = spec.scoring.kind == LINES
        return cls(
            spec.scoring,
            spec.rubrics,
            load_weights(client_files(repository) / SCORING_FILE) if lines else None,
        )

    @property
    def instant(self) -> bool:
        """Whether lines can be scored without the encoder."""
        return self.weights is not None

    def reads(self, query: str) -> bool:
        """Return whether a query is in a language that the line model's words come from; True where there is none."""
        return self.weights is None or not is_foreign(query, self.weights.model.place)

    @property
    def want_rubrics(self) -> bool:
        """Whether answers must carry `rubric_prob`.

        One rubric alone says nothing that the fused chain doesn't."""
        return len(self.rubrics) > 1


@dataclass(frozen=True, eq=False)
class LineScores:
    """What a document's L lines score."""

    scores: NDArray[np.float32]  # [L], in [0, 1]
    # [L], whether the dependency rubric speaks for a line more than the semantic one does; None where the model lacks
    # either or gave no marginals of them
    dependency: NDArray[np.bool_] | None
    # P(the document holds what is looked for), if the rule knows `AnswerPrior`; else that of the most relevant chunk.
    # 0 without any.
    relevance: float
    rule: LineRule  # what gave the scores
    inked: NDArray[np.bool_]  # [L], which lines aren't blank

    def adapted(self, threshold: float) -> float:
        """Return the threshold that this document gets where the caller gives none (`rules.adapted`)."""
        return adapted(threshold, self.rule, self.scores[self.inked], self.relevance)


class DocumentScorer:
    """Takes in the answers about a document's chunks, any of them in any order, and gives the scores of its lines.

    Tokens are made when there is an answer to take in, or a chunk's gain to tell."""

    def __init__(self, scorer: Scorer, document: QueryDocument) -> None:
        """Begin without an answer."""
        self._scorer, self._document = scorer, document
        self._rule = scorer.scoring.for_query(document.query)
        self._by_token = TOKEN_RULES.get(scorer.scoring.kind)
        self._begun = False
        self._finished: LineScores | None = None

    def add(self, tokens: tuple[int, int], result: ChunkResult) -> None:
        """Take in the answer about the chunk of this token range. Raises `ModelMismatchError`: the answer doesn't fit
        the chunk or the model's rubrics."""
        self._begun, self._finished = True, None
        self._merger.add(tokens, result)

    def gains(
        self, ranges: NDArray[np.int64], threshold: Callable[[LineScores], float]
    ) -> NDArray[np.float64]:
        """Return what reading each of some chunks is expected to bring, float64 [C]; 0 where all is settled.

        It is the sum over a chunk's lines of how open it is whether the line reaches the threshold, as far as its
        tokens haven't been read. `ranges`: int64 [C, 2], the range of each chunk's tokens."""
        scores = self.finish()
        cut = logit(min(max(threshold(scores), 0.0), 1.0))
        open_lines = np.maximum(0.0, 1.0 - np.abs(logit(scores.scores) - cut) / SETTLED) * scores.inked
        line = token_lines(self._document.offsets, self._document.source.layout)
        of_token = open_lines[line] / np.bincount(line, minlength=len(open_lines))[line]
        if self._begun:
            of_token[self._merger.merged().read] = 0.0
        sums = np.concatenate([[0.0], np.cumsum(of_token)])
        gains: NDArray[np.float64] = sums[ranges[:, 1]] - sums[ranges[:, 0]]
        gains[gains < LEAST_GAIN] = 0.0
        return gains

    def finish(self) -> LineScores:
        """Return the line scores by what was read so far, nothing included. Lines of encoded data score 0. Raises
        `ModelMismatchError`: an answer holds NaN or infinity."""
        if self._finished is None:
            self._finished = self._scored()
        return self._finished

    def _scored(self) -> LineScores:
        weights = self._scorer.weights
        scored = self._by_token_rule() if weights is None else self._by_lines(weights)
        if (data := self._document.data) is None:
            return scored
        return replace(scored, scores=np.where(data.lines, np.float32(0), scored.scores))

    def _by_token_rule(self) -> LineScores:
        merged = self._merger.merged()
        scores = self._lines.means(merged.values[:, 0]).astype(np.float32)
        relevance = max(merged.relevances, default=0.0)
        dependency = self._lines.means(merged.values[:, 1]) > 0 if merged.values.shape[1] > 1 else None
        return LineScores(scores, dependency, relevance, self._rule, ~self._document.source.layout.blank)

    def _by_lines(self, weights: LineWeights) -> LineScores:
        """Return what the line model says, with what was read, and what becomes of it by the query's kind."""
        document, rule, scored = self._document, self._rule, self._by_words
        if self._begun:
            logits = weights.fusion.logits(self._asked_lines, scored.logits, self._reading) + rule.bias
        else:
            logits = scored.logits + rule.unread
        if self.by_keywords and self.keywords:
            logits = self._keyword_search
        logits = logits + rule.named * document.near_named + FAILING * document.failing + self._going_on
        scores = over_blank(sigmoid(logits), document.source.layout).astype(np.float32)
        relevance = self._relevance(scored)
        return LineScores(scores, scored.dependency, relevance, rule, ~document.source.layout.blank)

    def reader_features(self) -> Float64Array:
        """Return what a reader learns from, float64 [L, F]: see `reader.features_of_lines`."""
        return features_of_lines(self._asked_lines, self._by_words.logits, self._reading)

    @property
    def _reading(self) -> EncoderReading:
        return EncoderReading.of(self._merger.merged(), self._lines)

    @cached_property
    def by_keywords(self) -> bool:
        """Whether the query is in a language that the model doesn't read, so that lines are found by words alone."""
        return not self._scorer.reads(self._document.given.text)

    @cached_property
    def keywords(self) -> tuple[str, ...]:
        """The query's terms that the document has."""
        asked = query_terms(self._document.given.text)
        there = self._index.counts(asked).lines.any(axis=0)
        return tuple(term for term, occurs in zip(asked, there.tolist(), strict=True) if occurs)

    @cached_property
    def _going_on(self) -> Float64Array:
        """What a query of code adds to lines that may come next, float64 [L]."""
        query, lines = self._document.given.text, len(self._document.source.layout.blank)
        return GOING_ON * going_on(query, self._index, lines) if is_code(query) else np.zeros(lines)

    @property
    def _keyword_search(self) -> Float64Array:
        """The log-odds of lines by the words of the query alone, float64 [L]."""
        evidence = lexical_views(self._index.counts(self.keywords), self._document.source.layout).mean()
        return logit(_LEAST_EVIDENCE + (1 - 2 * _LEAST_EVIDENCE) * evidence)

    @cached_property
    def _index(self) -> TermIndex:
        return TermIndex.of(self._document.source.body, self._document.source.layout)

    @cached_property
    def _asked(self) -> tuple[QueryLines, ...]:
        """The document as the line model reads it, by task and history: prepared once, whatever is read later."""
        assert self._scorer.weights is not None
        return self._document.asked_lines(self._scorer.weights.model)

    @property
    def _asked_lines(self) -> QueryLines:
        return self._asked[0]

    @cached_property
    def _by_words(self) -> ScoredLines:
        """What the line model says: by query and task, and where there is a history as much by that and the query.

        Either reading counts half, so that a history that misleads takes little, and one that helps brings
        much."""
        assert self._scorer.weights is not None
        scored, *before = map(self._scorer.weights.model.score, self._asked)
        if not before:
            return scored
        return replace(scored, logits=(scored.logits + before[0].logits) / 2)

    @cached_property
    def _merger(self) -> ScoreMerger:
        scorer, count, by_token = self._scorer, len(self._document.ids), self._by_token
        if by_token is None:
            return encoder_merger(scorer.rubrics, count)
        values = partial(_token_values, rule=by_token, rubrics=scorer.rubrics)
        width = 1 + ({SEMANTIC, DEPENDENCY} <= set(scorer.rubrics))
        return ScoreMerger(values, width, scorer.rubrics, count, want_rubrics=scorer.want_rubrics)

    @cached_property
    def _lines(self) -> TokenLines:
        lines = TokenLines if self._by_token is None else self._by_token.lines
        return lines(
            self._document.offsets, self._document.source.layout.points, self._document.source.layout.spans
        )

    def _relevance(self, scored: ScoredLines) -> float:
        """Return the relevance of the document, from that of the chunks that were read, or else from its best lines."""
        inked = scored.logits[~self._document.source.layout.blank]
        if not len(inked):
            return 0.0
        rule, asked = self._rule, self._asked_lines
        read = self._merger.merged().relevances if self._begun else ()
        presence = rule.presence if read else rule.unread_presence
        opinions = logit(read) if read else best_lines(inked)
        if presence is None:
            return float(sigmoid(opinions).max())
        known = document_features(opinions, asked.together, asked.terms, self._document.source.path)
        return presence.probability(known, asked.understood)


def _token_values(outputs: Outputs, rule: TokenRule, rubrics: Sequence[str]) -> Float64Array:
    """Return the scores [m, 1 or 2] of m tokens and, for a model of both rubrics, how far dependency leads semantic."""
    columns = [rule.value(outputs)]
    if {SEMANTIC, DEPENDENCY} <= set(rubrics):
        assert outputs.rubric_prob is not None
        dependency, semantic = (
            outputs.rubric_prob[:, rubrics.index(name)] for name in (DEPENDENCY, SEMANTIC)
        )
        columns.append(dependency.astype(np.float64) - semantic)
    return np.stack(columns, axis=1, dtype=np.float64)


def encoder_merger(rubrics: Sequence[str], tokens: int) -> ScoreMerger:
    """Return what averages over chunks the log-odds that the line model reads of an encoder."""
    return ScoreMerger(partial(encoded_logits, rubrics=rubrics), ENCODED, rubrics, tokens, want_rubrics=True)


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


def document_features(
    opinions: Float64Array, together: float, terms: Iterable[str], path: str
) -> dict[str, float]:
    """Return the features of a document, by name.

    Args:
        opinions: log-odds that parts of the document hold what is looked for, at least one: the relevance of the chunks
            that an encoder has read, or the scores of the best lines (`best_lines`).
        together: the largest share of the query's words that one block has.
        terms: the query's.
        path: the document's path; empty where it isn't known."""
    named = {term for term in name_terms(path) if len(term) >= _LEAST_LETTERS}
    ordered = np.sort(opinions)  # so that the sum doesn't depend on which answer came first
    return {
        BEST: float(ordered[-1]),
        MEAN: float(ordered.mean()),
        TOGETHER: together,
        NAMED: len(named & set(terms)) / max(1, len(named)),
        PATHLESS: float(not path),
    }


def best_lines(logits: Float64Array) -> Float64Array:
    """Return the best tenth of the log-odds [I] of lines, at least one."""
    best: Float64Array = np.sort(logits)[-max(1, len(logits) // _PART) :]
    return best
