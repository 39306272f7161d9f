"""`Scoring`: how a model's outputs become one score a token, and what each kind of scoring computes.

This module knows outputs, weights and averages over chunks; it knows no line, no text and no chunk's place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from lamr_postprocess.lines import CharacterMeans, TokenLines
from numpy.typing import NDArray

from lamr_contract.arrays import Float64Array
from lamr_contract.model_io import ChunkResult
from lamr_contract.names import KEEP_PROB, RELEVANCE
from lamr_contract.scoring.features import ASSOCIATED, TEXT_FEATURES, feature_name
from lamr_contract.scoring.network import LineNetwork
from lamr_contract.scoring.odds import logit, sigmoid
from lamr_contract.scoring.presence import Presence
from lamr_contract.scoring.query_kind import asks

SEMANTIC, DEPENDENCY = "semantic", "dependency"
LEXICAL, BLOCK, NEAR, NAMED = "lexical", "block", "near", "named"
_OF_NO_FEATURE = (BLOCK, NEAR, NAMED)

# The least spread that log-odds are divided by: a file whose parts are all alike has no ranking to be blown up.
_LEAST_SPREAD = 0.1


@dataclass(frozen=True)
class Scoring:
    """How a chunk's outputs become one score a token, in [0, 1], and then one a line.

    The kind says how outputs are averaged over the chunks that hold a token:

    - `paper` averages the Viterbi decisions (paper section 3.4) and weighs no output.
    - `calibrated` averages sigmoid(bias + sum of weight * logit(output)), a logistic combination of outputs.
    - `emission` averages `keep_prob` and weighs nothing. Its decoder was exported without a chain, so `keep_prob` is
      sigmoid(e_keep - e_prune) of the fused emission, and its lines are those of SWE-Pruner (`CharacterMeans`).
    - `relative` averages each output's logit, standardizes it over the document's tokens and only then combines them
      as `calibrated` does: what counts is how a line compares with the rest of its file, and the relevance says how
      sure the model is of the file at all.
    - `lines` averages and standardizes like `relative`, takes the mean of each output over a line, and scores a line by
      a logistic regression over its features (`features`). Its weights are those of the features: an
      output, or one of `TEXT_FEATURES`, or either of them taken elsewhere (`block.`, `above.`, `below.`). With a
      `network`, that one gives the log-odds instead. Then it moves the log-odds by `block` as above and takes their
      mean over lines nearby, whose reach is `near` (lines), and at last adds `named` to those of lines that the query
      names by number, and less to those around them (`lamr_contract.scoring.named_lines`).

    Weights are fitted on validation projects, networks on files of training projects too, and stored with the model.

    Attributes:
        kind: a key of `KINDS`.
        weights: the weight of each part by its name; a part without one doesn't count. Four names are fixed, and every
            other one is a rubric's, whose marginal is weighed:
            `keep_prob` is the fused chain's marginal and `relevance` the chunk's;
            `lexical` weighs the document's lexical evidence (0 to 1 a line), added to the logit of the averaged score;
            `block` is the share, from 0 to 1, by which a line's score moves towards the mean of its block.
            The kind `lines` has names of its own, see there.
        bias: added to the weighed logits.
        shares: the least and the largest share of a document's inked lines that the model's threshold may select;
            beyond them it adapts, so that a query that says little isn't answered by the hardest cut. None sets no
            bounds.
        told: the scoring of queries that ask nothing (`lamr_contract.scoring.query_kind`); None if they get this one. A
            question is answered by a passage, but what a task changes are single lines.
        presence: what makes a document's relevance out of its chunks', and how much it has to say about what is kept;
            None takes the largest of theirs, and it says nothing.
        network: what scores lines by their features; None for a regression. Only the kind `lines` may have one.

    Raises:
        ValueError: the kind is unknown, a share lies outside [0, 1], `told` has a `told` of its own, or another kind
            than `lines` has a network.
    """

    kind: str = "paper"
    weights: dict[str, float] = field(default_factory=dict)
    bias: float = 0.0
    shares: tuple[float, float] | None = None
    told: Scoring | None = None
    presence: Presence | None = None
    network: LineNetwork | None = None

    def __post_init__(self) -> None:
        if self.told is not None and self.told.told is not None:
            raise ValueError("the scoring of what is told can't have another in it")
        if not 0.0 <= self.weight(BLOCK) <= 1.0:
            raise ValueError(f"a block's share must be from 0 to 1, not {self.weight(BLOCK)}")
        if self.shares is not None and not 0.0 <= self.shares[0] <= self.shares[1] <= 1.0:
            raise ValueError(f"shares must rise and be from 0 to 1, not {self.shares}")
        if self.kind not in KINDS:
            raise ValueError(f"scoring kind must be one of {', '.join(KINDS)}, not {self.kind!r}")
        if self.network is not None and not KINDS[self.kind].by_line:
            raise ValueError(f"scoring of the kind {self.kind} can't have a network of lines")

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Scoring:
        """Return the scoring that `to_dict` has made a dictionary of.

        Raises:
            TypeError: a field is unknown, or `told` or `presence` no dictionary.
            ValueError: see the class.
        """
        told, shares, presence = data.get("told"), data.get("shares"), data.get("presence")
        network = data.get("network")
        return cls(
            **{
                **data,
                "told": None if told is None else cls.from_dict(told),
                "presence": None if presence is None else Presence(**presence),
                "shares": None if shares is None else tuple(map(float, shares)),
                "network": None if network is None else LineNetwork.from_dict(network),
            }
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the fields for `from_dict`, without those that say nothing: older clients don't know them."""
        fields = asdict(self)
        for name, part in (("told", self.told), ("presence", self.presence)):
            fields[name] = None if part is None else part.to_dict()
        return {name: value for name, value in fields.items() if value is not None}

    def adapted(self, threshold: float, scores: NDArray[np.float32], relevance: float = 1.0) -> float:
        """Return the threshold that a document gets: the model's, unless it selects too few or too many lines.

        It is higher where the document hardly holds what is looked for (`Presence.raised`). Lines that score alike are
        left together where taking all of them would exceed the least share.

        Args:
            threshold: the model's.
            scores: float32 [I], the scores of the document's inked lines.
            relevance: P(the document holds what is looked for).
        """
        if self.presence is not None:
            threshold = self.presence.raised(threshold, relevance)
        if self.shares is None or not len(scores):
            return threshold
        least, most = self.shares
        lowest, highest = np.quantile(scores, [1 - most, 1 - least], method="higher")
        # A score that more lines have is that of a crowd, none of which stands out.
        if (scores >= highest).mean() > least + 1 / len(scores):
            highest = np.nextafter(highest, np.float32(2))
        return float(min(max(threshold, lowest), highest))

    def weight(self, name: str) -> float:
        """Return the weight of a part; 0 for one that has none."""
        return self.weights.get(name, 0.0)

    @property
    def features(self) -> dict[str, float]:
        """The weights of a line's features, in their order; 0 for those of a network. Only for the kind `lines`."""
        if self.network is not None:
            return dict.fromkeys(self.network.features, 0.0)
        return {name: weight for name, weight in self.weights.items() if name not in _OF_NO_FEATURE}

    def for_query(self, query: str) -> Scoring:
        """Return the scoring that a query gets."""
        return self if self.told is None or asks(query) else self.told

    @property
    def weighs_associations(self) -> bool:
        """Whether some query's lines are scored by what `lamr_contract.scoring.associations` says."""
        own = KINDS[self.kind].by_line and ASSOCIATED in map(feature_name, self.features)
        return own or (self.told is not None and self.told.weighs_associations)

    @property
    def unchained(self) -> bool:
        """Whether the decoder must be exported without a chain for `keep_prob` to mean what this kind takes it for."""
        return KINDS[self.kind].unchained

    @property
    def outputs(self) -> dict[str, float]:
        """The weights of the model's outputs alone, in their order.

        An output that the kind `lines` weighs only by its block has the weight 0.
        """
        if KINDS[self.kind].by_line:
            names = dict.fromkeys(map(feature_name, self.features))
            return {name: self.weight(name) for name in names if name not in TEXT_FEATURES}
        return {name: weight for name, weight in self.weights.items() if name not in (LEXICAL, BLOCK)}


