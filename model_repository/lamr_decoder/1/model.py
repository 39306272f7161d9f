"""The Triton model `lamr_decoder`, which decodes each batch of requests at once with `lamr_model.crf.Decoder`.

    in   fused FP32 [1, n, D], document_span INT32 [1, 2] (first and one-past-last code token)
    out  keep UINT8 [1, m], keep_prob FP32 [1, m]; rubric_prob and gate FP32 [1, m, K] when asked for

The model runs on the bundled server and in NVIDIA's containers alike, wherever `lamr_base` and `lamr_model`
(numpy, no torch) can be imported: installed with pip, or in a folder named by LAMR_PYTHONPATH. `lamr export` copies
this file into `lamr_decoder/1/`."""

from __future__ import annotations

import itertools
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import triton_python_backend_utils as pb_utils

sys.path += [path for path in os.environ.get("LAMR_PYTHONPATH", "").split(os.pathsep) if path]

from lamr_base.stalls import StallWatch
from lamr_model.addressee import check_addressee, own_fingerprint
from lamr_model.crf import Decoder, DecoderWeights
from lamr_model.names import (
    DECODER,
    DOCUMENT_SPAN,
    FUSED,
    GATE,
    KEEP,
    KEEP_PROB,
    RUBRIC_OUTPUTS,
    RUBRIC_PROB,
    WEIGHTS_FILE,
)

Array = npt.NDArray[Any]


class TritonPythonModel:
    """One instance of the model, with one set of decoder weights."""

    def initialize(self, args: dict[str, str]) -> None:
        """Load the weights that lie beside this file."""
        path = Path(args["model_repository"], args["model_version"], WEIGHTS_FILE)
        try:
            self._decoder = Decoder(DecoderWeights.load(path))
        except ValueError as error:
            raise pb_utils.TritonModelException(str(error)) from error
        self._fingerprint = own_fingerprint(args["model_config"])
        self._watch = StallWatch()
        self._watch.start()

    def execute(self, requests: list[Any]) -> list[Any]:
        """Answer each request, in order. A request that can't be decoded gets an error of its own."""
        with self._watch.answering():
            return self._answer(requests)

    def _answer(self, requests: list[Any]) -> list[Any]:
        responses: list[Any] = [None] * len(requests)
        states: dict[int, Array] = {}
        for index, request in enumerate(requests):
            # Each tensor is read once: a second as_numpy() on the same tensor returned nothing in Triton 24.10.
            fused = pb_utils.get_input_tensor_by_name(request, FUSED).as_numpy()
            span = pb_utils.get_input_tensor_by_name(request, DOCUMENT_SPAN).as_numpy()
            try:
                check_addressee(request.parameters(), self._fingerprint)
                states[index] = code_states(fused, span)
            except ValueError as error:
                responses[index] = failure(error)
        requested = {index: frozenset(requests[index].requested_output_names()) for index in states}
        for index, response in self._decode(states, requested).items():
            responses[index] = response
        return responses

    def _decode(self, states: dict[int, Array], requested: dict[int, frozenset[str]]) -> dict[int, Any]:
        """The responses by index. All requests are decoded in one batch, or each alone when that fails."""
        if not states:
            return {}
        cu_seqlens = np.cumsum([0, *(len(part) for part in states.values())])
        parts = list(states.values())
        try:
            decoded = self._decoder.decode(
                parts[0] if len(parts) == 1 else np.concatenate(parts),
                cu_seqlens,
                want_rubrics=any(names.intersection(RUBRIC_OUTPUTS) for names in requested.values()),
            )
        except ValueError as error:
            if len(states) == 1:
                return dict.fromkeys(states, failure(error))
            alone = [self._decode({index: part}, {index: requested[index]}) for index, part in states.items()]
            return {index: response for result in alone for index, response in result.items()}
        outputs = {
            KEEP: decoded.keep,
            KEEP_PROB: decoded.keep_prob,
            RUBRIC_PROB: decoded.rubric_prob,
            GATE: decoded.gate,
        }
        bounds = itertools.pairwise(cu_seqlens)
        return {
            index: pb_utils.InferenceResponse(
                output_tensors=[
                    pb_utils.Tensor(name, values[None, start:end])
                    for name, values in outputs.items()
                    if name in requested[index]
                ]
            )
            for index, (start, end) in zip(states, bounds, strict=True)
        }


def code_states(fused: Array, span: Array) -> Array:
    """The fused states of the code tokens, [m, D], of a request's `fused` [1, n, D] and `document_span` [1, 2].
    Raises `ValueError`: the request has several rows, or its span is empty or not within the sequence."""
    if fused.ndim != 3 or fused.shape[0] != 1:
        raise ValueError(
            f"{FUSED} must have shape [1, n, D], not {list(fused.shape)}; send one request a sequence"
        )
    if span.shape != (1, 2):
        raise ValueError(f"{DOCUMENT_SPAN} must have shape [1, 2], not {list(span.shape)}")
    start, end = (int(bound) for bound in span[0])
    if not 0 <= start < end <= fused.shape[1]:
        raise ValueError(
            f"{DOCUMENT_SPAN} [{start}, {end}) must be a non-empty part of the sequence's {fused.shape[1]} tokens"
        )
    return fused[0, start:end]


def failure(error: ValueError) -> Any:
    """The error response to one request."""
    message = f"{DECODER}: {error}"
    return pb_utils.InferenceResponse(error=pb_utils.TritonError(message, pb_utils.TritonError.INVALID_ARG))
