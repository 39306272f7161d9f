"""The forms in which `lamr prune` can print a result, as one table."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lamr_client import PruneResult
    from lamr_postprocess import PrunedCode


class Render(str, enum.Enum):
    """What `--render` takes: the form of the output."""

    COMMENT = "comment"
    SWE_PRUNER = "swe-pruner"
    JSON = "json"
    HEAT = "heat"


def rendered(form: Render, code: str, result: PruneResult, *, line_numbers: bool, color: bool) -> str:
    """Return the text to print.

    Args:
        form: how it shall look.
        code: the code that was pruned.
        result: what was kept of it.
        line_numbers: whether lines carry their original numbers.
        color: whether standard output shows colours.
    """
    return _FORMS[form](code, result, line_numbers, color)


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


def _comment(_code: str, result: PruneResult, _line_numbers: bool, _color: bool) -> str:
    return result.text  # the pruner wrote it so, and measured its budget by it


def _swe_pruner(code: str, result: PruneResult, line_numbers: bool, _color: bool) -> str:
    from lamr_postprocess import render_filtered

    return render_filtered(code, pruned_of(result), line_numbers=line_numbers)


def _json(code: str, result: PruneResult, _line_numbers: bool, _color: bool) -> str:
    from lamr_postprocess import render_json

    return render_json(code, pruned_of(result), result.line_scores)


def _heat(code: str, result: PruneResult, _line_numbers: bool, color: bool) -> str:
    from lamr_postprocess import render_heat

    return render_heat(code, pruned_of(result), result.line_scores, color=color)


_FORMS: dict[Render, Callable[[str, PruneResult, bool, bool], str]] = {
    Render.COMMENT: _comment,
    Render.SWE_PRUNER: _swe_pruner,
    Render.JSON: _json,
    Render.HEAT: _heat,
}
