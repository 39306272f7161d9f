"""How often the analyses of a whole text run."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

ANALYSES = {
    "read_listing": "lamr_postprocess.source_file",
    "line_layout": "lamr_postprocess.source_file",
    "detect_language": "lamr_postprocess.source_file",
    "parse_mended": "lamr_postprocess.document",
}


def counting(patch: pytest.MonkeyPatch) -> Counter[str]:
    """Count the calls of the analyses from now on, by name."""
    counts: Counter[str] = Counter()

    def counted(name: str, module: str) -> None:
        analysis = getattr(__import__(module, fromlist=[name]), name)

        def analyse(*arguments: Any, **options: Any) -> Any:
            counts[name] += 1
            return analysis(*arguments, **options)

        patch.setattr(f"{module}.{name}", analyse)

    for name, module in ANALYSES.items():
        counted(name, module)
    return counts
