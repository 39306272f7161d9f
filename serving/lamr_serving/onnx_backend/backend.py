"""Triton's Python interface around an onnxruntime session: requests in, responses out, errors by request.

The python-based backend `onnxruntime` (`backends/onnxruntime/model.py`) is `OnnxBackend` with a session in it.
What Triton's C++ backends do in their input collector and output responder is done here in numpy: ragged inputs are
joined end to end, `batch_input` tensors made from the requests' shapes, and outputs scattered or split."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from lamr_base.errors import InvalidInputError, ModelMismatchError
from lamr_model.addressee import check_addressee
from lamr_model.encoder.packed_batch import cut_by_tokens
from lamr_model.names import (
    FINGERPRINT_PARAMETER,
    MAX_BATCH_TOKENS_PARAMETER,
    MAX_SEQUENCE_TOKENS_PARAMETER,
    VOCABULARY_PARAMETER,
)
from numpy.typing import NDArray

from lamr_serving.onnx_backend.session import ACCUMULATED, BatchInput, OnnxModelConfig, TensorConfig

Array = NDArray[Any]
Request = Mapping[str, Array]


class RequestError(InvalidInputError):
    """One request can't be run, but the others of its batch can."""


class OutputSizeError(ModelMismatchError):
    """An output can't be dealt out, because it doesn't have the size that the inputs call for."""


def check_request(config: OnnxModelConfig, request: Request) -> None:
    """Refuse a request that would spoil its batch.

    Triton's C++ backend counts elements by request. It would read a second row in a ragged request as one longer
    sequence, and an empty request would shift what the requests after it get."""
    window, vocabulary = config.limit(MAX_SEQUENCE_TOKENS_PARAMETER), config.limit(VOCABULARY_PARAMETER)
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
        if 0 < window < array.size:
            raise RequestError(
                f"input {tensor.name} has {array.size} elements, but the model's window is {window}; send it in chunks"
            )
        if vocabulary and not 0 <= array.min() <= array.max() < vocabulary:
            raise RequestError(
                f"input {tensor.name} holds an id outside the vocabulary of {vocabulary}; encode the text with "
                "the model's own tokenizer"
            )
        if array.shape[0] != 1:
            raise RequestError(
                f"one request is one sequence, so one row, not {array.shape[0]}; send one request each"
            )


def cut(config: OnnxModelConfig, requests: Sequence[Request]) -> list[list[int]]:
    """The places in `requests` that go into each run: by tokens where `max_batch_tokens` limits a run."""
    most, first = config.limit(MAX_BATCH_TOKENS_PARAMETER), config.inputs[0].name
    return (
        cut_by_tokens([request[first].size for request in requests], most)
        if most
        else [[*range(len(requests))]]
    )


def assemble(config: OnnxModelConfig, requests: Sequence[Request]) -> dict[str, Array]:
    """The model's inputs for one run over all of `requests`, which have passed `check_request`."""
    feed: dict[str, Array] = {}
    for tensor in config.inputs:
        arrays = [request[tensor.name].reshape(-1) for request in requests]
        feed[tensor.name] = arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
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
    """Deal the model's outputs out to the requests, in their order."""
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


def _scatter(tensor: TensorConfig, array: Array, sources: list[tuple[int, ...]]) -> list[Array]:
    """Cut a flat output by the shapes of the input that it follows. An open dimension takes the input's size."""
    dims = (-1, *tensor.dims)
    shapes = [
        tuple(source[index] if size < 0 else size for index, size in enumerate(dims)) for source in sources
    ]
    ends = np.cumsum([np.prod(shape, dtype=np.int64) for shape in shapes])
    if ends[-1] != array.size:
        raise OutputSizeError(
            f"the model returned {array.size} values of {tensor.name} where {ends[-1]} belong"
        )
    flat = array.reshape(-1)
    return [part.reshape(shape) for part, shape in zip(np.split(flat, ends[:-1]), shapes, strict=True)]


def _rows(tensor: TensorConfig, array: Array, rows: int) -> list[Array]:
    if array.ndim == 0 or array.shape[0] != rows:
        raise OutputSizeError(f"the model returned {tensor.name} of shape {array.shape} for {rows} rows")
    return np.split(array, rows)


Run = Callable[[list[str], Mapping[str, Array]], Sequence[Array]]
"""Takes the names of outputs and the inputs by name, and gives those outputs in order."""


class OnnxBackend:
    """A model that executes batches of Triton requests on one session."""

    def __init__(self, config: OnnxModelConfig, run: Run, pb_utils: Any) -> None:
        self._config = config
        self._run = run
        self._pb = pb_utils
        self._fingerprint = config.parameters.get(FINGERPRINT_PARAMETER, "")

    def execute(self, requests: Sequence[Any]) -> list[Any]:
        """Answer each request, in order.

        A request that can't be run gets an error, and the others run without it. When a run over several requests
        fails (an id outside the vocabulary, say), each is run alone, so that one caller can't fail another."""
        responses: list[Any] = [None] * len(requests)
        runnable: dict[int, dict[str, Array]] = {}
        for index, request in enumerate(requests):
            # Each tensor is read once: a second as_numpy() on the same tensor returned nothing in Triton 24.10.
            arrays = {tensor.name(): tensor.as_numpy() for tensor in request.inputs()}
            try:
                check_addressee(request.parameters(), self._fingerprint)
                check_request(self._config, arrays)
            except ValueError as error:
                responses[index] = self._error(
                    f"{self._config.name}: {error}", self._pb.TritonError.INVALID_ARG
                )
            else:
                runnable[index] = arrays
        order = list(runnable)
        for run in cut(self._config, [runnable[index] for index in order]) if order else []:
            group = [order[place] for place in run]
            for index, response in zip(group, self._execute(requests, runnable, group), strict=True):
                responses[index] = response
        return responses

    def _execute(
        self, requests: Sequence[Any], runnable: dict[int, dict[str, Array]], group: list[int]
    ) -> list[Any]:
        """The responses to the requests in `group`, which run together, or alone when that fails."""
        if not group:
            return []
        requested = [frozenset(requests[index].requested_output_names()) for index in group]
        names = [
            tensor.name for tensor in self._config.outputs if any(tensor.name in each for each in requested)
        ]
        batch = [runnable[index] for index in group]
        try:
            outputs = dict(zip(names, self._run(names, assemble(self._config, batch)), strict=True))
            shares = split(self._config, outputs, batch)
        except OutputSizeError as error:
            return [
                self._error(f"{self._config.name}: {error}", self._pb.TritonError.INTERNAL) for _ in group
            ]
        except Exception as error:  # whatever onnxruntime raises must become an answer
            if len(group) > 1:
                return [self._execute(requests, runnable, [index])[0] for index in group]
            return [
                self._error(f"{self._config.name}: the model failed: {error}", self._pb.TritonError.INTERNAL)
            ]
        return [self._response(share, names) for share, names in zip(shares, requested, strict=True)]

    def _response(self, outputs: dict[str, Array], requested: frozenset[str]) -> Any:
        tensors = [self._pb.Tensor(name, array) for name, array in outputs.items() if name in requested]
        return self._pb.InferenceResponse(output_tensors=tensors)

    def _error(self, message: str, code: int) -> Any:
        return self._pb.InferenceResponse(error=self._pb.TritonError(message, code))
