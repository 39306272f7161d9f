"""`LocalScorer`: log-probabilities from an exported causal language model, run in this process by onnxruntime.

It has what a server of the same repository has, and so gives the same answers.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lamr_contract.encoder.encoder_session import open_encoder
from lamr_contract.errors import ServerError
from lamr_contract.names import LOG_PROB, ONNX_FILE, TOKENIZER_FILE
from lamr_contract.perplexity.causal_scorer import (
    IntArray,
    Tokenized,
    causal_tokenizer,
    check_sequences,
    only_asked,
    score_in_batches,
)
from lamr_contract.perplexity.causal_spec import causal_files, load_causal_spec

BATCH_TOKENS = 4096


class LocalScorer(Tokenized):
    """A `CausalScorer` on a repository written by `lamr export --perplexity`. Calls of several threads take turns."""

    def __init__(
        self, repository: str | Path, *, threads: int | None = None, max_batch_tokens: int = BATCH_TOKENS
    ) -> None:
        """Load the model.

        Args:
            repository: the model repository.
            threads: see `encoder_session.open_encoder`.
            max_batch_tokens: see `packed_batch.cut_by_tokens`.

        Raises:
            ModelMismatchError: a file is missing or broken.
            MissingPackageError: onnxruntime isn't installed.
        """
        self.spec = load_causal_spec(Path(repository))
        folder = causal_files(Path(repository))
        self.tokenizer = causal_tokenizer(folder / TOKENIZER_FILE)
        self.name, self.max_tokens = self.spec.name, self.spec.max_tokens
        self.key: str | None = self.spec.fingerprint
        self._session = open_encoder(folder / ONNX_FILE, threads=threads, outputs=(LOG_PROB,))
        self._most = max_batch_tokens
        self._turn = threading.Lock()

    def log_probs(
        self, sequences: Sequence[IntArray], firsts: Sequence[int] | None = None
    ) -> list[NDArray[np.float32]]:
        """See `CausalScorer.log_probs`."""
        check_sequences(sequences, self.max_tokens, self.spec.vocabulary)
        return only_asked(score_in_batches(sequences, self._most, self._run), firsts)

    def _run(self, feed: dict[str, NDArray[np.generic]]) -> NDArray[np.float32]:
        try:
            with self._turn:
                log_probs: NDArray[np.float32] = self._session.run([LOG_PROB], feed)[0]
        except Exception as error:  # onnxruntime's exceptions share no base but this
            raise ServerError(
                f"onnxruntime failed on a batch of {len(next(iter(feed.values())))} tokens ({error})"
            ) from error
        return log_probs
