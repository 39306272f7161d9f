"""What the line model says of the lines of the best files, which takes no server and no encoder.

This module knows files' texts; which files are best, and what becomes of the opinions, others know.
"""

from __future__ import annotations

from collections.abc import Iterable

from lamr_contract.arrays import Float64Array
from lamr_contract.asked import NO_TOKENS, AskedDocument
from lamr_contract.encoding import PromptEncoder
from lamr_contract.scoring.odds import logit
from lamr_contract.scoring.scorer import DocumentScorer, Scorer

MOST_LINES = 8_000
"""Lines after which no other file is scored, about a quarter of a second of a CPU. The files after them are worse by
their words, and keep what these say of them."""


def line_opinions(
    encoder: PromptEncoder, scorer: Scorer, query: str, task: str, files: Iterable[tuple[str, str]]
) -> list[Float64Array]:
    """Return the log-odds float64 [L] that lines are needed, for as many of the first files as are scored.

    Args:
        encoder, scorer: the model's; a scorer without a line model has no opinions.
        query, task: what is looked for, and what for.
        files: path and text of each file, best first.
    """
    opinions: list[Float64Array] = []
    if not scorer.instant:
        return opinions
    reading, lines = encoder.read_query(query, task, ""), 0
    for path, text in files:
        if lines >= MOST_LINES:
            break
        asked = AskedDocument.of(
            encoder, query, text, task=task, path=path, reading=reading, tokens=NO_TOKENS
        )
        lines += len(asked.layout.spans)
        opinions.append(logit(DocumentScorer(scorer, asked).finish().scores))
    return opinions
