"""Whether an exported causal model gives the log-probabilities that the PyTorch model gives.

Both run on packed batches of random ids and of real text.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from lamr_contract.encoder.packed_batch import encoder_feed
from lamr_contract.names import LOG_PROB
from lamr_contract.perplexity.causal_scorer import IntArray
from numpy.typing import NDArray
from tokenizers import Tokenizer

from lamr_export.causal_model import CausalModel
from lamr_export.errors import ExportError
from lamr_export.verify import LONGEST, ExportedGraph, standard_texts

_TEXT_TOKENS, _TEXTS = 512, 4  # of a text, and texts in a batch: a second or two of a 0.5B model


@dataclass(frozen=True)
class CausalVerification:
    """How an exported causal model differs from the PyTorch model, in nats."""

    batches: int  # how many of them were compared
    tokens: int
    error: float  # the largest absolute difference of a log-probability
    mean_error: float  # the mean absolute difference
    packed_error: float


def verify_causal(
    model: CausalModel, onnx_file: Path, random: Sequence[list[IntArray]], text: Sequence[list[IntArray]]
) -> CausalVerification:
    """Compare an exported causal model with its PyTorch model.

    Raises:
        ExportError: the graph can't be loaded or run, or its output has a wrong shape or isn't finite.
    """
    graph = ExportedGraph(onnx_file, [LOG_PROB])
    differences: list[NDArray[np.float32]] = []
    packed_error = 0.0
    for number, batch in enumerate((*random, *text)):
        found = _run(graph, batch)
        with torch.inference_mode():
            expected = model(*(torch.from_numpy(value) for value in encoder_feed(batch).values())).numpy()
        differences.append(np.abs(found - expected))
        if number < len(random):
            alone = np.concatenate([_run(graph, [ids]) for ids in batch])
            packed_error = max(packed_error, float(np.abs(found - alone).max()))
    every = np.concatenate(differences)
    return CausalVerification(
        len(differences), len(every), float(every.max()), float(every.mean(dtype=float)), packed_error
    )


def random_ids(model: CausalModel, max_tokens: int) -> list[list[IntArray]]:
    """Random ids in ragged batches, with lengths from 1 to the longest that is served (at most `LONGEST`)."""
    generator = np.random.default_rng(0)
    longest = min(max_tokens, LONGEST)
    few = max(2, longest // 8)
    lengths = [[1], [longest], [1, 2, *generator.integers(1, few, 4).tolist(), 1, few]]
    return [[generator.integers(0, model.vocabulary, length) for length in batch] for batch in lengths]


def text_ids(tokenizer: Tokenizer, max_tokens: int) -> list[list[IntArray]]:
    """The beginnings of files of the standard library, as batches."""
    most = min(max_tokens, _TEXT_TOKENS)
    ids = [np.array(tokenizer.encode(code[: 16 * most]).ids[:most], np.int64) for _, code in standard_texts()]
    return list(_batched(iter(ids)))


def _run(graph: ExportedGraph, batch: list[IntArray]) -> NDArray[np.float32]:
    values: NDArray[np.float32] = graph(encoder_feed(batch))[0]
    if values.shape != (sum(map(len, batch)),) or not np.isfinite(values).all():
        raise ExportError(f"{LOG_PROB} has shape {list(values.shape)}, or holds NaN or infinity")
    return values


def _batched(ids: Iterator[IntArray]) -> Iterator[list[IntArray]]:
    while batch := list(itertools.islice(ids, _TEXTS)):
        yield batch
