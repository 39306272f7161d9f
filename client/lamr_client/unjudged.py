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


def unpruned(encoder: PromptEncoder, text: str, options: PruneOptions, tokens: int) -> PruneResult:
    """Return the text as it came, with all lines kept and nothing scored.

    Args:
        encoder: the encoder of the model, for its name.
        text: the code.
        options: the call's, for the language.
        tokens: how many tokens the text has.
    """
    count = len(line_spans(text))
    return PruneResult(
        text=text,
        kept_lines=tuple(range(1, count + 1)),
        line_scores=(0.0,) * count,
        reasons={},
        relevance=None,
        tokens_in=tokens,
        tokens_out=tokens,
        status="passthrough",
        reason=None,
        language=options.language,
        cuts=(),
        model=model_name(encoder),
    )


def passthrough(
    encoder: PromptEncoder, text: str, options: PruneOptions, error: LamrError, begin: float
) -> PruneResult:
    """Return what `on_error="passthrough"` gives for an error.

    The tokens of a text beyond `MOST_COUNTED_CHARS` are estimated, because counting them would take longer than the
    caller was ready to wait.

    Args:
        encoder, text, options: see `unpruned`.
        error: why the text passes; the result's reason names it.
        begin: `time.perf_counter()` when the call began.
    """
    counter = token_counter(options.tokenizer, encoder)
    count = counter.count_tokens if len(text) <= MOST_COUNTED_CHARS else approximate_tokens
    result = unpruned(encoder, text, options, count(text))
    return dataclasses.replace(
        result,
        reason=f"{type(error).__name__}: {error}",
        timings=Timings(total=time.perf_counter() - begin),
    )


def minified_result(  # noqa: PLR0913, PLR0917  # a job's parts
    encoder: PromptEncoder,
    asked: AskedDocument,
    text: str,
    options: PruneOptions,
    count: Callable[[str], int],
    why: str,
) -> PruneResult:
    """Return code without lines to choose from: as it came, or what fits into a budget, or parts of its lines.

    Args:
        encoder, text, options: see `unpruned`.
        asked: the code as it was asked about.
        count: how many tokens a text has.
        why: what the code is.
    """
    path = None if options.path is None else os.fspath(options.path)
    language = language_named(options.language) if options.language else detect_language(text, path)
    tokens = count(text)
    whole = dataclasses.replace(unpruned(encoder, text, options, tokens), reason=why, language=language.name)
    shares = [] if options.ratio is None else [tokens / options.ratio]
    limit = min([*shares, *([options.max_tokens] if options.max_tokens else [])], default=math.inf)
    lines = whole.kept_lines
    if options.excerpts:
        title = language.comment.wrap(f"... {why}; the parts around what is looked for") + "\n"
        most = min(limit, MOST_EXCERPT_TOKENS)
        parts = parts_around(
            text,
            line_spans(text),
            query_terms(asked.intent),
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
            ratio=options.ratio,
            max_tokens=options.max_tokens,
            keep=options.keep,
            count_tokens=count,
            repair=options.repair,
            markers=options.markers,
            line_numbers=options.line_numbers,
        )
        why = f"{why}; excerpts would show the parts around what is looked for"
    else:
        return whole
    return dataclasses.replace(
        whole,
        text=cut.text,
        kept_lines=cut.kept_lines,
        reasons=cut.reasons,
        tokens_out=count(cut.text),
        status="pruned",
        reason=why,
        cuts=cut.cuts,
    )


def model_name(encoder: PromptEncoder) -> str:
    """Return the model's name and version, as results carry them."""
    return f"{encoder.spec.name} {encoder.spec.version}"
