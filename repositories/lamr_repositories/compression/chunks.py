"""Cuts a file into function-level chunks: each function with the comments above it, and what lies between."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from lamr_postprocess import Language
from lamr_postprocess.definition_spans import definition_spans
from lamr_postprocess.layout import line_layout

from lamr_repositories.pieces import cut


@dataclass(frozen=True)
class Chunk:
    """Rows of a file, from `first` to before `stop`, and their text with line feeds between them."""

    first: int
    stop: int
    text: str


def function_chunks(code: str, language: Language) -> list[Chunk]:
    """Return the chunks of a file, which hold every row once. Blank rows go with what they follow.

    Args:
        code: the file's text.
        language: its language. Without a grammar the text is cut into paragraphs.
    """
    layout = line_layout(code)
    lines = [code[a:b].rstrip("\r\n") for a, b in layout.spans.tolist()]
    if not lines:
        return []
    spans = cut(lines, layout.blank, definition_spans(code, language))
    firsts = np.unique(np.append(0, spans[1:, 0]))
    bounds = zip(firsts.tolist(), [*firsts[1:].tolist(), len(lines)], strict=True)
    return [Chunk(first, stop, "\n".join(lines[first:stop])) for first, stop in bounds]
