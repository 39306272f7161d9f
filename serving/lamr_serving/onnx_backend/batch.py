"""Requests become one run of the model, and its outputs go back to the requests.

Triton's C++ backends do this in their input collector and output responder: they join ragged inputs end to end, make
`batch_input` tensors from the requests' shapes, and scatter or split the outputs. The module is plain numpy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from lamr_contract.encoder.packed_batch import cut_by_tokens
from lamr_contract.errors import InvalidInputError, ModelMismatchError
from numpy.typing import NDArray

from lamr_serving.onnx_backend.config import ACCUMULATED, BatchInput, OnnxModelConfig, TensorConfig

Array = NDArray[Any]
Request = Mapping[str, Array]


class RequestError(InvalidInputError):
    """One request can't be run, but the others of its batch can."""


class OutputError(ModelMismatchError):
    """An output can't be dealt out, because it doesn't have the size that the inputs call for."""


def check_request(config: OnnxModelConfig, request: Request) -> None:
    """Refuse a request that would spoil its batch.

    Triton's C++ backend counts elements by request. It would read a second row in a ragged request as one longer
    sequence, and an empty request would shift what the requests after it get.

    Raises:
        RequestError: an input is missing, empty, too long, has an unknown id, or a wrong type, rank or number of rows.
    """
    for tensor in config.inputs:
        if tensor.name not in request:
            raise RequestError(f"input {tensor.name} is missing")
        array = request[tensor.name]
        rank = len(tensor.dims) + 1
        if array.ndim != rank:
            raise RequestError(f"input {tensor.name} has {array.ndim} dimensions where {rank} belong")
        if array.dtype != tensor.dtype:
            raise RequestError(f"input {tensor.name} is {array.dtype} where {tensor.dtype} belongs")
        if array.size == 0:
            raise RequestError(f"input {tensor.name} is empty; a sequence has at least one element")
        if 0 < config.max_sequence_tokens < array.size:
            raise RequestError(
                f"input {tensor.name} has {array.size} elements, but the model's window is "
                f"{config.max_sequence_tokens}; send it in chunks"
            )
        if config.vocabulary and not 0 <= array.min() <= array.max() < config.vocabulary:
            raise RequestError(
                f"input {tensor.name} holds an id outside the vocabulary of {config.vocabulary}; encode the text with "
                "the model's own tokenizer"
            )
        if array.shape[0] != 1:
            raise RequestError(
                f"one request is one sequence, so one row, not {array.shape[0]}; send one request each"
            )


def cut(config: OnnxModelConfig, requests: Sequence[Request]) -> list[list[int]]:
    """The places in `requests` that go into each run: by tokens where `max_batch_tokens` limits a run."""
    if not config.max_batch_tokens:
        return [list(range(len(requests)))]
    first = config.inputs[0].name
    return cut_by_tokens([request[first].size for request in requests], config.max_batch_tokens)


def assemble(config: OnnxModelConfig, requests: Sequence[Request]) -> dict[str, Array]:
    """The model's inputs for one run over all of `requests`, which have passed `check_request`.

    Returns:
        the inputs by name: `[total elements]`, and batch inputs `[B + 1]` or `[longest]`, as their kinds say.
    """
    feed = {
        tensor.name: _join([request[tensor.name].reshape(-1) for request in requests])
        for tensor in config.inputs
    }
    for item in config.batch_inputs:
        feed[item.target] = batch_input(item, [request[item.source].shape for request in requests])
    return feed


def batch_input(item: BatchInput, shapes: Sequence[tuple[int, ...]]) -> Array:
    """One `batch_input` tensor, from the shapes (batch dimension included) that its source has in each request."""
    counts = np.array([np.prod(shape, dtype=np.int64) for shape in shapes])
    if item.kind == ACCUMULATED:
        bounds: Array = np.concatenate([[0], np.cumsum(counts)]).astype(item.dtype)
        return bounds
    return np.zeros(int(counts.max()), item.dtype)  # only the shape means something


def split(
    config: OnnxModelConfig, outputs: Mapping[str, Array], requests: Sequence[Request]
) -> list[dict[str, Array]]:
    """Deal the model's outputs out to the requests, in their order.

    Raises:
        OutputError: an output doesn't have the size that the requests call for. (Triton's C++ backend doesn't check
            that and returns shifted data.)
    """
    shares: list[dict[str, Array]] = [{} for _ in requests]
    for tensor in config.outputs:
        if tensor.name not in outputs:
            continue
        array = outputs[tensor.name]
        if tensor.name in config.scatter:
            parts = _scatter(
                tensor, array, [request[config.scatter[tensor.name]].shape for request in requests]
            )
        else:
            parts = _rows(tensor, array, len(requests))
        for share, part in zip(shares, parts, strict=True):
            share[tensor.name] = part
    return shares


def _join(arrays: list[Array]) -> Array:
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def _scatter(tensor: TensorConfig, array: Array, sources: list[tuple[int, ...]]) -> list[Array]:
    """Cut a flat output by the shapes of the input that it follows. An open dimension takes the input's size."""
    dims = (-1, *tensor.dims)
    shapes = [
        tuple(source[index] if size < 0 else size for index, size in enumerate(dims)) for source in sources
    ]
    ends = np.cumsum([np.prod(shape, dtype=np.int64) for shape in shapes])
    if ends[-1] != array.size:
        raise OutputError(f"the model returned {array.size} values of {tensor.name} where {ends[-1]} belong")
    flat = array.reshape(-1)
    return [part.reshape(shape) for part, shape in zip(np.split(flat, ends[:-1]), shapes, strict=True)]


def _rows(tensor: TensorConfig, array: Array, rows: int) -> list[Array]:
    """Cut an output along its first dimension into one row a request."""
    if array.ndim == 0 or array.shape[0] != rows:
        raise OutputError(f"the model returned {tensor.name} of shape {array.shape} for {rows} rows")
    return np.split(array, rows)
