"""`LocalModel`: the model of a repository, run in this process with onnxruntime and `lamr_model.crf`.

It has Triton's encoder and decoder, and so gives the same answers. The client prunes with it when no server is named,
and training fits scorings on it."""

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from lamr_base.errors import ClosedError, LamrError, ModelMismatchError, ServerError
from numpy.typing import NDArray

from lamr_model.crf import Decoder, DecoderWeights
from lamr_model.encoder.apart_session import ApartSession
from lamr_model.encoder.encoder_session import open_encoder
from lamr_model.encoder.kept_states import KeptStates
from lamr_model.encoder.packed_batch import code_states, cut_by_tokens, encoder_feed
from lamr_model.model_io import ChunkRequest, ChunkResult
from lamr_model.names import DECODER, ENCODER, ENCODER_OUTPUTS, ONNX_FILE, WEIGHTS_FILE, version_folder


class LocalModel:
    """One onnxruntime session and one decoder.

    A run uses all the CPUs that it may, so threads should take turns."""

    def __init__(  # noqa: PLR0913  # keyword-only, each with a default
        self,
        repository: Path,
        *,
        threads: int | None = None,
        providers: list[Any] | None = None,
        max_batch_tokens: int = 1024,
        weights: DecoderWeights | None = None,
        kept: KeptStates | None = None,
    ) -> None:
        """Load the model.

        Args:
            repository: a model repository written by `lamr export`.
            threads, providers: see `encoder_session.open_encoder`.
            max_batch_tokens: see `packed_batch.cut_by_tokens`; larger batches take more memory and are no quicker.
            weights: take the place of the repository's decoder, for what is fitted on a model before it is served.
            kept: keeps what an encoder that reads query and code apart makes of either, and is closed with the model;
                default a store in memory.

        Raises:
            ModelMismatchError: a file is missing or broken.
            MissingPackageError: onnxruntime isn't installed."""
        weights = weights or DecoderWeights.load(version_folder(repository, DECODER) / WEIGHTS_FILE)
        self._decoder = Decoder(weights)
        encoder = version_folder(repository, ENCODER) / ONNX_FILE
        kept = KeptStates() if kept is None else kept
        self._session = open_encoder(encoder, threads=threads, providers=providers, kept=kept)
        self._max_batch_tokens = max_batch_tokens

    def batches(self, requests: Sequence[ChunkRequest]) -> list[list[int]]:
        """Return the places of the requests that go into each run; requests of like length go together."""
        return cut_by_tokens([len(request.input_ids) for request in requests], self._max_batch_tokens)

    def infer_many(self, requests: Sequence[ChunkRequest]) -> list[ChunkResult]:
        """Return the answers to any number of requests, in their order. Raises `ServerError`, `ModelMismatchError`:
        see `run`."""
        results: dict[int, ChunkResult] = {}
        for batch in self.batches(requests):
            results.update(zip(batch, self.run([requests[place] for place in batch]), strict=True))
        return [results[place] for place in range(len(requests))]

    def work(self, input_ids: NDArray[np.int64]) -> float:
        """Return what a sequence costs, in tokens of one that is read whole."""
        session = self._session
        return session.work(input_ids) if isinstance(session, ApartSession) else len(input_ids)

    def close(self) -> None:
        """Let go of the session's memory, and write what is to be kept; a later run raises."""
        if isinstance(self._session, ApartSession):
            self._session.close()
        self._session = None

    def run(self, requests: Sequence[ChunkRequest]) -> list[ChunkResult]:
        """Return the answers to one batch, from one run of the encoder and one of the decoder.

        Raises:
            ServerError: onnxruntime failed.
            ModelMismatchError: the decoder isn't this encoder's.
            ClosedError: the model is closed."""
        return self._decode(requests, *self.encode(requests))

    def encode(
        self, requests: Sequence[ChunkRequest]
    ) -> tuple[NDArray[np.float32], NDArray[np.int64], NDArray[np.float32]]:
        """Run the encoder on one batch.

        Returns:
            the features of all code tokens float32 [m, D]; where each request's begin and the last one's end,
            int64 [B + 1]; and the relevance float32 [B].

        Raises:
            ServerError: onnxruntime failed.
            ClosedError: the model is closed."""
        if self._session is None:
            raise ClosedError("this model is closed; load it again")
        lengths = [len(request.input_ids) for request in requests]
        feed = encoder_feed([request.input_ids for request in requests])
        try:
            fused, relevance = self._session.run(ENCODER_OUTPUTS, feed)
        except LamrError:
            raise
        except Exception as error:  # onnxruntime's exceptions share no base but this
            raise ServerError(f"onnxruntime failed on a batch of {lengths} tokens ({error})") from error
        code, bounds = code_states(fused, lengths, [request.document_span for request in requests])
        return code, bounds, relevance.reshape(-1)

    def _decode(
        self,
        requests: Sequence[ChunkRequest],
        code: NDArray[np.float32],
        bounds: NDArray[np.int64],
        relevance: NDArray[np.float32],
    ) -> list[ChunkResult]:
        want_rubrics = any(request.want_rubrics for request in requests)
        try:
            decoded = self._decoder.decode(code, bounds, want_rubrics)
        except ValueError as error:
            raise ModelMismatchError(f"the decoder refuses the encoder's states: {error}") from error
        return [
            ChunkResult(
                decoded.keep[a:b],
                decoded.keep_prob[a:b],
                _rows(decoded.rubric_prob, a, b) if request.want_rubrics else None,
                _rows(decoded.gate, a, b) if request.want_rubrics else None,
                float(score),
            )
            for request, (a, b), score in zip(requests, itertools.pairwise(bounds), relevance, strict=True)
        ]


def _rows(values: Any, first: int, last: int) -> Any:
    return None if values is None else values[first:last]
