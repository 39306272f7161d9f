"""A causal language model that gives the log-probability of each token of a packed batch.

The vocabulary is summed up in slices, so that neither a batch's scores over the whole vocabulary nor their softmax ever
exist."""

from __future__ import annotations

import contextlib
import copy
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import AutoModelForCausalLM, PreTrainedModel

from lamr_export.attention import PACKED_ATTENTION, PackedLayout
from lamr_export.checkpoint import refuse_pickles
from lamr_export.errors import CheckpointError
from lamr_export.shared_prefixes import SharedLayout

SLICE = 8192  # The entries of the vocabulary whose scores exist at a time
MOST_TOKENS = 32_768  # The window of a model that names none
TOLERANCE = 1e-3  # How far log-probabilities may be from those that the model's own code gives, in nats
_PROBE = (5, 13, 2)


class CausalModel(nn.Module):
    """`log p` of each token given those before it in its sequence."""

    def __init__(self, model: PreTrainedModel) -> None:
        super().__init__()
        model.eval().requires_grad_(False)
        head = model.get_output_embeddings()
        if not isinstance(head, nn.Linear):
            raise CheckpointError(f"{model.config.model_type}: its head isn't one linear layer")
        self.vocabulary = head.weight.shape[0]
        self.rounded = False
        own = _own_log_probs(model, self._probe())
        self.longest = _longest(model.config)
        self.max_tokens = min(self.longest, _window(model.config) or self.longest)
        self.packed = True
        self.head, self.trunk = head, _packed(getattr(model, model.base_model_prefix))
        try:
            fits = self._error(own) <= TOLERANCE
        except Exception:  # layers that take no other attention fail in their own ways
            fits = False
        if not fits:
            self.trunk, self.packed = getattr(model, model.base_model_prefix), False
            if (error := self._error(own)) > TOLERANCE:
                raise CheckpointError(
                    f"{model.config.model_type}: log-probabilities from its layers and head are {error:.1e} from its "
                    "own; models that change their head's output aren't supported"
                )

    @classmethod
    def load(cls, folder: str | Path) -> CausalModel:
        """Load the folder of any Hugging Face causal language model, in float32; neither pickles nor code are read."""
        refuse_pickles(Path(folder))
        safe: dict[str, Any] = {"use_safetensors": True, "trust_remote_code": False}
        try:
            loaded: Any = AutoModelForCausalLM.from_pretrained(
                folder, local_files_only=True, dtype=torch.float32, output_loading_info=True, **safe
            )
        except Exception as error:  # a broken file fails in as many ways as there are libraries
            raise CheckpointError(
                f"{folder}: not a causal language model that transformers can load ({error})"
            ) from error
        model, loading = loaded
        if missing := sorted(loading["missing_keys"]):
            raise CheckpointError(f"{folder}: {len(missing)} tensors are missing, {missing[0]} among them")
        return cls(model)

    def round_layers(self) -> None:
        """Let the layers multiply in bfloat16, and sum, normalize and meet the vocabulary in float32."""
        for layer in self.trunk.modules():
            if isinstance(layer, nn.Linear):
                layer.to(torch.bfloat16)
        self.rounded = True

    def forward(self, input_ids: Tensor, cu_seqlens: Tensor, max_len: Tensor) -> Tensor:
        """Score a packed batch. Shapes: `input_ids` int64 `[T]`, `cu_seqlens` int32 `[B + 1]`, `max_len` float32 `[L]`;
        returns float32 `[T]`."""
        return self.log_probs(input_ids, PackedLayout.of(cu_seqlens, max_len, input_ids.shape[0]))

    def log_probs(self, input_ids: Tensor, packing: PackedLayout) -> Tensor:
        """`forward` for a batch that is laid out already."""
        before = (torch.arange(input_ids.shape[0], device=input_ids.device) - 1).clamp(min=0)
        states = self._states(input_ids, packing).index_select(0, before)
        return torch.where(packing.position > 0, self._given(states, input_ids), 0.0)

    def following(self, input_ids: Tensor, layout: SharedLayout, rows: Tensor, tokens: Tensor) -> Tensor:
        """Score tokens after rows of a batch of groups; only these rows meet the vocabulary. Shapes: `input_ids` int64
        `[T]`, `rows` int64 `[n]`, `tokens` int64 `[n]`; returns float32 `[n]`."""
        return self._given(self._states(input_ids, layout).index_select(0, rows), tokens)

    def _given(self, states: Tensor, tokens: Tensor) -> Tensor:
        """The logarithms of the probabilities that the head gives tokens after states `[n, hidden]`."""
        weight, bias = self.head.weight, self.head.bias
        own = (states * weight.index_select(0, tokens)).sum(dim=-1)
        own = own if bias is None else own + bias.index_select(0, tokens)
        total: Tensor | None = None
        for first in range(0, self.vocabulary, SLICE):
            part = slice(first, min(first + SLICE, self.vocabulary))
            scores = F.linear(states, weight[part], None if bias is None else bias[part])
            top = scores.amax(dim=-1)
            summed = (scores - top[:, None]).exp().sum(dim=-1).log() + top
            if total is not None:
                higher, lower = torch.maximum(total, summed), torch.minimum(total, summed)
                summed = higher + (lower - higher).exp().log1p()
            total = summed
        assert total is not None
        return (own - total).float()

    def _states(self, input_ids: Tensor, packing: PackedLayout | SharedLayout) -> Tensor:
        """The last layer's output, `[T, hidden]`."""
        if not self.rounded:
            return self._trunk_states(input_ids, packing)
        with torch.autocast(input_ids.device.type, torch.bfloat16):
            return self._trunk_states(input_ids, packing).float()

    def _trunk_states(self, input_ids: Tensor, packing: PackedLayout | SharedLayout) -> Tensor:
        if self.packed:
            inputs = {"position_ids": packing.position[None], "packing": packing, "within_window": True}
            return self.trunk(input_ids=input_ids[None], use_cache=False, **inputs)[0][0]
        assert isinstance(packing, PackedLayout)
        padded = input_ids.index_select(0, packing.to_padded).view(packing.starts.shape[0], -1)
        states = self.trunk(input_ids=padded, use_cache=False)[0]
        return states.flatten(0, 1).index_select(0, packing.to_packed)

    def _probe(self) -> list[Tensor]:
        generator = torch.Generator().manual_seed(0)
        return [torch.randint(self.vocabulary, (length,), generator=generator) for length in _PROBE]

    def _error(self, own: Tensor) -> float:
        bounds = torch.tensor([0, *_PROBE]).cumsum(0).to(torch.int32)
        with torch.no_grad():
            found = self(torch.cat(self._probe()), bounds, torch.zeros(max(_PROBE)))
        return float((found - own).abs().max())


