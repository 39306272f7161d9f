"""`Scoring`: by which rule a model's answers become line scores, as its `lamr.json` says.

Three kinds are known. Two are rules over tokens and need nothing that is learned: `paper`, which averages the decisions
of Viterbi's path (paper section 3.4), and `emission`, which is SWE-Pruner's. With `lines`, a network scores lines, and
its weights lie beside the description (`weights`). The module knows rules and numbers; it computes no score.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from lamr_postprocess.lines import CharacterMeans, TokenLines
from numpy.typing import NDArray

from lamr_contract.scoring.merging import Outputs
from lamr_contract.scoring.presence import Presence
from lamr_contract.scoring.query_kind import asks

SEMANTIC, DEPENDENCY = "semantic", "dependency"
PAPER, EMISSION, LINES = "paper", "emission", "lines"


@dataclass(frozen=True)
class TokenRule:
    """A rule that gives each token one of the model's outputs as its score, and each line the mean over its characters.

    Attributes:
        value: the scores [m] of the tokens that outputs are about.
        lines: how means over lines are taken.
        unchained: whether the decoder must be exported without a chain. Then `keep_prob` is
            sigmoid(e_keep - e_prune) of the fused emission.
    """

    value: Callable[[Outputs], NDArray[Any]]
    lines: type[TokenLines] = TokenLines
    unchained: bool = False


TOKEN_RULES = {
    PAPER: TokenRule(lambda outputs: outputs.keep),
    EMISSION: TokenRule(lambda outputs: outputs.keep_prob, CharacterMeans, unchained=True),
}
"""The rules over tokens by the kind of scoring."""
KINDS = (*TOKEN_RULES, LINES)
"""The kinds of scoring."""


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
        ValueError: a share lies outside [0, 1].
    """

    bias: float = 0.0
    unread: float = 0.0
    named: float = 0.0
    shares: tuple[float, float] | None = None
    presence: Presence | None = None
    unread_presence: Presence | None = None

    def __post_init__(self) -> None:
        if self.shares is not None and not 0.0 <= self.shares[0] <= self.shares[1] <= 1.0:
            raise ValueError(f"shares must rise and be from 0 to 1, not {self.shares}")

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> LineRule:
        """Return the rule that `dataclasses.asdict` has made a dictionary of.

        Raises:
            TypeError: a field is unknown, or `shares` or `presence` of another form.
            ValueError: see the class.
        """
        shares = data.get("shares")
        parts: dict[str, Any] = {"shares": None if shares is None else tuple(map(float, shares))}
        for name in ("presence", "unread_presence"):
            parts[name] = None if data.get(name) is None else Presence(**data[name])
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
        ValueError: the kind is unknown, or has not the rules for lines that it needs.
    """

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
        """Return the scoring that `to_dict` has made a dictionary of.

        Raises:
            TypeError: a field is unknown or of another type.
            ValueError: see the classes.
        """
        fields = {name: value for name, value in data.items() if name != "usual"}  # which older models carry
        rules = {name: LineRule.from_dict(data[name]) for name in ("asked", "told") if name in data}
        return cls(**{**fields, **rules})

    def to_dict(self) -> dict[str, Any]:
        """Return the fields for `from_dict`, without those that are None."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    def for_query(self, query: str) -> LineRule:
        """Return what becomes of the log-odds of lines for a query; for a rule over tokens, nothing does."""
        return (self.asked if asks(query) else self.told) or LineRule()

    @property
    def unchained(self) -> bool:
        """Whether the decoder must be exported without a chain for `keep_prob` to mean what this kind takes it for."""
        return self.kind in TOKEN_RULES and TOKEN_RULES[self.kind].unchained


def adapted(threshold: float, rule: LineRule, scores: NDArray[np.float32], relevance: float = 1.0) -> float:
    """Return the threshold that a document gets: the model's, unless it selects too few or too many lines.

    It is higher where the document hardly holds what is looked for (`Presence.raised`). Lines that score alike are left
    together where taking all of them would exceed the least share.

    Args:
        threshold: the model's.
        rule: what becomes of lines for the query at hand.
        scores: float32 [I], the scores of the document's inked lines.
        relevance: P(the document holds what is looked for).
    """
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