@dataclass(frozen=True, eq=False)
class Outputs:
    """A model's outputs for the m code tokens of one or several chunks, one chunk after another.

    Attributes:
        keep, keep_prob, rubric_prob: see `ChunkResult`.
        relevance: float64 [m], the relevance of each token's chunk.
    """

    keep: NDArray[np.uint8]
    keep_prob: NDArray[np.float32]
    rubric_prob: NDArray[np.float32] | None
    relevance: Float64Array

    @classmethod
    def of(cls, results: Sequence[ChunkResult]) -> Outputs:
        """Join results; `rubric_prob` is left out unless all of them have it."""
        rubrics = [result.rubric_prob for result in results if result.rubric_prob is not None]
        return cls(
            np.concatenate([result.keep for result in results]),
            np.concatenate([result.keep_prob for result in results]),
            np.concatenate(rubrics) if len(rubrics) == len(results) else None,
            np.repeat([float(result.relevance) for result in results], [len(each.keep) for each in results]),
        )


@dataclass(frozen=True)
class ScoringKind:
    """One way from outputs to scores: what is averaged over chunks, and what becomes of the averages.

    Attributes:
        columns: how many values of a token are averaged, F.
        values: these values float64 [m, F], from outputs for m tokens, a scoring and the names of the rubrics in the
            order of the K axis. The outputs have `rubric_prob` if the scoring weighs a rubric.
        scores: the scores float64 [n] of a whole document's tokens, from their averages float64 [n, F] and a scoring.
        lines: how the scores of tokens become scores of lines.
        unchained: whether the decoder is exported without a chain.
        by_line: whether lines are scored, not tokens. Then `scores` gives what is averaged over lines, [n, F].
    """

    columns: Callable[[Scoring], int]
    values: Callable[[Outputs, Scoring, Sequence[str]], Float64Array]
    scores: Callable[[Float64Array, Scoring], Float64Array]
    lines: type[TokenLines] = TokenLines
    unchained: bool = False
    by_line: bool = False


