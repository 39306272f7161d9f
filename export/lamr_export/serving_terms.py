"""How a checkpoint's scores and chunks are served: its own way, or as the exporter asks.

The module changes what a client reads of a model, and says in a line what that is. It touches no weight.
"""

from __future__ import annotations

import dataclasses

from lamr_contract.scoring.rules import Scoring

from lamr_export.config import LamrConfig
from lamr_export.errors import ExportError

SCORINGS = ("paper", "emission")
"""The kinds of scoring that need nothing fitted, so that any checkpoint can be exported with them."""


# Bytes that an encoder on a CPU takes at its peak for each head and pair of a chunk's tokens: scores in float32, and a
# copy or two of them. Measured in docs/lab/swe-pruner.md.
_BYTES_PER_SCORE = 9.4
_WORTH_SAYING = 1e9


def check_name(name: str | None) -> None:
    """Refuse a name that a person could not read in a line of `lamr status`.

    Raises:
        ExportError: it is blank, or has characters that can't be printed.
    """
    if name is not None and not (name.strip() and name.isprintable()):
        raise ExportError(f"a model's name must be printable and not blank, not {name!r:.80}")


def served_config(config: LamrConfig, scoring: str | None, chunk_tokens: int | None) -> LamrConfig:
    """Return a configuration with another scoring or chunk size, where one is given.

    Args:
        config: the checkpoint's own.
        scoring: one of `SCORINGS`.
        chunk_tokens: the most code tokens of a chunk. Chunks are then cut at lines, as they are for LaMR's own models.

    Raises:
        ExportError: the scoring is unknown, or the window has no room for such chunks.
    """
    if scoring is not None:
        if scoring not in SCORINGS:
            raise ExportError(f"scoring must be one of {', '.join(SCORINGS)}, not {scoring!r}")
        config = dataclasses.replace(config, scoring=Scoring(scoring))
    if chunk_tokens is None:
        return config
    if not 1 <= chunk_tokens <= config.chunking.window:
        raise ExportError(
            f"chunks must have 1 to {config.chunking.window} tokens, which is the window, not {chunk_tokens}"
        )
    chunking = dataclasses.replace(config.chunking, tokens=chunk_tokens, cut="lines")
    return dataclasses.replace(config, chunking=chunking)


def serving_terms(config: LamrConfig) -> str:
    """Return a line that says how lines are scored, and in what chunks a file is read."""
    chunking = config.chunking
    size = "filling the window" if chunking.tokens >= chunking.window else f"of {chunking.tokens:,} tokens"
    terms = (
        f"scoring {config.scoring.kind}, threshold {config.threshold}; chunks {size}, cut at {chunking.cut}, "
        f"that share {chunking.overlap}, in a window of {chunking.window:,}"
    )
    needed = attention_bytes(config)
    if needed < _WORTH_SAYING:
        return terms
    return f"{terms}; a full chunk takes {needed / 1e9:.0f} GB on a CPU, and less with --chunk-tokens"


def attention_bytes(config: LamrConfig) -> float:
    """Return about how much memory attention over a full chunk takes on a CPU, in bytes.

    Heads run side by side, so the layer with the most of them counts.
    """
    heads = max(config.fusion_heads, config.backbone.get("num_attention_heads", 1))
    return float(_BYTES_PER_SCORE * heads * min(config.chunking.tokens, config.chunking.window) ** 2)
