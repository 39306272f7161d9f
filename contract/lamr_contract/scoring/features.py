"""`LineFeatures`: what is known of each line of a document, for scorings that weigh lines instead of tokens.

A feature is a model's output, a view of the lexical evidence, the line's own form, or its place among the lines. Each
can also be taken of the line's block, of the line that heads it, or of the lines that it heads. The module knows lines
and numbers; what a feature weighs, `scoring` knows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from lamr_contract.arrays import Float64Array
from lamr_contract.headers import innermost_headers
from lamr_contract.layout import LineLayout
from lamr_contract.scoring.blocks import block_means
from lamr_contract.scoring.evidence import LexicalViews
from lamr_contract.scoring.forms import LineForms

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
BLOCK_PREFIX, ABOVE_PREFIX, BELOW_PREFIX = "block.", "above.", "below."
"""Each begins the name of a feature that is taken elsewhere: as the mean over the line's block, of the line that heads
the line, or as the mean over the lines that it heads itself; 0 where there is none. They may follow each other."""
_PREFIXES = (BLOCK_PREFIX, ABOVE_PREFIX, BELOW_PREFIX)
_DEEPEST = 12  # steps of indentation beyond which a line is no deeper than others


def feature_name(name: str) -> str:
    """Return a feature's name without the prefixes that take it elsewhere."""
    while name.startswith(_PREFIXES):
        name = name.partition(".")[2]
    return name


class LineFeatures:
    """The features of one document's lines; those that are taken elsewhere are computed when they are asked for."""

    def __init__(  # noqa: PLR0913 - keywords with defaults
        self,
        layout: LineLayout,
        views: LexicalViews,
        forms: LineForms,
        outputs: Mapping[str, Float64Array],
        associated: Float64Array | None = None,
        *,
        asked: bool = False,
    ) -> None:
        """Keep what features are made of.

        Args:
            layout: the document's L lines.
            views: the lexical evidence of its lines.
            forms: what its lines look like.
            outputs: the means float64 [L] of the model's outputs over each line, by name.
            associated: float64 [L], the log-odds that associations give; None for a model that has none.
            asked: whether the query asks.
        """
        self._layout = layout
        self._columns: dict[str, Float64Array] = {
            **outputs,
            WINDOWS: views.windows,
            AROUND: views.around,
            PASSAGE: views.passages,
            OWN: views.own,
            COMMENT: forms.comment.astype(np.float64),
            MARKS: forms.marks.astype(np.float64),
            IMPORTS: forms.imports.astype(np.float64),
            LENGTH: forms.length,
            REPEATS: forms.repeats,
            ASKED: np.full(len(forms.length), float(asked)),
        }
        if associated is not None:
            self._columns[ASSOCIATED] = associated

    def matrix(self, names: Iterable[str]) -> Float64Array:
        """Return features float64 [L, F], in the order of their names.

        Raises:
            KeyError: there is no such feature.
        """
        columns = [self._column(name) for name in names]
        return np.stack(columns, axis=1) if columns else np.zeros((len(self._layout.blank), 0))

    def _column(self, name: str) -> Float64Array:
        for prefix, taken in (
            (BLOCK_PREFIX, self._of_block),
            (ABOVE_PREFIX, self._above),
            (BELOW_PREFIX, self._below),
        ):
            if name.startswith(prefix):
                return taken(self._column(name.removeprefix(prefix)))
        if name in self._columns:
            return self._columns[name]
        return self._of_layout[name]

    def _of_block(self, values: Float64Array) -> Float64Array:
        """Return the means of values [L] over each line's block."""
        return block_means(values, self._layout)

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
        return innermost_headers(self._layout)

    @cached_property
    def _of_layout(self) -> dict[str, Float64Array]:
        layout = self._layout
        return {
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
