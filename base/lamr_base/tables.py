"""Rows as columns for a terminal, and figures as JSON can hold them."""

import math
from collections.abc import Sequence
from typing import Any

from lamr_base.errors import visible


def align(rows: Sequence[Sequence[str]]) -> str:
    """The rows as columns: the first to the left, the others to the right. A cell of a stranger's forges no row."""
    rows = [[visible(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        first, *rest = (
            cell.ljust(w) if n == 0 else cell.rjust(w)
            for n, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        lines.append("  ".join([first, *rest]).rstrip())
    return "\n".join(lines)


def without_nan(value: Any) -> Any:
    """The value with None for undefined figures, since JSON has no NaN."""
    if isinstance(value, dict):
        return {key: without_nan(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [without_nan(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
