"""`LineFeatures`: what is known of each line of a document before a network scores it.

A feature is a model's output, a view of the lexical evidence, the line's own form, or its place among the lines. Each
can also be taken of the line that heads the line, or of the lines that it heads. The module knows lines and numbers;
what a feature weighs, the network knows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from lamr_contract.arrays import Float64Array
from lamr_contract.headers import innermost_headers
from lamr_contract.layout import LineLayout
from lamr_contract.names import KEEP_PROB, RELEVANCE
from lamr_contract.scoring.evidence import LexicalViews, lexical_views
from lamr_contract.scoring.forms import line_forms
from lamr_contract.scoring.merging import Outputs, zeros_by_column
from lamr_contract.scoring.odds import logit
from lamr_contract.scoring.query_kind import asks
from lamr_contract.words import TermIndex

WINDOWS, AROUND, PASSAGE, OWN = "windows", "around", "passage", "own"
"""The features that come from query and text: the views of the lexical evidence."""
ASSOCIATED = "associated"
"""The feature that comes from query and text by what words go together, as log-odds (`associations`)."""
ASKED = "asked"
"""The feature that comes from the query alone: 1 for every line if it asks (`query_kind`)."""
COMMENT, MARKS, IMPORTS, LENGTH, REPEATS = "comment", "marks", "imports", "length", "repeats"
"""The features that come from the text alone (`LineForms`)."""
INDENT, OPENING, BEGINS = "indent", "opening", "begins"
"""The features that come from the layout: a quarter of the line's steps of indentation, at most 3; whether it may head
others; and whether it begins a block."""
TEXT_FEATURES = frozenset(
    (
        *(WINDOWS, AROUND, PASSAGE, OWN),
        *(ASSOCIATED, ASKED),
        *(COMMENT, MARKS, IMPORTS, LENGTH, REPEATS),
        *(INDENT, OPENING, BEGINS),
    )
)
"""The features that don't come from the model."""
ABOVE_PREFIX, BELOW_PREFIX = "above.", "below."
"""Each begins the name of a feature that is taken elsewhere: of the line that heads the line, or as the mean over the
lines that it heads itself; 0 where there is none. They may follow each other."""
_PREFIXES = (ABOVE_PREFIX, BELOW_PREFIX)
_DEEPEST = 12  # steps of indentation beyond which a line is no deeper than others
# The least spread that log-odds are divided by: a file whose parts are all alike has no ranking to be blown up.
_LEAST_SPREAD = 0.1


def output_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return the model's outputs that features are made of, each once."""
    return tuple(name for name in dict.fromkeys(map(_without_prefix, names)) if name not in TEXT_FEATURES)


def _without_prefix(name: str) -> str:
    while name.startswith(_PREFIXES):
        name = name.partition(".")[2]
    return name


def output_logits(outputs: Outputs, names: Sequence[str], rubrics: Sequence[str]) -> Float64Array:
    """Return the log-odds float64 [m, F] of a model's outputs for m tokens.

    Args:
        outputs: they have `rubric_prob` if a rubric is among the names.
        names: F names from `output_names`.
        rubrics: the names of the model's rubrics, in the order of the K axis.
    """
    columns = zeros_by_column(len(outputs.keep), len(names))
    for place, name in enumerate(names):
        if name == KEEP_PROB:
            columns[:, place] = logit(outputs.keep_prob)
        elif name == RELEVANCE:
            columns[:, place] = logit(outputs.relevance)
        else:
            assert outputs.rubric_prob is not None
            columns[:, place] = logit(outputs.rubric_prob[:, rubrics.index(name)])
    return columns


def standardized(logits: Float64Array, read: NDArray[np.bool_]) -> Float64Array:
    """Return each column of a document's log-odds [n, F] less its mean, in units of its spread; 0 for unread tokens.

    What counts is how a line compares with the rest of its file.

    Args:
        logits: the log-odds.
        read: bool [n], the tokens whose log-odds are known.
    """
    scaled = np.zeros_like(logits)
    known = logits if read.all() else logits[read]
    if not len(known):
        return scaled
    centred = known - np.add.reduce(known, axis=0) / len(known)
    spread = np.sqrt(np.add.reduce(centred * centred, axis=0) / len(known))
    scaled[read] = centred / (spread + _LEAST_SPREAD)
    return scaled


