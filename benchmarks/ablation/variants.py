"""The variants of the paper's Table 7, as a table.

They differ in what is learned, from which labels, and whether decisions are chained.
"""

from __future__ import annotations

from dataclasses import dataclass

COLUMNS = ("semantic", "dependency", "context", "textual")
"""The labels that examples of an ablation have; textual ones are dependency labels without a syntax tree."""
WEIGHTS = {"semantic": 1.0, "dependency": 0.7, "context": 0.7}
"""The weight of each rubric's chain in the loss."""


@dataclass(frozen=True)
class Variant:
    """A row of the table.

    Attributes:
        name: the paper's name of it.
        rubrics: the rubrics that are learned.
        paper: the paper's F1.
        chains: whether decisions are chained (CRF) or each token is decided by itself (FFN).
        tree: whether dependency labels come from the syntax tree.
    """

    name: str
    rubrics: tuple[str, ...]
    paper: float
    chains: bool = True
    tree: bool = True

    @property
    def slug(self) -> str:
        """The variant's name in file names."""
        return "-".join([*self.rubrics, "crf" if self.chains else "ffn", "tree" if self.tree else "text"])


VARIANTS = (
    Variant("semantic", ("semantic",), 0.7770),
    Variant("semantic + context", ("semantic", "context"), 0.7875),
    Variant("dependency + context", ("dependency", "context"), 0.7860),
    Variant(
        "semantic + dependency + context, FFN", ("semantic", "dependency", "context"), 0.7547, chains=False
    ),
    Variant("semantic + dependency + context", ("semantic", "dependency", "context"), 0.7844),
    Variant("semantic + dependency, without AST", ("semantic", "dependency"), 0.7804, tree=False),
    Variant("semantic + dependency", ("semantic", "dependency"), 0.7958),
)
WHOLE = VARIANTS[-1]
"""The paper's model, which the others are compared with."""
