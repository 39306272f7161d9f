"""`TorchScorer`: log-probabilities from a causal language model in this process, by PyTorch.

What sequences share at their beginnings is read once, and only tokens that are asked for meet the
vocabulary."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from lamr_model.encoder.packed_batch import cut_by_tokens, encoder_feed, sequence_bounds
from lamr_model.names import CU_SEQLENS, INPUT_IDS, MAX_LEN
from lamr_model.perplexity.causal_scorer import IntArray, Tokenized, check_sequences, only_asked
from numpy.typing import NDArray

from lamr_export.causal_source import load_causal
from lamr_export.shared_prefixes import PrefixGroup, SharedLayout, fill, laid_out, prefix_groups, rows_of

BATCH_TOKENS = 4096


class TorchScorer(Tokenized):
    """A `CausalScorer` on any causal language model that transformers can load."""

    def __init__(
        self,
        model: str | Path,
        *,
        device: str | None = None,
        max_batch_tokens: int = BATCH_TOKENS,
        bfloat16: bool = False,
        progress: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Load a model and its tokenizer.

        Args:
            model: a folder with `config.json`, weights as safetensors, and `tokenizer.json`; a GGUF file; or a Hugging
                Face id, which is downloaded into the usual cache unless it lies there.
            device: where it runs, in float32; default: on a GPU with CUDA, if there is one.
            bfloat16: whether layers multiply in bfloat16, which processors with instructions for it do faster.

        Raises:
            CheckpointError: there is no causal language model that is supported.
            ModelMismatchError: its tokenizer can't be read.
            MissingPackageError: a GGUF file needs a package that isn't installed."""
        device = device or ("cuda" if torch.cuda.is_available() else "cpu")
        source = load_causal(model, progress=progress)
        self.name, self.tokenizer = source.name, source.tokenizer
        self.key: str | None = f"{source.digest} bfloat16" if bfloat16 else source.digest
        self.model = source.model.to(device)
        if bfloat16:
            self.model.round_layers()
        self.max_tokens = self.model.longest
        self._device, self._most = device, max_batch_tokens

    def log_probs(
        self, sequences: Sequence[IntArray], firsts: Sequence[int] | None = None
    ) -> list[NDArray[np.float32]]:
        check_sequences(sequences, self.max_tokens, self.model.vocabulary)
        if not self.model.packed:
            return only_asked(self._unshared(sequences), firsts)
        asked = [max(first, 1) for first in firsts or [1] * len(sequences)]
        found = [np.zeros(len(ids), np.float32) for ids in sequences]
        for batch in fill(prefix_groups(sequences, self._most), self._most):
            self._score(batch, sequences, asked, found)
        return found

    def _score(
        self,
        batch: Sequence[PrefixGroup],
        sequences: Sequence[IntArray],
        firsts: Sequence[int],
        found: Sequence[NDArray[np.float32]],
    ) -> None:
        rows = {place: all_rows[firsts[place] - 1 : -1] for place, all_rows in rows_of(batch).items()}
        tokens = [sequences[place][firsts[place] :] for place in rows]
        inputs = (laid_out(batch, sequences), np.concatenate([*rows.values()]), np.concatenate(tokens))
        ids, asked, given = (torch.from_numpy(values).to(self._device) for values in inputs)
        with torch.inference_mode():
            layout = SharedLayout.of(batch).to(self._device)
            values = self.model.following(ids, layout, asked, given).cpu().numpy()
        ends = np.cumsum([len(part) for part in tokens])
        for place, part in zip(rows, np.split(values, ends[:-1]), strict=True):
            found[place][firsts[place] :] = part

    def _unshared(self, sequences: Sequence[IntArray]) -> list[NDArray[np.float32]]:
        found: dict[int, NDArray[np.float32]] = {}
        for batch in cut_by_tokens([len(ids) for ids in sequences], self._most):
            chosen = [sequences[place] for place in batch]
            feed = {
                name: torch.from_numpy(values).to(self._device)
                for name, values in encoder_feed(chosen).items()
            }
            with torch.inference_mode():
                values = self.model(feed[INPUT_IDS], feed[CU_SEQLENS], feed[MAX_LEN]).cpu().numpy()
            bounds = sequence_bounds([len(ids) for ids in chosen])
            found.update(zip(batch, np.split(values, bounds[1:-1]), strict=True))
        return [found[place] for place in range(len(sequences))]
