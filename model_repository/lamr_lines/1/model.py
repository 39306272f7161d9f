"""The Triton model `lamr_lines`, which scores a file's lines by the line model, as a client does at `instant`.

    in   query, code BYTES [1, 1], UTF-8; path, task BYTES [1, 1], which may be left out
    out  line_prob FP32 [1, L]; relevance and threshold FP32 [1, 1]: lines that reach the threshold are kept

The weights are the client's files, which lie beside this model in `lamr`; there is no other copy. The model runs
wherever `lamr_contract` can be imported (see `lamr_decoder`). `lamr research lines` copies this file.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import triton_python_backend_utils as pb_utils

sys.path += [path for path in os.environ.get("LAMR_PYTHONPATH", "").split(os.pathsep) if path]

from lamr_contract.addressee import check_addressee, own_fingerprint
from lamr_contract.encoding import PromptEncoder
from lamr_contract.errors import InvalidInputError, LamrError
from lamr_contract.names import LINE_INPUTS, LINE_MODEL, LINE_OUTPUTS, MAX_TEXT_BYTES_PARAMETER
from lamr_contract.scoring.query_document import QueryDocument
from lamr_contract.scoring.scorer import DocumentScorer, LineScores, Scorer
from lamr_contract.stalls import StallWatch

QUERY, CODE, PATH, TASK = LINE_INPUTS


class TritonPythonModel:
    """One instance of the model, with one set of weights."""

    def initialize(self, args: dict[str, str]) -> None:
        """Load the client's files of the repository."""
        repository = Path(args["model_repository"]).parent
        try:
            self._encoder = PromptEncoder.from_repository(repository)
            self._scorer = Scorer.from_repository(repository, self._encoder.spec)
        except LamrError as error:
            raise pb_utils.TritonModelException(str(error)) from error
        if not self._scorer.instant:
            raise pb_utils.TritonModelException(f"the model has no line model; serve it without {LINE_MODEL}")
        parameters = json.loads(args["model_config"])["parameters"]
        self._most_bytes = int(parameters[MAX_TEXT_BYTES_PARAMETER]["string_value"])
        self._fingerprint = own_fingerprint(args["model_config"])
        self._watch = StallWatch()
        self._watch.start()

    def execute(self, requests: list[Any]) -> list[Any]:
        """Answer each request, in order. A request that can't be read gets an error of its own."""
        with self._watch.answering():
            return [self._answer(request) for request in requests]

    def _answer(self, request: Any) -> Any:
        try:
            check_addressee(request.parameters(), self._fingerprint)
            scores = self._score({name: text_of(request, name) for name in LINE_INPUTS})
        except (LamrError, ValueError) as error:
            return pb_utils.InferenceResponse(
                error=pb_utils.TritonError(f"{LINE_MODEL}: {error}", pb_utils.TritonError.INVALID_ARG)
            )
        values = (scores.scores, [scores.relevance], [scores.adapted(self._encoder.spec.threshold)])
        requested = request.requested_output_names()
        return pb_utils.InferenceResponse(
            output_tensors=[
                pb_utils.Tensor(name, np.array(each, np.float32)[None])
                for name, each in zip(LINE_OUTPUTS, values, strict=True)
                if name in requested
            ]
        )

    def _score(self, texts: dict[str, str]) -> LineScores:
        """Score the lines of a request's code.

        Raises:
            InvalidInputError: the request is too large, or its texts can't be used.
        """
        if (size := sum(len(text.encode()) for text in texts.values())) > self._most_bytes:
            raise InvalidInputError(
                f"the request has {size} bytes of text, and {self._most_bytes} are allowed"
            )
        for name in (QUERY, CODE):
            if not texts[name].strip():
                raise InvalidInputError(f"{name} is empty", argument=name)
        asked = QueryDocument.of(self._encoder, texts[QUERY], texts[CODE], task=texts[TASK], path=texts[PATH])
        return DocumentScorer(self._scorer, asked).finish()


def text_of(request: Any, name: str) -> str:
    """One of a request's texts; empty where it is left out.

    Raises:
        ValueError: it has several rows or texts, isn't UTF-8, or holds NUL.
    """
    tensor = pb_utils.get_input_tensor_by_name(request, name)
    if tensor is None:
        return ""
    values = tensor.as_numpy()
    if values.shape != (1, 1):
        raise ValueError(f"{name} must have shape [1, 1], not {list(values.shape)}; send one request a file")
    try:
        text = str(bytes(values[0, 0]), "utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{name} isn't UTF-8: {error.reason} at byte {error.start}") from error
    if "\0" in text:
        raise ValueError(f"{name} has a NUL; binary files can't be scored")
    return text
