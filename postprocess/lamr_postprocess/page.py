"""The HTML page for people: what is kept of a file or a repository, and why, shaded by score.

The page is one file, `data/page.html`, that loads nothing from elsewhere; its content security policy forbids it. With
a pruned file or a pack as its data it shows that, and a file's slider is exact, because what repair adds is computed
here for each of its steps. `lamr http` answers with the same page, which then asks that server."""

import base64
import hashlib
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lamr_postprocess.document import Document, analyse
from lamr_postprocess.languages import language_named
from lamr_postprocess.prune import MOST_OUTCOMES, scores_of
from lamr_postprocess.repair import CUT, DEPENDENCY, REASONS, SELECTED, adding
from lamr_postprocess.selection import highest_thresholds
from lamr_postprocess.source_file import SourceFile

_STEPS = 41
_CODES = "abcdefghijklmnopqrstuvwxyz"  # one letter a reason, in the order of REASONS


def page(data: dict[str, Any]) -> str:
    """Return the page with its data in JSON's types. `data`: `file`, a pruned file as `render_html` writes it;
    `pack`, a pack's `to_dict()`; or, for a page that asks a server, `root` and `folders`: the name of the folder that
    repositories lie below (None: there is none), and folders in it."""
    shown = json.dumps(data, ensure_ascii=True).replace("<", "\\u003c")
    return _template().replace("@POLICY@", policy()).replace("@DATA@", shown)


@cache
def policy() -> str:
    """The page's content security policy: its own script and style by their hashes, and requests to its own server."""
    found = {
        name: re.search(f"<{name}>(.*?)</{name}>", _template(), re.DOTALL) for name in ("style", "script")
    }
    hashes = {
        name: base64.b64encode(hashlib.sha256(match[1].encode()).digest()).decode()
        for name, match in found.items()
        if match is not None
    }
    own = "".join(f"{name}-src 'sha256-{value}'; " for name, value in hashes.items())
    return f"default-src 'none'; {own}connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'"


@cache
def _template() -> str:
    return (Path(__file__).parent / "data" / "page.html").read_text(encoding="utf-8")


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
        ValueError: the language is unknown, or there is another number of scores, or one that is no finite number."""
    given = None if language is None else language_named(language)
    source = SourceFile(code, path or "", given, listed)
    document = analyse(source)
    scores = scores_of(line_scores, document.spans.shape[0])
    highest = highest_thresholds(document, scores)
    steps = _steps(highest, threshold)
    return page(
        {
            "file": {
                "path": path or "pruned code",
                "query": query,
                "note": document.note,
                "code": code,
                "numbers": document.numbers.tolist(),
                "scores": scores.round(6).tolist(),
                "steps": steps.tolist(),
                "start": int(np.argmin(np.abs(steps - threshold))),
                "reasons": dict(zip(_CODES, REASONS, strict=False)),
                "fates": _fates(document, highest, steps, dependency),
            }
        }
    )


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
