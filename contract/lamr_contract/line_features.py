"""`LineFeatures`: what is known of each line of a document, for scorings that weigh lines instead of tokens.

A feature is a model's output, a view of the lexical evidence, or the line's own form. Each can also be taken of the
line's block, as the mean over it. The module knows lines and numbers; what a feature weighs, `scoring` knows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from lamr_contract.arrays import Float64Array
from lamr_contract.blocks import block_means
from lamr_contract.layout import LineLayout
from lamr_contract.lexical_evidence import LexicalViews
from lamr_contract.line_forms import LineForms

WINDOWS, AROUND, PASSAGE, OWN = "windows", "around", "passage", "own"
"""The features that come from query and text: the views of the lexical evidence."""
COMMENT, MARKS, IMPORTS, LENGTH, REPEATS = "comment", "marks", "imports", "length", "repeats"
"""The features that come from the text alone (`LineForms`)."""
TEXT_FEATURES = frozenset((WINDOWS, AROUND, PASSAGE, OWN, COMMENT, MARKS, IMPORTS, LENGTH, REPEATS))
"""The features that don't come from the model."""
BLOCK_PREFIX = "block."
"""Begins the name of a feature that is taken of the line's block."""


def feature_name(name: str) -> str:
    """Return a feature's name without the prefix that takes it of the block."""
    return name.removeprefix(BLOCK_PREFIX)


class LineFeatures:
    """The features of one document's lines; means over blocks are computed when they are asked for."""

    def __init__(
        self, layout: LineLayout, views: LexicalViews, forms: LineForms, outputs: Mapping[str, Float64Array]
    ) -> None:
        """Keep what features are made of.

        Args:
            layout: the document's L lines.
            views: the lexical evidence of its lines.
            forms: what its lines look like.
            outputs: the means float64 [L] of the model's outputs over each line, by name.
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
        }

    def matrix(self, names: Iterable[str]) -> Float64Array:
        """Return features float64 [L, F], in the order of their names.

        Raises:
            KeyError: there is no such feature.
        """
        columns = [self._column(name) for name in names]
        return np.stack(columns, axis=1) if columns else np.zeros((len(self._layout.blank), 0))

    def _column(self, name: str) -> Float64Array:
        values = self._columns[feature_name(name)]
        return block_means(values, self._layout) if name.startswith(BLOCK_PREFIX) else values
