"""The variants of the paper's Table 7, as a table: what is learned, by which labels, with chains or without."""

from __future__ import annotations

from dataclasses import dataclass

COLUMNS = ("semantic", "dependency", "context", "textual")
WEIGHTS = {"semantic": 1.0, "dependency": 0.7, "context": 0.7}


@dataclass(frozen=True)
class Variant:
    """A row of the table.

    Attributes:
        name: as the paper has it.
        rubrics: what is learned.
        chains: whether decisions are chained (CRF) or each token's own (FFN).
        tree: whether labels come from the syntax tree.
        paper: the paper's F1.
    """

    name: str
    rubrics: tuple[str, ...]
    paper: float
    chains: bool = True
    tree: bool = True

    @property
    def slug(self) -> str:
        """For file names."""
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
