"""Results for code that no model has judged: too little of it, nothing in it, or an error that lets it pass.

This module knows results and how tokens are counted; it knows neither chunks nor scores.
"""

from __future__ import annotations

import dataclasses
import time

from lamr_contract.counters import token_counter
from lamr_contract.encoding import PromptEncoder
from lamr_contract.errors import LamrError
from lamr_postprocess import line_spans
from lamr_postprocess.selection import approximate_tokens

from lamr_client.prune_options import PruneOptions
from lamr_client.result import PruneResult, Timings

MOST_COUNTED_CHARS = 1 << 20
"""The tokens of a longer text that passes through are estimated: counting them would take more than about a second."""


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


def model_name(encoder: PromptEncoder) -> str:
    """Return the model's name and version, as results carry them."""
    return f"{encoder.spec.name} {encoder.spec.version}"
