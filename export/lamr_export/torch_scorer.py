"""`TorchScorer`: log-probabilities from a causal language model in this process, by PyTorch.

The module knows batches and limits; `CausalModel` knows the network.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from lamr_contract.causal_scorer import IntArray, causal_tokenizer, check_sequences
from lamr_contract.names import CU_SEQLENS, INPUT_IDS, MAX_LEN, TOKENIZER_FILE
from lamr_contract.packed_batch import cut_by_tokens, encoder_feed, sequence_bounds
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
        results: dict[int, NDArray[np.float32]] = {}
        for batch in cut_by_tokens([len(ids) for ids in sequences], self._most):
            chosen = [sequences[place] for place in batch]
            feed = {
                name: torch.from_numpy(values).to(self._device)
                for name, values in encoder_feed(chosen).items()
            }
            with torch.inference_mode():
                found = self.model(feed[INPUT_IDS], feed[CU_SEQLENS], feed[MAX_LEN]).cpu().numpy()
            parts = np.split(found, sequence_bounds([len(ids) for ids in chosen])[1:-1])
            results.update(zip(batch, parts, strict=True))
        return [results[place] for place in range(len(sequences))]


def weights_digest(folder: Path) -> str:
    """Return what names a model's weights: a digest of its configuration, its weights and its tokenizer."""
    digest = hashlib.sha256()
    for file in sorted(folder.iterdir()):
        if file.suffix in (".safetensors", ".bin") or file.name in ("config.json", TOKENIZER_FILE):
            with file.open("rb") as stream:
                for block in iter(lambda stream=stream: stream.read(1 << 20), b""):
                    digest.update(block)
    return digest.hexdigest()[:16]
