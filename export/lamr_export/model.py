"""The LaMR network: a packed backbone, three-layer fusion, relevance, and the rubric heads.

Paper section 3: hidden states of three layers are concatenated (equation 2), refined by self-attention blocks
(equation 3) and read by `RubricHeads`. The encoder part (`LamrModel.forward`) is exported to ONNX. The heads are served
by `lamr_model.crf`; their parameters have the names of `decoder.npz`."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any, NamedTuple

import torch
from lamr_model.crf import DecoderWeights
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import AutoConfig, AutoModel, PreTrainedModel

from lamr_export.attention import PACKED_ATTENTION, PackedLayout, packed_attention
from lamr_export.config import LamrConfig
from lamr_export.errors import CheckpointError
from lamr_export.lexical_features import LexicalFeatures, Similarity


class HeadOutput(NamedTuple):
    """What the heads say about T tokens: `emissions [T, K, 2]`, `gate [T, K]` (sums to 1), `fused_emissions [T, 2]`."""

    emissions: Tensor
    gate: Tensor
    fused_emissions: Tensor


class CrfParameters(nn.Module):
    """Transitions `[…, 2, 2]` (from, to), start `[…, 2]` and end `[…, 2]` of linear-chain CRFs. Label 1 means keep."""

    def __init__(self, *leading: int) -> None:
        super().__init__()
        # Chains that prefer to stay from the start multiply every emission by the length of the run, and emissions
        # then learn nothing but the base rate.
        self.transitions = nn.Parameter(torch.zeros(*leading, 2, 2))
        self.start = nn.Parameter(torch.zeros(*leading, 2))
        self.end = nn.Parameter(torch.zeros(*leading, 2))


class RubricHeads(nn.Module):
    """Shared MLP, softmax gate and CRFs of K rubrics (paper equations 4 to 6). With K = 1 there is no gate to learn and
    no second chain: the fused emissions are the rubric's own."""

    def __init__(self, width: int, hidden: int, rubrics: int, dropout: float) -> None:
        super().__init__()
        self.rubrics = rubrics
        self.norm = nn.LayerNorm(width)
        self.hidden = nn.Linear(width, hidden)
        self.dropout = nn.Dropout(dropout)
        self.emission = nn.Linear(hidden, 2 * rubrics)
        self.rubric_crf = CrfParameters(rubrics)
        self.gate = nn.Linear(width, rubrics) if rubrics > 1 else None
        self.fused_crf = CrfParameters() if rubrics > 1 else None

    def forward(self, fused: Tensor) -> HeadOutput:
        """Emissions and gate of packed features `[T, D]`."""
        hidden = self.dropout(F.gelu(self.hidden(self.norm(fused))))
        emissions = self.emission(hidden).unflatten(-1, (self.rubrics, 2))
        gate = torch.ones_like(emissions[..., 0]) if self.gate is None else self.gate(fused).softmax(dim=-1)
        return HeadOutput(emissions, gate, (gate[..., None] * emissions).sum(dim=-2))

    def fused_crf_tensors(self) -> tuple[Tensor, Tensor, Tensor]:
        """Transitions `[2, 2]`, start `[2]` and end `[2]` of the chain that decodes the fused emissions."""
        if self.fused_crf is None:
            own = self.rubric_crf
            return own.transitions[0], own.start[0], own.end[0]
        return self.fused_crf.transitions, self.fused_crf.start, self.fused_crf.end

    def arrays(self) -> dict[str, Tensor]:
        """Every parameter by its name in `decoder.npz`, as detached float32."""
        arrays = {name: value.detach().float().clone() for name, value in self.state_dict().items()}
        if self.gate is None:
            width = self.norm.normalized_shape[0]
            arrays["gate.weight"], arrays["gate.bias"] = torch.zeros(1, width), torch.zeros(1)
            for name, value in zip(("transitions", "start", "end"), self.fused_crf_tensors(), strict=True):
                arrays[f"fused_crf.{name}"] = value.detach().float().clone()
        return arrays


_NOT_ARCHITECTURE = {
    *("_name_or_path", "transformers_version", "architectures", "dtype", "torch_dtype"),
    *("id2label", "label2id", "problem_type", "output_hidden_states", "output_attentions", "return_dict"),
}


