"""What a function's sections are worth for a question, and which sections are kept whatever they are worth."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from lamr_contract.arrays import Float64Array

from lamr_repositories.compression.perplexity import Perplexity

BETWEEN = "\n\n"
"""What stands between two texts that the model reads together."""
_HEADS = ("def ", "class ", "function ", "fn ", "func ")
_RESULT = "return "


def by_question(sections: Sequence[str], question: str, model: Perplexity) -> Float64Array:
    """Return how much each section lowers the question's perplexity, float64 `[n]`; 0 for all where it is blank.

    As in the published code, the question's first token counts after a section, though not without one.
    """
    if not question.strip():
        return np.zeros(len(sections))
    targets = [model.alone(question), *(model.after(section + BETWEEN, question) for section in sections)]
    perplexities = np.nan_to_num(model.of(targets), nan=1.0, posinf=np.inf)
    if np.isinf(perplexities[0]):
        return np.zeros(len(sections))
    return _without_blanks(sections, perplexities[0] - perplexities[1:])


def by_contrast(sections: Sequence[str], question: str, model: Perplexity) -> Float64Array:
    """Return how much the question lowers each section's perplexity after the sections before it, float64 `[n]`."""
    targets = []
    for place, section in enumerate(sections):
        before = BETWEEN.join(sections[:place])
        asked = BETWEEN.join(text for text in (question, before) if text)
        targets.append(model.after(before + BETWEEN, section) if before else model.alone(section))
        targets.append(model.after(asked + BETWEEN, section))
    without, given = model.of(targets).reshape(-1, 2).T
    return _without_blanks(
        sections, np.where(np.isfinite(without) & np.isfinite(given), without - given, -np.inf)
    )


VALUES: dict[str, Callable[[Sequence[str], str, Perplexity], Float64Array]] = {
    "conditional": by_question,
    "contrastive": by_contrast,
}
"""The published values of sections by name; the first is the default."""


def preserved(sections: Sequence[str], comment: str) -> set[int]:
    """Return the sections that are kept anyway: their first line that isn't blank heads a definition, is a comment, or
    returns something.

    Args:
        sections: their texts.
        comment: what a comment begins with.
    """
    firsts = [next((line for line in section.split("\n") if line.strip()), "") for section in sections]
    return {
        place
        for place, line in enumerate(firsts)
        if any(word in line for word in (*_HEADS, _RESULT)) or (comment and line.strip().startswith(comment))
    }


def _without_blanks(sections: Sequence[str], values: Float64Array) -> Float64Array:
    return np.where([bool(section.strip()) for section in sections], values, -np.inf)
