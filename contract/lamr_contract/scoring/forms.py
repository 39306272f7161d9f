"""`LineForms`: what the lines of a document look like, whatever is asked about them.

Changes fall on lines of some forms more than on others: seldom on a lone brace, on an import, or on a line that stands
in the file ten times. The module knows characters and lines. It knows no query, no model and no grammar.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from lamr_postprocess.layout import LineLayout
from numpy.typing import NDArray

from lamr_contract.arrays import Float64Array

LONGEST = 120
"""The characters beyond which a longer line is no longer than others."""
# The two characters that a line of comment begins with. A `#` before a letter is a directive in C, before `[` an
# attribute in Rust. What begins with `*` goes on in a comment of several lines.
_COMMENT_SIGNS = ("//", "/*", "*/", "* ", "*\n", "**", "# ", "#\n", "##", "#!", "--", '""', "''")
_COMMENT_CODES = np.array([ord(sign[0]) * 256 + ord(sign[1]) for sign in _COMMENT_SIGNS])
# What a line begins with that makes names of other files known, or names the file's own package.
_IMPORT_SIGNS = (
    *("import ", "import(", "from ", "export * from", "require", "use ", "pub use ", "extern crate "),
    *("using ", "namespace ", "package ", "#include", "# include", "#import", "include ", "include_once"),
)
_BEGINS_IMPORT = np.array([any(sign[0] == chr(point) for sign in _IMPORT_SIGNS) for point in range(129)])


@dataclass(frozen=True, eq=False)
class LineForms:
    """The forms of L lines.

    Attributes:
        comment: bool [L], whether the line begins like a comment in any usual language. What stands in the middle of a
            docstring isn't found, because only a grammar would know.
        marks: bool [L], whether the line has no letter, digit or underscore, but isn't blank.
        imports: bool [L], whether the line begins like an import in any usual language.
        length: float64 [L], the line's characters between its white space, as a share of `LONGEST`, in [0, 1].
        repeats: float64 [L], the logarithm of how many lines are the same but for white space around them; 0 for blank
            ones.
    """

    comment: NDArray[np.bool_]
    marks: NDArray[np.bool_]
    imports: NDArray[np.bool_]
    length: Float64Array
    repeats: Float64Array


def line_forms(text: str, layout: LineLayout) -> LineForms:
    """Return the forms of a text's lines.

    Args:
        text: the text.
        layout: `line_layout(text)`.
    """
    parts = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    lines = list(map(str.strip, parts[: len(layout.spans)]))
    count = Counter(lines)
    inked = ~layout.blank
    lengths = np.fromiter(map(len, lines), np.float64, len(lines))
    alike = np.fromiter(map(count.__getitem__, lines), np.float64, len(lines))
    return LineForms(
        comment=_in_comment(layout),
        marks=inked & ~_holds_words(layout),
        imports=_imports(lines, layout),
        length=np.minimum(lengths, LONGEST) / LONGEST * inked,
        repeats=np.log(np.where(inked, alike, 1.0)),
    )


def _imports(lines: list[str], layout: LineLayout) -> NDArray[np.bool_]:
    imports = np.zeros(len(lines), np.bool_)
    inked = np.flatnonzero(~layout.blank)
    begins = np.minimum(layout.points[layout.first[inked]], 128)
    for place in inked[_BEGINS_IMPORT[begins]].tolist():
        imports[place] = lines[place].startswith(_IMPORT_SIGNS)
    return imports


def _in_comment(layout: LineLayout) -> NDArray[np.bool_]:
    points = layout.points
    if not len(points):
        return np.zeros(len(layout.blank), np.bool_)
    first = np.minimum(layout.first, len(points) - 1)
    pairs = np.minimum(points[[first, np.minimum(first + 1, len(points) - 1)]].astype(np.int64), 255)
    comment: NDArray[np.bool_] = np.isin(pairs[0] * 256 + pairs[1], _COMMENT_CODES) & ~layout.blank
    return comment


def _holds_words(layout: LineLayout) -> NDArray[np.bool_]:
    """Return which lines have a letter, a digit or an underscore, bool [L]."""
    if not len(layout.spans):
        return np.zeros(0, np.bool_)
    holds: NDArray[np.bool_] = np.logical_or.reduceat(layout.kinds > 0, layout.spans[:, 0])
    return holds