class FusionAttention(nn.Module):
    """Multi-head self-attention over a packed batch, with the parameters of `nn.MultiheadAttention`."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.in_proj_weight = nn.Parameter(torch.empty(3 * width, width))
        self.in_proj_bias = nn.Parameter(torch.zeros(3 * width))
        self.out_proj = nn.Linear(width, width)
        nn.init.xavier_uniform_(self.in_proj_weight)
        nn.init.zeros_(self.out_proj.bias)

    def forward(self, x: Tensor, packing: PackedLayout) -> Tensor:
        """Attend within each sequence, in both directions: `[T, D]` to `[T, D]`."""
        qkv = F.linear(x, self.in_proj_weight, self.in_proj_bias)
        q, k, v = qkv.unflatten(-1, (3, self.heads, -1)).unbind(dim=1)
        out = packed_attention(q, k, v, packing, scale=q.shape[-1] ** -0.5, causal=False)
        return self.out_proj(out)


class Relevance(nn.Module):
    """Log-odds of "yes" for a chunk, from the state of its last token or, for [CLS] models, of its first one. For
    Qwen3-Reranker the weight is E_yes - E_no, which gives softmax([no, yes])_yes without the product with the whole
    vocabulary."""

    def __init__(self, hidden_size: int, kind: str) -> None:
        super().__init__()
        self.at_last = kind == "yes_no"
        self.direction = nn.Linear(hidden_size, 1, bias=kind == "linear")

    def forward(self, states: Tensor, packing: PackedLayout) -> Tensor:
        """`[T, hidden]` to log-odds `[B, 1]`."""
        token = packing.lasts if self.at_last else packing.starts
        return self.direction(states.index_select(0, token))


class LamrModel(nn.Module):
    """Query-conditioned token features and chunk relevance for a packed batch; `heads` gives emissions and gate."""

    def __init__(self, config: LamrConfig, backbone: PreTrainedModel | None = None) -> None:
        super().__init__()
        self.config = config
        self.backbone = _packed_backbone(config, backbone)
        hidden_size = self.backbone.config.hidden_size
        joined, width = hidden_size * len(config.fusion_layers), config.fused_width(hidden_size)
        self.fusion_input = None if config.fusion_width is None else nn.Linear(joined, width, bias=False)
        self.fusion_layers = nn.ModuleList(
            FusionAttention(width, config.fusion_heads) for _ in range(config.fusion_blocks)
        )
        self.fusion_norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(config.fusion_blocks))
        self.relevance = Relevance(hidden_size, config.relevance)
        self.heads = RubricHeads(width, config.head_hidden, len(config.rubrics), config.dropout)
        self.lexical = (
            LexicalFeatures(config.lexical, self.backbone.config.vocab_size, hidden_size, width)
            if config.lexical
            else None
        )
        self.similarity = None
        if config.similarity is not None:
            self.similarity = Similarity(config.similarity, hidden_size, width)
            nn.init.zeros_(self.relevance.direction.weight)

    @classmethod
    def from_backbone(cls, backbone: PreTrainedModel | str | Path, config: LamrConfig) -> LamrModel:
        """Start from a trained backbone: a loaded Hugging Face model or its folder, which replaces the config's own.

        For `yes_no` relevance the direction is taken from the input embeddings, which Qwen3-Reranker ties to its
        output. Raises `CheckpointError`: the folder isn't a loadable backbone, or the config doesn't fit it."""
        loaded: Any = backbone
        if not isinstance(backbone, PreTrainedModel):
            try:
                given: dict[str, Any] = {"local_files_only": True, "use_safetensors": True}  # no pickle
                loaded = AutoModel.from_pretrained(backbone, dtype=torch.float32, **given)
            except (OSError, ValueError) as error:
                raise CheckpointError(
                    f"{backbone}: not a backbone that transformers can load ({error})"
                ) from error
        loaded = getattr(loaded, loaded.base_model_prefix, loaded)
        settings: dict[str, Any] = json.loads(loaded.config.to_json_string(use_diff=False))
        plain = {name: value for name, value in settings.items() if name not in _NOT_ARCHITECTURE}
        config = dataclasses.replace(config, backbone=plain)
        model = cls(config, loaded)
        if config.relevance == "yes_no":
            embedding = loaded.get_input_embeddings().weight
            with torch.no_grad():
                direction = embedding[config.yes_token_id] - embedding[config.no_token_id]
                model.relevance.direction.weight.copy_(direction[None])
        return model

    def forward(self, input_ids: Tensor, cu_seqlens: Tensor, max_len: Tensor) -> tuple[Tensor, Tensor]:
        """Encode a packed batch.

        Args:
            input_ids: int64 `[T]`, B sequences end to end.
            cu_seqlens: int32 `[B + 1]`, from 0 to T.
            max_len: float32 `[L]`, L the longest sequence's length; only its shape is read.

        Returns:
            fused features `[T, D]` and relevance `[B, 1]`, a probability, both float32."""
        return self.encode(input_ids, PackedLayout.of(cu_seqlens, max_len, input_ids.shape[0]))

    def encode(
        self, input_ids: Tensor, packing: PackedLayout, shift: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """`forward` for a batch that is laid out already. `shift` `[T]` is added to every input embedding."""
        fused, relevance = self.features(input_ids, packing, shift)
        return fused, torch.sigmoid(relevance)

    def features(
        self, input_ids: Tensor, packing: PackedLayout, shift: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Fused features `[T, D]`, and log-odds of relevance `[B, 1]`."""
        states, lexical, likeness = self._hidden_states(input_ids, packing, shift)
        fused = torch.cat([states[n] for n in self.config.fusion_layers], dim=-1)
        fused = fused if self.fusion_input is None else self.fusion_input(fused)
        fused = fused if lexical is None else fused + lexical
        fused = fused.to(self.relevance.direction.weight.dtype)
        relevance = self.relevance(states[-1].to(fused.dtype), packing)
        if likeness is not None:
            fused, relevance = fused + likeness[0], relevance + likeness[1]
        for attention, norm in zip(self.fusion_layers, self.fusion_norms, strict=True):
            fused = norm(fused + attention(fused, packing))
        return fused, relevance

    def decoder_weights(self) -> DecoderWeights:
        """Heads, gate and CRFs as numpy arrays, for `lamr_model.crf` and `decoder.npz`. The fused CRF is left out, as
        zeros, if the configuration's scoring wants probabilities without a chain."""
        arrays = {name: value.cpu().numpy() for name, value in self.heads.arrays().items()}
        weights = DecoderWeights(**{name.replace(".", "_"): value for name, value in arrays.items()})
        return weights.without_chain() if self.config.scoring.unchained else weights

    def _hidden_states(
        self, input_ids: Tensor, packing: PackedLayout, shift: Tensor | None
    ) -> tuple[list[Tensor], Tensor | None, tuple[Tensor, Tensor] | None]:
        """The backbone's states, and what lexical features and similarity add to what is computed from them. Shapes:
        returns `[T, hidden]`, `[T, D]`."""
        fused_lexical, types, layout = None, None, packing
        inputs = {"inputs_embeds": self.backbone.get_input_embeddings()(input_ids)[None]}
        if shift is not None:
            inputs["inputs_embeds"] = inputs["inputs_embeds"] + shift[None, :, None]
        if self.lexical is not None:
            added, types, fused_lexical = self.lexical(input_ids, packing)
            if self.similarity is None:
                inputs["inputs_embeds"] = inputs["inputs_embeds"] + added[None]
                inputs["token_type_ids"] = types[None]
            else:  # the backbone was trained on one kind of text, with nothing added
                inputs["token_type_ids"] = torch.zeros_like(types)[None]
                layout = packing.split(_query_lengths(types, packing))
        output = self.backbone(
            **inputs,
            position_ids=layout.position[None],
            output_hidden_states=True,
            use_cache=False,
            packing=layout,
        )
        states = [*(state[0] for state in output.hidden_states[:-1]), output.last_hidden_state[0]]
        if self.similarity is None or types is None:
            return states, fused_lexical, None
        last = states[-1].to(self.relevance.direction.weight.dtype)
        return states, fused_lexical, self.similarity(last, types, packing)


def _query_lengths(types: Tensor, packing: PackedLayout) -> Tensor:
    """The number of each sequence's tokens up to its first separator, int64 `[B]`."""
    total = (types == 0).to(torch.int64).cumsum(dim=0)
    return total.index_select(0, packing.lasts) - total.index_select(0, packing.starts) + 1


def _packed_backbone(config: LamrConfig, backbone: PreTrainedModel | None) -> PreTrainedModel:
    if backbone is None:
        fields = dict(config.backbone)
        try:
            backbone = AutoModel.from_config(AutoConfig.for_model(fields.pop("model_type"), **fields))
        except (KeyError, ValueError, TypeError) as error:
            raise CheckpointError(f"backbone configuration: transformers can't build it ({error})") from error
    if getattr(backbone, "pooler", None) is not None:
        backbone.pooler = None
    try:
        backbone.set_attn_implementation(PACKED_ATTENTION)
    except ValueError as error:
        raise CheckpointError(
            f"the backbone {backbone.config.model_type} can't be packed ({error})"
        ) from error
    if config.lexical and getattr(backbone.config, "type_vocab_size", 2) < 2:
        raise CheckpointError("lexical features need a backbone with two token types")
    return backbone
