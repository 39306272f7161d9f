"""`LineFeatures`: what is known of each line of a document, for scorings that weigh lines instead of tokens.

A feature is a model's output, a view of the lexical evidence, or the line's own form. Each can also be taken of the
line's block, as the mean over it. The module knows lines and numbers; what a feature weighs, `scoring` knows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from lamr_contract.arrays import Float64Array
from lamr_contract.blocks import block_means
from lamr_contract.layout import LineLayout
from lamr_contract.lexical_evidence import LexicalViews

WINDOWS, AROUND, PASSAGE, OWN, COMMENT = "windows", "around", "passage", "own", "comment"
FORM_FEATURES = frozenset((WINDOWS, AROUND, PASSAGE, OWN, COMMENT))
"""The features that come from query and text, not from the model."""
BLOCK_PREFIX = "block."
"""Begins the name of a feature that is taken of the line's block."""

# The two characters that a line of comment begins with. A `#` before a letter is a directive in C, before `[` an
# attribute in Rust. What begins with `*` goes on in a comment of several lines.
_COMMENT_SIGNS = ("//", "/*", "*/", "* ", "*\n", "**", "# ", "#\n", "##", "#!", "--", '""', "''")
_COMMENT_CODES = np.array([ord(sign[0]) * 256 + ord(sign[1]) for sign in _COMMENT_SIGNS])


def feature_name(name: str) -> str:
    """Return a feature's name without the prefix that takes it of the block."""
    return name.removeprefix(BLOCK_PREFIX)


class LineFeatures:
    """The features of one document's lines; means over blocks are computed when they are asked for."""

    def __init__(self, layout: LineLayout, views: LexicalViews, outputs: Mapping[str, Float64Array]) -> None:
        """Keep what features are made of.

        Args:
            layout: the document's L lines.
            views: the lexical evidence of its lines.
            outputs: the means float64 [L] of the model's outputs over each line, by name.
        """
        self._layout = layout
        self._columns: dict[str, Float64Array] = {
            **outputs,
            WINDOWS: views.windows,
            AROUND: views.around,
            PASSAGE: views.passages,
            OWN: views.own,
            COMMENT: in_comment(layout).astype(np.float64),
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


def in_comment(layout: LineLayout) -> NDArray[np.bool_]:
    """Return which lines begin like a comment in any usual language, bool [L].

    What stands in the middle of a docstring isn't found, because only a grammar would know.
    """
    points = layout.points
    if not len(points):
        return np.zeros(len(layout.blank), np.bool_)
    first = np.minimum(layout.first, len(points) - 1)
    pairs = np.minimum(points[[first, np.minimum(first + 1, len(points) - 1)]].astype(np.int64), 255)
    comment: NDArray[np.bool_] = np.isin(pairs[0] * 256 + pairs[1], _COMMENT_CODES) & ~layout.blank
    return comment
