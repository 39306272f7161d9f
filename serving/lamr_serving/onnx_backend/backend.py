"""Triton's Python interface around an onnxruntime session: requests in, responses out, errors by request.

The python-based backend `onnxruntime` (`backends/onnxruntime/model.py`) is `OnnxBackend` with a session in it. The
arithmetic of batches is in `batch`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lamr_contract.addressee import check_addressee
from lamr_contract.names import FINGERPRINT_PARAMETER

from lamr_serving.onnx_backend.batch import (
    Array,
    OutputError,
    assemble,
    check_request,
    cut,
    split,
)
from lamr_serving.onnx_backend.config import OnnxModelConfig

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
        fails (an id outside the vocabulary, say), each is run alone, so that one caller can't fail another.
        """
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
        except OutputError as error:
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
