"""One HTML page that shows what a threshold keeps, and why: shaded by score, coloured by reason, with a slider.

The page is self-contained: it uses no network, no fonts and no libraries, and its content security policy allows none.
The slider is exact, because what repair adds is computed here for each of its steps.
"""

from __future__ import annotations

import html
import json
import re

import numpy as np
from lamr_base.errors import visible
from numpy.typing import ArrayLike, NDArray

from lamr_postprocess.document import Document, analyse
from lamr_postprocess.languages import language_named
from lamr_postprocess.page_template import TEMPLATE
from lamr_postprocess.prune import MOST_OUTCOMES
from lamr_postprocess.repair import CUT, DEPENDENCY, REASONS, SELECTED, adding
from lamr_postprocess.selection import highest_thresholds
from lamr_postprocess.source_file import SourceFile

_STEPS = 41
_CODES = "abcdefghijklmnopqrstuvwxyz"  # one letter a reason, in the order of REASONS


def render_html(  # noqa: PLR0913  # one keyword an option is what callers of a function want
    code: str,
    line_scores: ArrayLike,
    *,
    path: str | None = None,
    language: str | None = None,
    listed: bool = True,
    threshold: float = 0.4,
    query: str = "",
    dependency: ArrayLike | None = None,
) -> str:
    """A page for a file of L lines.

    Args:
        code: the file's text.
        line_scores: float [L], one score a line.
        path: the file's path, which tells the language and is the page's title.
        language: the language's name, instead of the path.
        listed: see `prune_lines`.
        threshold: where the slider stands at first.
        query: the query, which stands above the code.
        dependency: bool [L], lines whose own reason is `dependency`.

    Raises:
        ValueError: the language is unknown, or there is another number of scores.
    """
    given = None if language is None else language_named(language)
    source = SourceFile(code, path or "", given, listed)
    document = analyse(source)
    scores = np.asarray(line_scores, dtype=np.float64)
    lines = document.spans.shape[0]
    if scores.shape != (lines,):
        raise ValueError(
            f"line_scores has shape {scores.shape} but the code has {lines} lines; give one value a line"
        )
    highest = highest_thresholds(document, scores)
    steps = _steps(highest, threshold)
    fates = _fates(document, highest, steps, dependency)
    data = {
        "steps": [float(step) for step in steps],
        "start": int(np.argmin(np.abs(steps - threshold))),
        "reasons": {letter: reason or "pruned" for letter, reason in zip(_CODES, REASONS, strict=False)},
        "fates": fates,
    }
    parts = {
        "TITLE": html.escape(visible(path or "pruned code", lines=True)),
        "QUERY": html.escape(visible(query, lines=True)),
        "NOTE": html.escape(document.note or ""),
        "DATA": json.dumps(data).replace("<", "\\u003c"),
        "ROWS": _rows(source.lines, scores, document),
    }
    return re.sub("@([A-Z]+)@", lambda match: parts[match[1]], TEMPLATE)


def _steps(highest: NDArray[np.float64], threshold: float) -> NDArray[np.float64]:
    """The thresholds that the slider offers: the given one, and others between which about equally many lines lie."""
    if not highest.size:
        return np.array([threshold])
    evenly = np.quantile(highest, np.linspace(0, 1, _STEPS), method="lower")
    nothing = float(highest.max()) + 1e-3  # the last step keeps no line
    steps: NDArray[np.float64] = np.unique(np.floor(np.append(evenly, [nothing, threshold]) * 1e6) / 1e6)
    return steps


def _fates(
    document: Document, highest: NDArray[np.float64], steps: NDArray[np.float64], dependency: ArrayLike | None
) -> list[str]:
    """A string for each line, with a letter for each step: why the line is kept there, `a` where it is cut."""
    table = np.full((steps.shape[0], highest.shape[0]), CUT, dtype=np.int8)
    always = document.outcome.order[:MOST_OUTCOMES]
    nothing = np.zeros(len(highest), np.bool_)
    for row, step in enumerate(steps):
        table[row] = adding(document.rules, document.repair(nothing, highest >= step), always)
    if dependency is not None:
        table[(table == SELECTED) & np.asarray(dependency, dtype=np.bool_)[None, :]] = DEPENDENCY
    letters = np.array(list(_CODES))[table.T]
    return ["".join(line) for line in letters]


def _rows(lines: list[str], scores: NDArray[np.float64], document: Document) -> str:
    """The lines as items of an HTML list, shaded by score."""
    low, high = (float(scores.min()), float(scores.max())) if scores.size else (0.0, 1.0)
    heat = (scores - low) / max(high - low, 1e-9)
    return "\n".join(
        f'<li value="{number}" style="--h:{shade:.2f}" title="score {score:.3f}"><code>{text or " "}</code></li>'
        for number, shade, score, text in zip(
            document.numbers.tolist(),
            heat.tolist(),
            scores.tolist(),
            (html.escape(visible(line.rstrip("\r\n"), lines=True), quote=False) for line in lines),
            strict=True,
        )
    )
