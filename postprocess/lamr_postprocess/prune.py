"""`prune_lines`: line scores in, code that stands up out. The package's main entry."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lamr_postprocess.document import Document, analyse
from lamr_postprocess.languages import Language, detect_language, language_named
from lamr_postprocess.lines import BoolArray
from lamr_postprocess.render import Style, render
from lamr_postprocess.repair import REASONS, SELECTED, Codes
from lamr_postprocess.result import PrunedCode


def prune_lines(  # noqa: PLR0913  # one keyword an option is what callers of a function want
    code: str,
    line_scores: ArrayLike,
    *,
    path: str | None = None,
    language: str | None = None,
    threshold: float = 0.4,
    dependency: ArrayLike | None = None,
    repair: bool = True,
    markers: str = "comment",
    line_numbers: bool = False,
) -> PrunedCode:
    """Keep the lines that score, repair the result, mark what was cut (paper section 3.4).

    Args:
        code: the text, of L lines (see `line_spans`).
        line_scores: float [L]; higher is worth more. Need not be probabilities.
        path, language: either names the language; without both it is guessed from the content.
        threshold: a line is selected when its score is at least this.
        dependency: bool [L], selected lines whose reason is `dependency` rather than `semantic`.
        repair: whether to add the lines that the selection needs; without it nothing is promised about parsing.
        markers: `comment` or `swe-pruner`.
        line_numbers: write original line numbers before the lines.

    Raises:
        ValueError: unknown language or marker style, scores of another length or not finite.
    """
    style = Style(markers, line_numbers)
    document = analyse(code, _language(code, path, language))
    count = document.spans.shape[0]
    scores = _per_line("line_scores", line_scores, count, np.float64)
    if not np.isfinite(scores).all():
        raise ValueError("line_scores must be finite numbers; found NaN or infinity")
    selected = scores >= threshold
    codes = document.repair(selected) if repair else np.where(selected, SELECTED, 0).astype(np.int8)
    depends = None if dependency is None else _per_line("dependency", dependency, count, np.bool_)
    return _result(document, codes, depends, style)


def _language(code: str, path: str | None, language: str | None) -> Language:
    return language_named(language) if language is not None else detect_language(code, path)


def _per_line(name: str, values: ArrayLike, lines: int, dtype: type[np.generic]) -> NDArray[Any]:
    array = np.asarray(values, dtype=dtype)
    if array.shape != (lines,):
        raise ValueError(
            f"{name} has shape {array.shape} but the code has {lines} lines; give one value a line"
        )
    return array


def _result(document: Document, codes: Codes, dependency: BoolArray | None, style: Style) -> PrunedCode:
    kept = codes != 0
    text, cuts = render(document, kept, style)
    rows = np.flatnonzero(kept)
    names = [REASONS[code] for code in codes[rows].tolist()]
    if dependency is not None:
        flags = (dependency & (codes == SELECTED))[rows].tolist()
        names = ["dependency" if flag else name for name, flag in zip(names, flags, strict=True)]
    numbers = (rows + 1).tolist()
    return PrunedCode(
        text=text,
        kept_lines=tuple(numbers),
        reasons=dict(zip(numbers, names, strict=True)),
        cuts=cuts,
        language=document.language.name,
        note=document.note,
    )
