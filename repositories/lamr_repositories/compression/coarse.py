"""LongCodeZip's coarse stage: functions ranked by what they tell about the question, and taken up to a budget.

A file is cut into function-level chunks: each function with the comments above it, and what lies between. What one
tells is the approximated mutual information of the paper's equation 1: how much the question's
perplexity falls where the function stands before it."""

from collections.abc import Sequence

import numpy as np
from lamr_base.arrays import Float64Array
from lamr_base.records import dataclass
from lamr_postprocess import Language
from lamr_postprocess.definitions import definition_spans
from lamr_postprocess.layout import line_layout
from lamr_postprocess.lines import IntArray

from lamr_repositories.compression.options import CompressionOptions
from lamr_repositories.compression.perplexity import BETWEEN, Perplexity
from lamr_repositories.file_index import cut


@dataclass(frozen=True)
class CodeChunk:
    """Rows of a file, from `first` to before `stop`, and their text with line feeds between them."""

    first: int
    stop: int
    text: str


def function_chunks(code: str, language: Language) -> list[CodeChunk]:
    """Return the chunks of a file, which hold every row once; without a grammar they are paragraphs."""
    layout = line_layout(code)
    lines = [code[a:b].rstrip("\r\n") for a, b in layout.spans.tolist()]
    if not lines:
        return []
    spans = cut(lines, layout.blank, definition_spans(code, language))
    firsts = np.unique(np.append(0, spans[1:, 0]))
    bounds = zip(firsts.tolist(), [*firsts[1:].tolist(), len(lines)], strict=True)
    return [CodeChunk(first, stop, "\n".join(lines[first:stop])) for first, stop in bounds]


def mutual_information(chunks: Sequence[str], question: str, model: Perplexity) -> Float64Array:
    """Return how much each of n texts lowers the question's perplexity, float64 `[n]`.

    As in the published code, the question's first token is predicted by nothing without a text, and so it doesn't
    count after one either. A question of one token says nothing: all texts have 0."""
    targets = [model.alone(question), *(model.after(chunk + BETWEEN, question, skip=1) for chunk in chunks)]
    with np.errstate(invalid="ignore", over="ignore"):
        perplexities = np.exp(np.nan_to_num(model.mean_losses(targets), nan=0.0, posinf=np.inf))
        changes = perplexities[0] - perplexities[1:]
    return np.where(np.isnan(changes), -np.inf, changes)


def order_of(scores: Float64Array) -> IntArray:
    """Return the places of scores in falling order, equal ones in their own order."""
    return np.argsort(-scores, kind="stable")


def target(tokens: Sequence[int], options: CompressionOptions) -> int:
    """Return the tokens that chunks with so many tokens aim at."""
    return int(sum(tokens) * options.rate) if options.target_tokens is None else options.target_tokens


def take(order: IntArray, tokens: Sequence[int], options: CompressionOptions) -> list[int]:
    """Return the places of the chunks that are taken, in their own order.

    As in the published code chunks are taken in falling order until their tokens pass the budget, so that the last one
    taken may go beyond it."""
    spent = np.cumsum(np.asarray(tokens, np.int64)[order])
    beyond = np.flatnonzero(spent > options.widened(target(tokens, options)))
    count = int(beyond[0]) + 1 if len(beyond) else len(order)
    return sorted(order[:count].tolist())
