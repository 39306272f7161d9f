"""Results for code that no model has judged: too little of it, nothing in it, or an error that lets it pass.

This module knows results and how tokens are counted; it knows neither chunks nor scores.
"""

from __future__ import annotations

import dataclasses
import math
import os
import time
from collections.abc import Callable

from lamr_contract.asked import AskedDocument
from lamr_contract.counters import token_counter
from lamr_contract.encoding import PromptEncoder
from lamr_contract.errors import LamrError
from lamr_contract.words import query_terms
from lamr_postprocess import Cut, PrunedCode, detect_language, language_named, line_spans, prune_lines
from lamr_postprocess.minified import parts_around
from lamr_postprocess.selection import approximate_tokens

from lamr_client.prune_options import PruneOptions
from lamr_client.result import PruneResult, Timings

MOST_COUNTED_CHARS = 1 << 20
"""The tokens of a longer text that passes through are estimated: counting them would take more than about a second."""

MOST_EXCERPT_TOKENS = 2_000
"""Of the parts of a minified text, where no budget says less."""


def unjudged(
    encoder: PromptEncoder,
    asked: AskedDocument,
    options: PruneOptions,
    tokens: int,
    count: Callable[[str], int],
) -> PruneResult:
    """Return the result for code without lines to choose from, for too little of it, and for none.

    Args:
        encoder: the encoder of the model, for its name.
        asked: the code as it was asked about.
        options: the call's.
        tokens: how many tokens the code has.
        count: how many tokens a text has.
    """
    text = asked.given
    if asked.minified:
        return _parts_of_lines(_whole(encoder, text, options, tokens, asked.minified), asked, options, count)
    why = "the code holds nothing but white space: kept as it is" if text else "the code is empty"
    if tokens < options.min_tokens and not asked.layout.blank.all():
        why = f"passed through: {tokens} tokens, fewer than min_tokens {options.min_tokens}"
    return _whole(encoder, text, options, tokens, why)


def passthrough(
    encoder: PromptEncoder, text: str, options: PruneOptions, error: LamrError, begin: float
) -> PruneResult:
    """Return what `on_error="passthrough"` gives for an error.

    The tokens of a text beyond `MOST_COUNTED_CHARS` are estimated, because counting them would take longer than the
    caller was ready to wait.

    Args:
        encoder, options: see `unjudged`.
        text: the code.
        error: why the text passes; the result's reason names it.
        begin: `time.perf_counter()` when the call began.
    """
    counter = token_counter(options.tokenizer, encoder)
    count = counter.count_tokens if len(text) <= MOST_COUNTED_CHARS else approximate_tokens
    result = _whole(encoder, text, options, count(text), f"{type(error).__name__}: {error}")
    return dataclasses.replace(result, timings=Timings(total=time.perf_counter() - begin))


def _whole(encoder: PromptEncoder, text: str, options: PruneOptions, tokens: int, why: str) -> PruneResult:
    """Return the text as it came, with all lines kept and nothing scored."""
    scores = [0.0] * len(line_spans(text))
    known = {"language": options.language, "model": model_name(encoder), "reason": why}
    return PruneResult.whole(text, scores, tokens, **known)


def _parts_of_lines(
    whole: PruneResult, asked: AskedDocument, options: PruneOptions, count: Callable[[str], int]
) -> PruneResult:
    """Return code without lines to choose from: as it came, or what fits into a budget, or parts of its lines."""
    text, tokens, why = whole.text, whole.tokens_in, asked.minified
    path = None if options.path is None else os.fspath(options.path)
    language = language_named(options.language) if options.language else detect_language(text, path)
    whole = dataclasses.replace(whole, language=language.name)
    shares = [] if options.ratio is None else [tokens / options.ratio]
    limit = min([*shares, *([options.max_tokens] if options.max_tokens else [])], default=math.inf)
    lines = whole.kept_lines
    if options.excerpts:
        words = query_terms(asked.intent)
        title = language.comment.wrap(f"... {why}; the parts around what is looked for") + "\n"
        most = min(limit, MOST_EXCERPT_TOKENS)
        parts = parts_around(
            text,
            line_spans(text),
            words,
            language.comment,
            lambda it: count(title + it) <= most,
        )
        cut = PrunedCode(title + parts, (), {}, (Cut(1, len(lines)),), language.name, None)
        why = why if parts else f"{why}; nothing that fits matches the query"
    elif tokens > limit:
        cut = prune_lines(
            text,
            [0.0] * len(lines),
            language=language.name,
            count_tokens=count,
            **options.cutting,
        )
        why = f"{why}; excerpts would show the parts around what is looked for"
    else:
        return whole
    return whole.cut_to(cut, count(cut.text), reason=why)


def model_name(encoder: PromptEncoder) -> str:
    """Return the model's name and version, as results carry them."""
    return f"{encoder.spec.name} {encoder.spec.version}"
