"""Ways to show a result: spans as JSON, a heat map for terminals.

They show the original with what became of each line; the pruned text itself is `PrunedCode.text`. Code may
hold escape sequences, which a terminal shows as pictures and never receives. This module formats results and decides
nothing."""

import json
from itertools import pairwise

import numpy as np
from lamr_base.errors import visible
from numpy.typing import ArrayLike

from lamr_postprocess.lines import split_lines
from lamr_postprocess.result import PrunedCode

_HEAT = (235, 236, 58, 94, 130, 166, 202)  # xterm's colours from grey to orange
_MARKS = {"semantic": "●", "dependency": "◆", "keep": "■", "outcome": "▲", "repair": "+", "": " "}


def render_json(code: str, pruned: PrunedCode, line_scores: ArrayLike | None = None) -> str:
    """Runs of lines with the same fate, as JSON: `language`, `note`, `lines`, `kept`, and `spans`.

    A span has `start` and `end` (1-based, inclusive), `kept`, `reason` (null where there is none), `text`, and the mean
    `score` where scores are given."""
    lines = split_lines(code)
    scores = None if line_scores is None else np.asarray(line_scores, dtype=np.float64)
    kept = set(pruned.kept_lines)
    fates = [(number in kept, pruned.reasons.get(number)) for number in range(1, len(lines) + 1)]
    bounds = [i for i in range(len(fates)) if i == 0 or fates[i] != fates[i - 1]] + [len(fates)]
    spans = []
    for start, stop in pairwise(bounds):
        span: dict[str, object] = {
            "start": start + 1,
            "end": stop,
            "kept": fates[start][0],
            "reason": fates[start][1],
            "text": "".join(lines[start:stop]),
        }
        if scores is not None:
            span["score"] = round(float(scores[start:stop].mean()), 4)
        spans.append(span)
    result = {
        "language": pruned.language,
        "note": pruned.note,
        "lines": len(lines),
        "kept": len(pruned.kept_lines),
        "spans": spans,
    }
    return json.dumps(result, ensure_ascii=False, indent=2) + "\n"


def render_heat(code: str, pruned: PrunedCode, line_scores: ArrayLike, *, color: bool = True) -> str:
    """Every line of the original with its number, a sign for its reason, its score, and a background by the score.

    Args:
        code: the original.
        pruned: the result of pruning it.
        line_scores: float [L], one score a line.
        color: whether escape sequences may be written; without them there is no background."""
    scores = np.asarray(line_scores, dtype=np.float64)
    low, high = (float(scores.min()), float(scores.max())) if scores.size else (0.0, 0.0)
    levels = (
        np.clip((scores - low) / max(high - low, 1e-9) * len(_HEAT), 0, len(_HEAT) - 1).astype(int).tolist()
    )
    width = len(str(len(scores)))
    kept = set(pruned.kept_lines)
    rows = []
    for number, (line, level) in enumerate(zip(split_lines(code), levels, strict=True), 1):
        reason = pruned.reasons.get(number, "")
        mark = _MARKS[reason.split(":")[0]]
        text = visible(line.rstrip("\r\n"), lines=True)
        head = f"{number:{width}} {mark} {scores[number - 1]:6.3f} "
        if not color:
            rows.append(head + text)
        elif number in kept:
            rows.append(f"{head}\x1b[48;5;{_HEAT[level]}m{text}\x1b[0m")
        else:
            rows.append(f"\x1b[2m{head}{text}\x1b[0m")
    return "\n".join(rows) + "\n" if rows else ""
