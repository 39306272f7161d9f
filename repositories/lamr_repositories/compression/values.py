"""What a function's blocks are worth for a question, and which blocks are kept whatever they are worth.

The module knows texts and perplexities; it selects nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from lamr_contract.arrays import Float64Array

from lamr_repositories.compression.perplexity import Perplexity

BETWEEN = "\n\n"
"""What stands between two texts that the model reads together."""
_HEADS = ("def ", "class ", "function ", "fn ", "func ")
_RESULT = "return "


def by_question(blocks: Sequence[str], question: str, model: Perplexity) -> Float64Array:
    """Return how much each block lowers the question's perplexity, float64 `[n]`; 0 for all where it is blank.

    As in the published code, the question's first token counts after a block, though not without one.
    """
    if not question.strip():
        return np.zeros(len(blocks))
    targets = [model.alone(question), *(model.after(block + BETWEEN, question) for block in blocks)]
    perplexities = np.nan_to_num(model.of(targets), nan=1.0, posinf=np.inf)
    if np.isinf(perplexities[0]):
        return np.zeros(len(blocks))
    return _without_blanks(blocks, perplexities[0] - perplexities[1:])


def by_contrast(blocks: Sequence[str], question: str, model: Perplexity) -> Float64Array:
    """Return how much the question lowers each block's perplexity after the blocks before it, float64 `[n]`."""
    targets = []
    for place, block in enumerate(blocks):
        before = BETWEEN.join(blocks[:place])
        asked = BETWEEN.join(text for text in (question, before) if text)
        targets.append(model.after(before + BETWEEN, block) if before else model.alone(block))
        targets.append(model.after(asked + BETWEEN, block))
    without, given = model.of(targets).reshape(-1, 2).T
    return _without_blanks(
        blocks, np.where(np.isfinite(without) & np.isfinite(given), without - given, -np.inf)
    )


VALUES: dict[str, Callable[[Sequence[str], str, Perplexity], Float64Array]] = {
    "conditional": by_question,
    "contrastive": by_contrast,
}
"""The published values of blocks by name; the first is the default."""


def preserved(blocks: Sequence[str], comment: str) -> set[int]:
    """Return the blocks that are kept anyway: their first line that isn't blank heads a definition, is a comment, or
    returns something.

    Args:
        blocks: their texts.
        comment: what a comment begins with.
    """
    firsts = [next((line for line in block.split("\n") if line.strip()), "") for block in blocks]
    return {
        place
        for place, line in enumerate(firsts)
        if any(word in line for word in (*_HEADS, _RESULT)) or (comment and line.strip().startswith(comment))
    }


def _without_blanks(blocks: Sequence[str], values: Float64Array) -> Float64Array:
    return np.where([bool(block.strip()) for block in blocks], values, -np.inf)