def zeros_by_column(rows: int, columns: int) -> Float64Array:
    """Return zeros [rows, columns] whose columns lie together in memory, because they are averaged one by one."""
    return np.zeros((columns, rows)).T


def _decisions(outputs: Outputs, _scoring: Scoring, _rubrics: Sequence[str]) -> Float64Array:
    """Return Viterbi's decisions [m, 1]."""
    return outputs.keep.astype(np.float64)[:, None]


def _probabilities(outputs: Outputs, _scoring: Scoring, _rubrics: Sequence[str]) -> Float64Array:
    """Return the probabilities of keep [m, 1]."""
    return outputs.keep_prob.astype(np.float64)[:, None]


def _logits(outputs: Outputs, scoring: Scoring, rubrics: Sequence[str]) -> Float64Array:
    """Return the log-odds [m, F] of the F outputs that a scoring weighs, in the order of its weights."""
    columns = zeros_by_column(len(outputs.keep), len(scoring.outputs))
    for place, name in enumerate(scoring.outputs):
        if name == KEEP_PROB:
            columns[:, place] = logit(outputs.keep_prob)
        elif name == RELEVANCE:
            columns[:, place] = logit(outputs.relevance)
        else:
            assert outputs.rubric_prob is not None
            columns[:, place] = logit(outputs.rubric_prob[:, rubrics.index(name)])
    return columns


def _combined(logits: Float64Array, scoring: Scoring) -> Float64Array:
    """Return the logistic combination [m] of log-odds [m, F]."""
    weights = np.fromiter(scoring.outputs.values(), np.float64)
    return sigmoid(logits @ weights + scoring.bias)


def _combinations(outputs: Outputs, scoring: Scoring, rubrics: Sequence[str]) -> Float64Array:
    """Return the logistic combinations [m, 1] of outputs."""
    return _combined(_logits(outputs, scoring, rubrics), scoring)[:, None]


def _standardized(logits: Float64Array) -> Float64Array:
    """Return each column of a document's log-odds [n, F] less its mean, in units of its spread."""
    if not len(logits):
        return logits
    centred = logits - np.add.reduce(logits, axis=0) / len(logits)
    spread = np.sqrt(np.add.reduce(centred * centred, axis=0) / len(logits))
    scaled: Float64Array = centred / (spread + _LEAST_SPREAD)
    return scaled


def _relative(logits: Float64Array, scoring: Scoring) -> Float64Array:
    """Return the combination [n] of averaged log-odds [n, F], standardized over the document."""
    return _combined(_standardized(logits), scoring)


def _only_column(averages: Float64Array, _scoring: Scoring) -> Float64Array:
    """Return averages [n, 1] as scores [n]."""
    return averages[:, 0]


KINDS = {
    "paper": ScoringKind(lambda _: 1, _decisions, _only_column),
    "emission": ScoringKind(lambda _: 1, _probabilities, _only_column, CharacterMeans, unchained=True),
    "calibrated": ScoringKind(lambda _: 1, _combinations, _only_column),
    "relative": ScoringKind(lambda scoring: len(scoring.outputs), _logits, _relative),
    "lines": ScoringKind(
        lambda scoring: len(scoring.outputs), _logits, lambda logits, _: _standardized(logits), by_line=True
    ),
}
"""The kinds of scoring by name."""
