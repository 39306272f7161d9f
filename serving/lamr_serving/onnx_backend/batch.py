"""Requests become one run of the model, and its outputs go back to the requests.

Triton's C++ backends do this in their input collector and output responder: they join ragged inputs end to end and
regular ones along the first dimension, make `batch_input` tensors from the requests' shapes, and scatter or split the
outputs. The module is plain numpy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from lamr_contract.encoder.packed_batch import cut_by_tokens
from lamr_contract.errors import InvalidInputError, ModelMismatchError
from numpy.typing import NDArray

from lamr_serving.onnx_backend.config import BatchInput, OnnxModelConfig, TensorConfig

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
        rank = len(tensor.dims) + (config.max_batch_size > 0)
        if array.ndim != rank:
            raise RequestError(f"input {tensor.name} has {array.ndim} dimensions where {rank} belong")
        if array.dtype != tensor.dtype:
            raise RequestError(f"input {tensor.name} is {array.dtype} where {tensor.dtype} belongs")
        if tensor.ragged and array.size == 0:
            raise RequestError(f"input {tensor.name} is empty; a sequence has at least one element")
        if tensor.ragged and 0 < config.max_sequence_tokens < array.size:
            raise RequestError(
                f"input {tensor.name} has {array.size} elements, but the model's window is "
                f"{config.max_sequence_tokens}; send it in chunks"
            )
        if tensor.ragged and config.vocabulary and not 0 <= array.min() <= array.max() < config.vocabulary:
            raise RequestError(
                f"input {tensor.name} holds an id outside the vocabulary of {config.vocabulary}; encode the text with "
                "the model's own tokenizer"
            )
    if config.max_batch_size > 0:
        rows = {request[tensor.name].shape[0] for tensor in config.inputs}
        if len(rows) > 1:
            raise RequestError(f"inputs have different numbers of rows: {sorted(rows)}")
        if config.ragged and rows != {1}:
            raise RequestError(
                f"one request is one sequence, so one row, not {rows.pop()}; send one request each"
            )


def cut(config: OnnxModelConfig, requests: Sequence[Request]) -> list[list[int]]:
    """The places in `requests` that go into each run: by tokens where `max_batch_tokens` limits a run."""
    if config.max_batch_size == 0:
        return [[index] for index in range(len(requests))]
    ragged = [tensor.name for tensor in config.inputs if tensor.ragged]
    if not (ragged and config.max_batch_tokens):
        return [list(range(len(requests)))]
    return cut_by_tokens([request[ragged[0]].size for request in requests], config.max_batch_tokens)


def assemble(config: OnnxModelConfig, requests: Sequence[Request]) -> dict[str, Array]:
    """The model's inputs for one run over all of `requests`, which have passed `check_request`.

    Returns:
        the inputs by name: ragged ones `[total elements]`, regular ones `[total rows, ...]`, and batch inputs `[B]`,
        `[B + 1]` or `[longest]`, as their kinds say.
    """
    feed = {
        tensor.name: _join(tensor, [request[tensor.name] for request in requests]) for tensor in config.inputs
    }
    for item in config.batch_inputs:
        feed[item.target] = batch_input(item, [request[item.source].shape for request in requests])
    return feed


def batch_input(item: BatchInput, shapes: Sequence[tuple[int, ...]]) -> Array:
    """One `batch_input` tensor, from the shapes (batch dimension included) that its source has in each request."""
    counts = np.array([np.prod(shape, dtype=np.int64) for shape in shapes])
    if item.kind == "BATCH_ELEMENT_COUNT":
        values = counts
    elif item.kind == "BATCH_ACCUMULATED_ELEMENT_COUNT":
        values = np.cumsum(counts)
    elif item.kind == "BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO":
        values = np.concatenate([[0], np.cumsum(counts)])
    elif item.kind == "BATCH_MAX_ELEMENT_COUNT_AS_SHAPE":
        values = np.zeros(int(counts.max()))  # only the shape means something
    else:  # BATCH_ITEM_SHAPE and _FLATTEN take the shape of a row, once for each of the request's rows
        values = np.repeat([shape[1:] for shape in shapes], [shape[0] for shape in shapes], axis=0)
        if item.kind == "BATCH_ITEM_SHAPE_FLATTEN":
            values = values.reshape(-1)
    return values.astype(item.dtype)


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
            parts = _rows(config, tensor, array, requests)
        for share, part in zip(shares, parts, strict=True):
            share[tensor.name] = part
    return shares


def _join(tensor: TensorConfig, arrays: list[Array]) -> Array:
    if tensor.ragged:
        arrays = [array.reshape(-1) for array in arrays]
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


def _rows(
    config: OnnxModelConfig, tensor: TensorConfig, array: Array, requests: Sequence[Request]
) -> list[Array]:
    """Cut an output along its first dimension by the requests' numbers of rows."""
    if config.max_batch_size == 0:
        return [array]
    first = config.inputs[0].name
    ends = np.cumsum([request[first].shape[0] for request in requests])
    if array.ndim == 0 or array.shape[0] != ends[-1]:
        raise OutputError(f"the model returned {tensor.name} of shape {array.shape} for {ends[-1]} rows")
    return np.split(array, ends[:-1])
