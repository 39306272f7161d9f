"""The forms in which `lamr prune` can print a result, as one table."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from lamr_client import PruneResult
    from lamr_postprocess import PrunedCode


Form = Literal["text", "spans", "heat"]


def rendered(form: Form, code: str, result: PruneResult, *, color: bool) -> str:
    """Return the text to print."""
    return _FORMS[form](code, result, color)


def pruned_of(result: PruneResult) -> PrunedCode:
    """Return the part of a client's result that rendering is about."""
    from lamr_postprocess import PrunedCode

    return PrunedCode(
        text=result.text,
        kept_lines=result.kept_lines,
        reasons=result.reasons,
        cuts=result.cuts,
        language=result.language or "text",
        note=result.reason,
    )


def _text(_code: str, result: PruneResult, _color: bool) -> str:
    return result.text  # the pruner wrote it so, and measured its budget by it


def _spans(code: str, result: PruneResult, _color: bool) -> str:
    from lamr_postprocess import render_json

    return render_json(code, pruned_of(result), result.line_scores)


def _heat(code: str, result: PruneResult, color: bool) -> str:
    from lamr_postprocess import render_heat

    return render_heat(code, pruned_of(result), result.line_scores, color=color)


_FORMS: dict[Form, Callable[[str, PruneResult, bool], str]] = {
    "text": _text,
    "spans": _spans,
    "heat": _heat,
}