def _own_log_probs(model: PreTrainedModel, sequences: list[Tensor]) -> Tensor:
    found = []
    with torch.no_grad():
        for ids in sequences:
            scores = model(input_ids=ids[None], use_cache=False).logits[0, :-1].log_softmax(dim=-1)
            found += [torch.zeros(1), scores.gather(1, ids[1:, None])[:, 0]]
    return torch.cat(found)


def _packed(trunk: Any) -> Any:
    shared: dict[int, Any] = {id(parameter): parameter for parameter in trunk.parameters()}
    shared |= {id(buffer): buffer for buffer in trunk.buffers()}
    trunk = copy.deepcopy(trunk, shared)
    with contextlib.suppress(ValueError, NotImplementedError):
        trunk.set_attn_implementation(PACKED_ATTENTION)
    return trunk


def _longest(config: Any) -> int:
    sizes = [getattr(config, name, None) for name in ("max_position_embeddings", "n_positions")]
    return min([size for size in sizes if size], default=MOST_TOKENS)


def _window(config: Any) -> int | None:
    """How many tokens the layers that see the fewest see; None where all see all."""
    layers = getattr(config, "layer_types", None) or []
    if "sliding_attention" in layers or (not layers and getattr(config, "use_sliding_window", True)):
        return getattr(config, "sliding_window", None)
    return None
