"""`TorchScorer`: log-probabilities from a causal language model in this process, by PyTorch."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from lamr_contract.names import CU_SEQLENS, INPUT_IDS, MAX_LEN, TOKENIZER_FILE
from lamr_contract.perplexity.causal_scorer import (
    IntArray,
    causal_tokenizer,
    check_sequences,
    score_in_batches,
)
from numpy.typing import NDArray

from lamr_export.causal_model import CausalModel

BATCH_TOKENS = 4096


class TorchScorer:
    """A `CausalScorer` on the folder of any Hugging Face causal language model."""

    def __init__(
        self, folder: str | Path, *, device: str = "cpu", max_batch_tokens: int = BATCH_TOKENS
    ) -> None:
        """Load a model and its tokenizer.

        Args:
            folder: with `config.json`, weights as safetensors, and `tokenizer.json`.
            device: where it runs, in float32.
            max_batch_tokens: see `packed_batch.cut_by_tokens`.

        Raises:
            CheckpointError: the folder holds no causal language model that is supported.
            ModelMismatchError: its tokenizer can't be read.
        """
        folder = Path(folder)
        self.model = CausalModel.load(folder).to(device)
        self.tokenizer = causal_tokenizer(folder / TOKENIZER_FILE)
        self.max_tokens = self.model.max_tokens
        self.key: str | None = weights_digest(folder)
        self._device, self._most = device, max_batch_tokens

    def log_probs(self, sequences: Sequence[IntArray]) -> list[NDArray[np.float32]]:
        """See `CausalScorer.log_probs`."""
        check_sequences(sequences, self.max_tokens, self.model.vocabulary)
        return score_in_batches(sequences, self._most, self._run)

    def _run(self, feed: dict[str, NDArray[np.generic]]) -> NDArray[np.float32]:
        inputs = {name: torch.from_numpy(values).to(self._device) for name, values in feed.items()}
        with torch.inference_mode():
            log_probs: NDArray[np.float32] = (
                self.model(inputs[INPUT_IDS], inputs[CU_SEQLENS], inputs[MAX_LEN]).cpu().numpy()
            )
        return log_probs


def weights_digest(folder: Path) -> str:
    """Return what names a model's weights: a digest of its configuration, its weights and its tokenizer."""
    digest = hashlib.sha256()
    for file in sorted(folder.iterdir()):
        if file.suffix in (".safetensors", ".bin") or file.name in ("config.json", TOKENIZER_FILE):
            with file.open("rb") as stream:
                while block := stream.read(1 << 20):
                    digest.update(block)
    return digest.hexdigest()[:16]
