"""The paper's rubric `context`: lines that merely stand near gold lines. Variants learn it, shipped models don't."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

LINES, DECAY, LEAST = 3, 0.8, 0.5
"""How far it reaches, counted without blank lines; what each line of distance leaves; the least weight that counts."""


def near_lines(lines: Sequence[str], gold: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The lines that aren't gold themselves, are near one that is, and aren't blank, bool `[L]`."""
    near = np.zeros(len(lines), np.bool_)
    inked = np.flatnonzero(np.fromiter((bool(line.strip()) for line in lines), np.bool_, len(lines)))
    places = np.flatnonzero(gold[inked])
    if len(places):
        away = np.abs(np.arange(len(inked))[:, None] - places).min(axis=1)
        near[inked] = (away > 0) & (away <= LINES) & (away * np.log(DECAY) >= np.log(LEAST))
    return near
