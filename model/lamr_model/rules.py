"""`Scoring`: by which rule a model's answers become line scores, as its `lamr.json` says.

Three kinds are known. Two are rules over tokens and need nothing that is learned: `paper`, which averages the decisions
of Viterbi's path (paper section 3.4), and `emission`, which is SWE-Pruner's. With `lines`, a network scores lines, and
its weights lie beside the description. The module knows rules and numbers; it computes no score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, field
from typing import Any

import numpy as np
from lamr_base.arrays import logit, sigmoid
from lamr_base.records import dataclass
from numpy.typing import NDArray

from lamr_model.query_kind import asks

SEMANTIC, DEPENDENCY = "semantic", "dependency"
PAPER, EMISSION, LINES = "paper", "emission", "lines"
KINDS = (PAPER, EMISSION, LINES)
"""The kinds of scoring."""
BEST, MEAN, TOGETHER, NAMED, PATHLESS = "best", "mean", "together", "named", "pathless"
FEATURES = (BEST, MEAN, TOGETHER, NAMED, PATHLESS)
"""What is known of a document: the log-odds of its best part, and their mean over parts; the largest share of the
query's words that one block has; the share of the file's name that the query has; 1 where no path is known."""


@dataclass(frozen=True)
class AnswerPrior:
    """A logistic regression over a document's features.

    Attributes:
        weights: the weight of each feature, by its name in `FEATURES`.
        bias: added to what they weigh. They are fitted where half of the documents hold what is looked for.
        prior: the share of documents that hold what is looked for, among those that are read for it; None if
            presence says nothing about what is kept.

    Raises:
        ValueError: a weight's feature is unknown, or the prior doesn't lie between 0 and 1."""

    weights: dict[str, float] = field(default_factory=dict)
    bias: float = 0.0
    prior: float | None = None

    def __post_init__(self) -> None:
        unknown = self.weights.keys() - set(FEATURES)
        if unknown:
            raise ValueError(f"presence weighs {sorted(unknown)}, but knows {', '.join(FEATURES)}")
        if self.prior is not None and not 0 < self.prior < 1:
            raise ValueError(f"the prior of presence must lie between 0 and 1, not be {self.prior}")

    def probability(self, features: Mapping[str, float], understood: float = 1.0) -> float:
        """Return P(the document holds what is looked for). `features`: the value of each feature, from
        `document_features`. `understood`: how much the model understands of the query (`LineModel.understood`).
        Log-odds below 0 are multiplied by it, since words that mean nothing to the model say nothing of what a
        document lacks."""
        odds = self.bias + sum(weight * features[name] for name, weight in self.weights.items())
        return float(sigmoid(np.array([odds if odds > 0 else understood * odds]))[0])

    def raised(self, threshold: float, probability: float) -> float:
        """Return the threshold for the lines of a document that holds what is looked for with some probability.

        A line's score speaks of a document that holds it. Without that knowledge the line is needed with the product
        of both probabilities, so the threshold is divided by the document's, after the prior. `threshold`: that of a
        document which surely holds what is looked for, in [0, 1]. `probability`: `probability` of this
        one."""
        if self.prior is None:
            return threshold
        return min(1.0, threshold / float(sigmoid(logit(probability) + logit(self.prior))))


@dataclass(frozen=True)
class LineRule:
    """What becomes of the line model's log-odds of lines, for one sort of query. It is fitted on validation projects.

    Attributes:
        bias: is added to the log-odds of all lines, where the encoder has read some.
        unread: is added instead where it has read none.
        named: is added to those of lines that the query names by number, and less to lines around them
            (`named_lines`).
        shares: the least and the largest share of a document's inked lines that the model's threshold may select;
            beyond them it adapts, so that a query that says little isn't answered by the hardest cut. None sets no
            bounds.
        presence: what makes a document's relevance out of its chunks', and how much it has to say about what is kept;
            None takes the largest of theirs, and it says nothing.
        unread_presence: the same by the best lines, where the encoder has read nothing.

    Raises:
        ValueError: a share lies outside [0, 1]."""

    bias: float = 0.0
    unread: float = 0.0
    named: float = 0.0
    shares: tuple[float, float] | None = None
    presence: AnswerPrior | None = None
    unread_presence: AnswerPrior | None = None

    def __post_init__(self) -> None:
        if self.shares is not None and not 0.0 <= self.shares[0] <= self.shares[1] <= 1.0:
            raise ValueError(f"shares must rise and be from 0 to 1, not {self.shares}")

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> LineRule:
        """Return the rule that `dataclasses.asdict` has made a dictionary of. Raises `TypeError`: a field is unknown,
        or `shares` or `presence` of another form. Raises `ValueError`: see the class."""
        shares = data.get("shares")
        parts: dict[str, Any] = {"shares": None if shares is None else tuple(map(float, shares))}
        for name in ("presence", "unread_presence"):
            parts[name] = None if data.get(name) is None else AnswerPrior(**data[name])
        return cls(**{**data, **parts})


@dataclass(frozen=True)
class Scoring:
    """The rule by which a model's answers become line scores.

    Attributes:
        kind: one of `KINDS`.
        asked, told: for the kind `lines`, what becomes of log-odds where the query is a question, and where it isn't
            (`query_kind`): a question is answered by a passage, but what a task changes are single lines. Other kinds
            have neither.

    Raises:
        ValueError: the kind is unknown, or has not the rules for lines that it needs."""

    kind: str = PAPER
    asked: LineRule | None = None
    told: LineRule | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"scoring kind must be one of {', '.join(KINDS)}, not {self.kind!r}")
        if not (self.asked is None) == (self.told is None) == (self.kind != LINES):
            raise ValueError(
                f"scoring of the kind {LINES} has the rules `asked` and `told`; other kinds have none"
            )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Scoring:
        """Return the scoring that `to_dict` has made a dictionary of. Raises `TypeError`: a field is unknown or of
        another type. Raises `ValueError`: see the classes."""
        fields: dict[str, Any] = {**data}
        fields.pop("usual", None)  # which older models carry
        for name in {"asked", "told"} & data.keys():
            fields[name] = LineRule.from_dict(data[name])
        return cls(**fields)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields for `from_dict`, without those that are None."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    def for_query(self, query: str) -> LineRule:
        """Return what becomes of the log-odds of lines for a query; for a rule over tokens, nothing does."""
        return (self.asked if asks(query) else self.told) or LineRule()

    @property
    def unchained(self) -> bool:
        """Whether the decoder must be exported without a chain for `keep_prob` to mean what this kind takes it for."""
        return self.kind == EMISSION


def adapted(threshold: float, rule: LineRule, scores: NDArray[np.float32], relevance: float = 1.0) -> float:
    """Return the threshold that a document gets: the model's, unless it selects too few or too many lines.

    It is higher where the document hardly holds what is looked for (`AnswerPrior.raised`). Lines that score alike are
    left together where taking all of them would exceed the least share. `scores`: float32 [I], the scores of the
    document's inked lines. `relevance`: P(the document holds what is looked for)."""
    if rule.presence is not None:
        threshold = rule.presence.raised(threshold, relevance)
    if rule.shares is None or not len(scores):
        return threshold
    least, most = rule.shares
    places = np.ceil((len(scores) - 1) * np.array([1 - most, 1 - least])).astype(np.int64)
    lowest, highest = np.sort(scores)[places]  # quantiles
    # A score that more lines have is that of a crowd, none of which stands out.
    if (scores >= highest).mean() > least + 1 / len(scores):
        highest = np.nextafter(highest, np.float32(2))
    return float(min(max(threshold, lowest), highest))