class LineFeatures:
    """What is known of the L lines of a text about which something is asked; each part is computed once, when needed.

    Attributes:
        query, text: what is looked for, and where.
        layout: the text's lines.
    """

    def __init__(self, query: str, text: str, layout: LineLayout) -> None:
        """Keep what features are made of.

        Args:
            query: what is looked for.
            text: the document.
            layout: `line_layout(text)`.
        """
        self.query, self.text, self.layout = query, text, layout

    @cached_property
    def index(self) -> TermIndex:
        """The terms of the lines."""
        return TermIndex.of(self.text, self.layout)

    @cached_property
    def views(self) -> LexicalViews:
        """The lexical evidence of the lines."""
        return lexical_views(self.query, self.layout, self.index)

    def matrix(
        self,
        names: Iterable[str],
        outputs: Mapping[str, Float64Array] | None = None,
        associated: Float64Array | None = None,
    ) -> Float64Array:
        """Return features float64 [L, F], in the order of their names.

        Args:
            names: the features.
            outputs: the means float64 [L] of the model's outputs over each line, by name.
            associated: float64 [L], the log-odds that associations give; None for a model that has none.

        Raises:
            KeyError: there is no such feature.
        """
        columns = {**self._of_text, **(outputs or {})}
        if associated is not None:
            columns[ASSOCIATED] = associated
        taken = [self._column(name, columns) for name in names]
        return np.stack(taken, axis=1) if taken else np.zeros((len(self.layout.blank), 0))

    def _column(self, name: str, columns: Mapping[str, Float64Array]) -> Float64Array:
        for prefix, taken in ((ABOVE_PREFIX, self._above), (BELOW_PREFIX, self._below)):
            if name.startswith(prefix):
                return taken(self._column(name.removeprefix(prefix), columns))
        return columns[name]

    def _above(self, values: Float64Array) -> Float64Array:
        """Return what values [L] are of the line that heads each line."""
        taken: Float64Array = np.where(self._header >= 0, values[self._header], 0.0)
        return taken

    def _below(self, values: Float64Array) -> Float64Array:
        """Return the means of values [L] over the lines that each line heads itself."""
        inside = self._header >= 0
        headed = self._header[inside]
        sums = np.bincount(headed, values[inside], len(values))
        means: Float64Array = sums / np.maximum(np.bincount(headed, minlength=len(values)), 1)
        return means

    @cached_property
    def _header(self) -> NDArray[np.int64]:
        return innermost_headers(self.layout)

    @cached_property
    def _of_text(self) -> dict[str, Float64Array]:
        """The features that come from query and text, but for associations."""
        layout, views, forms = self.layout, self.views, line_forms(self.text, self.layout)
        return {
            WINDOWS: views.windows,
            AROUND: views.around,
            PASSAGE: views.passages,
            OWN: views.own,
            ASKED: np.full(len(forms.length), float(asks(self.query))),
            COMMENT: forms.comment.astype(np.float64),
            MARKS: forms.marks.astype(np.float64),
            IMPORTS: forms.imports.astype(np.float64),
            LENGTH: forms.length,
            REPEATS: forms.repeats,
            INDENT: _depths(layout) / 4,
            OPENING: layout.opening.astype(np.float64),
            BEGINS: np.diff(layout.blocks, prepend=-1).astype(np.float64),
        }


def _depths(layout: LineLayout) -> Float64Array:
    """Return how many steps of the file's own indentation each line has, float64 [L], at most `_DEEPEST`."""
    indented = layout.columns[(layout.columns > 0) & ~layout.blank]
    step = max(1.0, float(np.quantile(indented, 0.1))) if len(indented) else 1.0
    depths: Float64Array = np.where(layout.blank, 0.0, np.minimum(layout.columns / step, _DEEPEST))
    return depths
