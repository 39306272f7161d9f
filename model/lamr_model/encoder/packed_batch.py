"""Packed batches: sequences end to end, without padding, as the encoder reads them and as their code is decoded.

On a server, Triton itself makes the same inputs from `config.pbtxt`."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lamr_model.names import CU_SEQLENS, INPUT_IDS, MAX_LEN


def sequence_bounds(lengths: Sequence[int]) -> NDArray[np.int64]:
    """Where each of B sequences begins in a packed batch, and where the last one ends: int64 `[B + 1]`, from 0."""
    bounds: NDArray[np.int64] = np.cumsum([0, *lengths], dtype=np.int64)
    return bounds


def encoder_feed(sequences: Sequence[NDArray[np.int64]]) -> dict[str, NDArray[np.generic]]:
    """The encoder's inputs for one batch, by name. `sequences`: token ids, int64 `[t]` each; at least one sequence,
    and none of them empty. Returns `input_ids` int64 `[T]`, `cu_seqlens` int32 `[B + 1]`, and `max_len` float32
    `[L]`, where L is the longest sequence's length; only the shape of `max_len` is read."""
    lengths = [len(ids) for ids in sequences]
    return {
        INPUT_IDS: np.concatenate(sequences),
        CU_SEQLENS: sequence_bounds(lengths).astype(np.int32),
        MAX_LEN: np.zeros(max(lengths), np.float32),
    }


def code_states(
    fused: NDArray[np.float32], lengths: Sequence[int], spans: Sequence[tuple[int, int]]
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """The features of a batch's code tokens, which alone are decoded.

    Args:
        fused: float32 `[T, D]`, the encoder's output for B sequences.
        lengths: tokens of each sequence.
        spans: first and one-past-last code token of each, counted within the sequence.

    Returns:
        float32 `[m, D]`, and the bounds int64 `[B + 1]` of the sequences within it."""
    starts = sequence_bounds(lengths)[:-1].tolist()
    parts = [fused[start + first : start + last] for start, (first, last) in zip(starts, spans, strict=True)]
    return np.concatenate(parts), sequence_bounds([len(part) for part in parts])


def cut_by_tokens(lengths: Sequence[int], max_tokens: int) -> list[list[int]]:
    """Cut sequences into batches of at most `max_tokens` tokens, counted as sequences times the longest of them.

    Attention pads a batch to its longest sequence, so sequences of like length go together. A sequence that is longer
    than `max_tokens` goes alone.

    Args:
        lengths: tokens of each sequence.
        max_tokens: of one batch.

    Returns:
        the places in `lengths` of the sequences of each batch."""
    batches: list[list[int]] = []
    for place in sorted(range(len(lengths)), key=lengths.__getitem__):
        if not batches or (len(batches[-1]) + 1) * lengths[place] > max_tokens:
            batches.append([])
        batches[-1].append(place)
    return batches
