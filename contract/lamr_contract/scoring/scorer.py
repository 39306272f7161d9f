"""`DocumentScorer`: from a model's answers about chunks to one score for each line of the document.

A client that prunes and the fitting of a model's `Scoring` both compute line scores here, so a model is fitted on
what it is served with. This module puts averages, lexical evidence and blocks together; it asks no model.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from lamr_contract.arrays import Float64Array
from lamr_contract.layout import LineLayout, line_layout
from lamr_contract.model_io import ChunkResult
from lamr_contract.scoring.associations import Associations
from lamr_contract.scoring.blocks import near_means, over_blank, towards_block, with_blocks
from lamr_contract.scoring.evidence import LexicalViews, lexical_views
from lamr_contract.scoring.features import LineFeatures
from lamr_contract.scoring.forms import LineForms, line_forms
from lamr_contract.scoring.merging import ScoreMerger
from lamr_contract.scoring.named_lines import nearness
from lamr_contract.scoring.odds import logit, sigmoid
from lamr_contract.scoring.presence import document_features
from lamr_contract.scoring.query_kind import asks
from lamr_contract.scoring.rules import (
    BLOCK,
    DEPENDENCY,
    KINDS,
    LEXICAL,
    NAMED,
    NEAR,
    SEMANTIC,
    Scoring,
)
from lamr_contract.words import TermIndex


class QueriedDocument:
    """A document's lines, how its tokens lie in them, and what its lines share with a query's words.

    Attributes:
        query: what is looked for.
        path: the document's path; empty where it isn't known.
        layout: the text's L lines.
        named: bool [L], the lines that the caller named by number; None if none were.
        token_lines: which of them each of its n tokens lies in.
        associations: the model's, if it has any.
    """

    def __init__(  # noqa: PLR0913 - keywords with defaults
        self,
        query: str,
        text: str,
        offsets: NDArray[np.int64],
        scoring: Scoring | None = None,
        *,
        layout: LineLayout | None = None,
        path: str = "",
        associations: Associations | None = None,
        named: NDArray[np.bool_] | None = None,
    ) -> None:
        """Find the lines of a text.

        Args:
            query: what is looked for.
            text: the document.
            offsets: int64 [n, 2], first and one-past-last character of each token.
            scoring: the model's; its part for the query says how tokens' scores become scores of lines. If None, they
                do as in the paper.
            layout: `line_layout(text)`, where it is at hand.
            path: the document's path, where it is known.
            associations: the model's, if it has any.
            named: bool [L], the lines that the caller named by number; None if none were.
        """
        self.associations = associations
        self.query, self.path, self._text = query, path, text
        self.layout = layout or line_layout(text)
        self.named = named
        means = KINDS[(scoring or Scoring()).for_query(query).kind].lines
        self.token_lines = means(offsets, self.layout.points, self.layout.spans)

    @cached_property
    def _index(self) -> TermIndex:
        return TermIndex.of(self._text, self.layout)

    @cached_property
    def views(self) -> LexicalViews:
        """The lexical evidence of the lines."""
        return lexical_views(self.query, self._text, self.layout, self._index)

    @cached_property
    def evidence(self) -> Float64Array:
        """Lexical evidence float64 [n] in [0, 1] of each token: that of the line it begins in."""
        evidence: Float64Array = self.views.mean()[self.token_lines.first]
        return evidence

    @property
    def understood(self) -> float:
        """How much the model understands of the query; 1 where no associations tell which words it knows."""
        return 1.0 if self.associations is None else self.associations.understood(self.query)

    def features(self, columns: Float64Array, outputs: Iterable[str]) -> LineFeatures:
        """Return the features of the lines.

        Args:
            columns: float64 [n, F], F outputs of the model for each token.
            outputs: their names.
        """
        means = {
            name: self.token_lines.means(columns[:, place]).astype(np.float64)
            for place, name in enumerate(outputs)
        }
        return self._features(means, self._associated)

    def _features(
        self, outputs: Mapping[str, Float64Array], associated: Float64Array | None = None
    ) -> LineFeatures:
        return LineFeatures(self.layout, self.views, self._forms, outputs, associated, asked=asks(self.query))

    @cached_property
    def _forms(self) -> LineForms:
        return line_forms(self._text, self.layout)

    @property
    def _associated(self) -> Float64Array | None:
        """The log-odds float64 [L] that associations give; they are other ones where `associations` were set anew."""
        if self.associations is None:
            return None
        known = self._features({}).matrix(self.associations.known)
        return self.associations.of(self.query, self._index, self.layout, known)


@dataclass(frozen=True, eq=False)
class LineScores:
    """What a document's L lines score.

    Attributes:
        scores: float32 [L], in [0, 1].
        dependency: bool [L], whether the dependency rubric speaks for a line more than the semantic one does; None
            where the model lacks either or gave no marginals of them.
        relevance: P(the document holds what is looked for), if the scoring knows `Presence`; else that of the most
            relevant chunk. 0 without any.
        scoring: what gave the scores.
        inked: bool [L], which lines aren't blank.
    """

    scores: NDArray[np.float32]
    dependency: NDArray[np.bool_] | None
    relevance: float
    scoring: Scoring
    inked: NDArray[np.bool_]

    def adapted(self, threshold: float) -> float:
        """Return the threshold that this document gets where the caller gives none (`Scoring.adapted`).

        Args:
            threshold: the model's.
        """
        return self.scoring.adapted(threshold, self.scores[self.inked], self.relevance)


class DocumentScorer:
    """Takes in the answers about one document's chunks, in any order, and gives the scores of its lines.

    Attributes:
        want_rubrics: whether answers must carry `rubric_prob`.
    """

    def __init__(self, scoring: Scoring, rubrics: Sequence[str], document: QueriedDocument) -> None:
        """Begin without an answer.

        Args:
            scoring: what becomes of the answers; the document's query picks its part.
            rubrics: the names of the model's rubrics, in the order of the K axis.
            document: the document and its query.
        """
        scoring = scoring.for_query(document.query)
        self._scoring, self._rubrics, self._document = scoring, tuple(rubrics), document
        self._merger = ScoreMerger(scoring, rubrics, len(document.token_lines.first))
        self.want_rubrics = self._merger.want_rubrics
        self._evidence = document.evidence if scoring.weight(LEXICAL) else None

    def add(self, tokens: tuple[int, int], result: ChunkResult) -> None:
        """Take in the answer about the chunk of this token range.

        Raises:
            ModelMismatchError: the answer doesn't fit the chunk or the model's rubrics.
        """
        self._merger.add(tokens, result)

    def finish(self) -> LineScores:
        """Return the line scores, after every chunk's answer was added.

        Raises:
            ModelMismatchError: an answer holds NaN or infinity.
        """
        merged = self._merger.merged()
        by_line = KINDS[self._scoring.kind].by_line
        lines = self._by_line(merged.scores) if by_line else self._by_token(merged.scores)
        inked = ~self._document.layout.blank
        relevance = self._relevance(merged.relevances)
        return LineScores(lines, self._dependency(merged.rubrics), relevance, self._scoring, inked)

    def features(self) -> LineFeatures:
        """Return the features that a scoring of the kind `lines` weighs, after every chunk's answer was added.

        Raises:
            ModelMismatchError: an answer holds NaN or infinity.
        """
        return self._document.features(self._merger.merged().scores, self._scoring.outputs)

    def _relevance(self, relevances: Sequence[float]) -> float:
        """Return the relevance of the document, from that of each chunk."""
        presence, document = self._scoring.presence, self._document
        if presence is None or not relevances:
            return max(relevances, default=0.0)
        together, path = document.views.together, document.path
        known = document_features(relevances, together, document.query, path)
        return presence.probability(known, document.understood)

    def _by_token(self, tokens: Float64Array) -> NDArray[np.float32]:
        """Return line scores [L] from the tokens' scores [n], evidence and blocks."""
        if self._evidence is not None:
            tokens = with_evidence(tokens, self._evidence, self._scoring.weight(LEXICAL))
        lines = self._document.token_lines.means(tokens)
        if share := self._scoring.weight(BLOCK):
            lines = with_blocks(lines.astype(np.float64), self._document.layout, share).astype(np.float32)
        return lines

    def _by_line(self, columns: Float64Array) -> NDArray[np.float32]:
        """Return line scores [L] from the model's outputs [n, F], by a logistic regression or a network over lines."""
        scoring, layout = self._scoring, self._document.layout
        features = self._document.features(columns, scoring.outputs).matrix(scoring.features)
        if scoring.network is None:
            logits = features @ np.fromiter(scoring.features.values(), np.float64)
        else:
            logits = scoring.network.logits(features, layout)
        logits = towards_block(logits + scoring.bias, layout, scoring.weight(BLOCK))
        if reach := scoring.weight(NEAR):
            logits = near_means(logits, layout, reach)
        if (named := self._document.named) is not None:
            logits = logits + scoring.weight(NAMED) * nearness(named)
        return over_blank(sigmoid(logits), layout).astype(np.float32)

    def _dependency(self, marginals: Float64Array | None) -> NDArray[np.bool_] | None:
        """Return `LineScores.dependency` from the tokens' marginals [n, K]."""
        if marginals is None or not {SEMANTIC, DEPENDENCY} <= set(self._rubrics):
            return None
        dependency, semantic = (marginals[:, self._rubrics.index(name)] for name in (DEPENDENCY, SEMANTIC))
        return self._document.token_lines.means(dependency - semantic) > 0


def with_evidence(scores: Float64Array, evidence: Float64Array, weight: float) -> Float64Array:
    """Return averaged scores [n] moved by lexical evidence [n]: sigmoid(logit(score) + weight * evidence)."""
    return sigmoid(logit(scores) + weight * evidence)
