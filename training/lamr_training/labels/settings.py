"""The constants of rubric labels."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class EdgeWeights:
    """How much of a line's relevance flows along each kind of edge, in [0, 1]; 0 switches a kind off.

    Attributes:
        header: the weight of edges to the headers of the functions, classes and compound statements around the line.
        sibling: the weight of edges to the headers of the other branches of those compound statements.
        imported: the weight of edges to the import of a name that the line uses.
        defined: the weight of edges to the header of a function or class of the file that the line uses, or to the
            assignment of a module- or class-level name.
        caller: the weight of edges from a definition's header to the lines that call it.
    """

    header: float = 1.0
    sibling: float = 1.0
    imported: float = 1.0
    defined: float = 0.8
    caller: float = 0.4


@dataclass(frozen=True, kw_only=True)
class LabelSettings:
    """The constants that labels follow from.

    Attributes:
        hops: how many edges relevance flows along.
        decay: the share of relevance that is left at each hop after the first, which has the edge's own weight.
        threshold: the least weight of a line that is labelled "keep", as a share of the document's score.
        score_floor: the score below which a document keeps nothing, because its lines are noise.
        edges: the weights of the kinds of dependency.
        definition_lines: how many lines of an assignment explain its name at most; tables can be long.
    """

    hops: int = 2
    decay: float = 0.5
    threshold: float = 0.5
    score_floor: float = 0.1
    edges: EdgeWeights = field(default_factory=EdgeWeights)
    definition_lines: int = 5
