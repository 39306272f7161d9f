"""What a LaMR checkpoint is made of: the dataclass behind its `config.json`.

It loads no weights and imports neither torch nor transformers. Prompt, chunking and scoring have the types of
`lamr_model`, so a model is served with exactly what it was trained with, or as
the exporter asks: that changes what a client reads of a model, and no weight."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from typing import Any

from lamr_model.rules import Scoring
from lamr_model.spec import Chunking, ModelSpec, PromptTemplate

from lamr_export.errors import CheckpointError, ExportError

MODEL_TYPE = "lamr"
CHECKPOINT_CONFIG = "config.json"
RELEVANCE_KINDS = ("yes_no", "linear")


@dataclass(frozen=True)
class Lexical:
    """Which lexical features the encoder reads: those of tokens that also occur in their sequence's query."""

    separator_id: int  # the token that ends the query (BERT's `[SEP]`)
    excluded_ids: tuple[int, ...] = ()  # ids that never count as matches; stop words have rarity 0 instead
    # Half widths, in tokens, of neighbourhoods whose density of matches is a feature too, together with the share of
    # the query that the sequence covers. With windows the features also reach the fused features directly.
    windows: tuple[int, ...] = ()


@dataclass(frozen=True)
class LamrConfig:
    """A model's `config.json`. Raises `CheckpointError`: a field contradicts another one."""

    name: str  # the model's name and version, for people, logs and the fingerprint
    version: str
    backbone: dict[str, Any]  # the backbone's Hugging Face configuration
    # what a client must know (`lamr_model.spec`), with chunking, scoring and threshold
    prompt: PromptTemplate
    chunking: Chunking
    fusion_layers: tuple[int, ...]  # 1-based numbers of the layers that are concatenated (paper equation 2)
    rubrics: tuple[str, ...] = ("semantic", "dependency")  # their names, in the order of the K axis
    fusion_blocks: int = 1  # the number of fusion blocks, J of paper equation 3
    fusion_heads: int = 8  # attention heads of a fusion block
    fusion_width: int | None = None  # what the layers are projected to before; None keeps the full width
    head_hidden: int = 256  # the width of the shared MLP
    dropout: float = 0.4  # the dropout inside the shared MLP in training
    relevance: str = "linear"  # `linear` reads the first token, `yes_no` the last one along E_yes - E_no
    yes_token_id: int | None = None  # the two tokens that `yes_no` compares; None for `linear`
    no_token_id: int | None = None
    scoring: Scoring = field(default_factory=Scoring)
    threshold: float = 0.4
    lexical: Lexical | None = None  # the lexical features, or None for the paper's model
    # Half widths, in tokens, of the neighbourhoods that are compared with the query when query and code are encoded
    # apart; None for the paper's joint encoding. It needs `lexical`, which tells where the query is.
    similarity: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if self.relevance not in RELEVANCE_KINDS:
            raise CheckpointError(f"relevance must be one of {RELEVANCE_KINDS}, not {self.relevance!r}")
        if self.relevance == "yes_no" and (self.yes_token_id is None or self.no_token_id is None):
            raise CheckpointError("relevance 'yes_no' needs yes_token_id and no_token_id")
        if not self.rubrics or len(set(self.rubrics)) != len(self.rubrics):
            raise CheckpointError(f"rubrics must be one or more different names, not {self.rubrics}")
        layers = self.backbone.get("num_hidden_layers")
        if layers is not None and not all(1 <= n <= layers for n in self.fusion_layers):
            raise CheckpointError(
                f"fusion_layers {self.fusion_layers}: the backbone has layers 1 to {layers}"
            )
        if self.similarity is not None and (self.lexical is None or self.relevance != "linear"):
            raise CheckpointError(
                "similarity needs lexical features, which tell the query, and linear relevance"
            )
        self._check_ids()
        hidden = self.backbone.get("hidden_size")
        width = None if hidden is None else self.fused_width(hidden)
        if width is not None and (width < 1 or width % self.fusion_heads):
            raise CheckpointError(f"fusion_heads {self.fusion_heads} doesn't divide the fused width {width}")

    def fused_width(self, hidden_size: int) -> int:
        """D, the number of a token's features that the heads read."""
        return hidden_size * len(self.fusion_layers) if self.fusion_width is None else self.fusion_width

    def _check_ids(self) -> None:
        ids = [self.yes_token_id, self.no_token_id]
        ids += [self.lexical.separator_id, *self.lexical.excluded_ids] if self.lexical else []
        entries = self.backbone.get("vocab_size")
        for token in ids:
            if token is not None and entries is not None and not 0 <= token < entries:
                raise CheckpointError(f"token id {token}: the backbone's vocabulary has {entries} entries")

    def spec(self, tokenizer_sha256: str, weights_sha256: str | None = None) -> ModelSpec:
        """What a client must know about this model; the digests are those of `ModelSpec`."""
        return ModelSpec(
            name=self.name,
            version=self.version,
            prompt=self.prompt,
            chunking=self.chunking,
            rubrics=self.rubrics,
            tokenizer_sha256=tokenizer_sha256,
            scoring=self.scoring,
            threshold=self.threshold,
            weights_sha256=weights_sha256,
        )

    def to_json(self) -> str:
        """The file's text; `from_json` reads it back equal."""
        fields = {**dataclasses.asdict(self), "scoring": self.scoring.to_dict()}
        return json.dumps({"model_type": MODEL_TYPE, **fields}, indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str, source: str = CHECKPOINT_CONFIG) -> LamrConfig:
        """Read a config; `source` names the file in errors. Raises `CheckpointError`: the text isn't JSON or has
        another `model_type`, or a field is missing, unknown or contradictory."""
        try:
            data = json.loads(text)
            if data.pop("model_type") != MODEL_TYPE:
                raise CheckpointError(f"{source}: model_type isn't {MODEL_TYPE!r}")
            lexical, similarity = data.pop("lexical"), data.pop("similarity")
            if lexical:
                lexical = {k: v if isinstance(v, int) else tuple(v) for k, v in lexical.items()}
            return cls(
                prompt=PromptTemplate(**data.pop("prompt")),
                chunking=Chunking(**data.pop("chunking")),
                scoring=Scoring.from_dict(data.pop("scoring")),
                fusion_layers=tuple(data.pop("fusion_layers")),
                rubrics=tuple(data.pop("rubrics")),
                lexical=lexical and Lexical(**lexical),
                similarity=None if similarity is None else tuple(similarity),
                **data,
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise CheckpointError(f"{source}: not a LaMR configuration ({error})") from error


def paper_fusion_layers(num_layers: int) -> tuple[int, int, int]:
    """Layers L/4, L/2 and L (paper equation 2): (7, 14, 28) of 28, as SWE-Pruner rounds them."""
    return max(1, num_layers // 4), max(1, num_layers // 2), num_layers


SCORINGS = ("paper", "emission")
"""The kinds of scoring that need nothing fitted, so that any checkpoint can be exported with them."""


# Bytes that an encoder on a CPU takes at its peak for each head and pair of a chunk's tokens: scores in float32, and a
# copy or two of them. Measured in docs/lab/swe-pruner.md.
_BYTES_PER_SCORE = 9.4
_WORTH_SAYING = 1e9


def check_name(name: str | None) -> None:
    """Refuse a name that a person could not read in a line of `lamr status`."""
    if name is not None and not (name.strip() and name.isprintable()):
        raise ExportError(f"a model's name must be printable and not blank, not {name!r:.80}")


def served_config(config: LamrConfig, scoring: str | None, chunk_tokens: int | None) -> LamrConfig:
    """Return a configuration with another scoring or chunk size, where one is given."""
    if scoring is not None:
        if scoring not in SCORINGS:
            raise ExportError(f"scoring must be one of {', '.join(SCORINGS)}, not {scoring!r}")
        config = dataclasses.replace(config, scoring=Scoring(scoring))
    if chunk_tokens is None:
        return config
    if not 1 <= chunk_tokens <= config.chunking.window:
        raise ExportError(
            f"chunks must have 1 to {config.chunking.window} tokens, which is the window, not {chunk_tokens}"
        )
    chunking = dataclasses.replace(config.chunking, tokens=chunk_tokens, cut="lines")
    return dataclasses.replace(config, chunking=chunking)


def serving_terms(config: LamrConfig) -> str:
    """Return a line that says how lines are scored, and in what chunks a file is read."""
    chunking = config.chunking
    size = "filling the window" if chunking.tokens >= chunking.window else f"of {chunking.tokens:,} tokens"
    terms = (
        f"scoring {config.scoring.kind}, threshold {config.threshold}; chunks {size}, cut at {chunking.cut}, "
        f"that share {chunking.overlap}, in a window of {chunking.window:,}"
    )
    needed = attention_bytes(config)
    if needed < _WORTH_SAYING:
        return terms
    return f"{terms}; a full chunk takes {needed / 1e9:.0f} GB on a CPU, and less with --chunk-tokens"


def attention_bytes(config: LamrConfig) -> float:
    """Return about how much memory attention over a full chunk takes on a CPU, in bytes. Heads run side by side, so the
    layer with the most of them counts."""
    heads = max(config.fusion_heads, config.backbone.get("num_attention_heads", 1))
    return float(_BYTES_PER_SCORE * heads * min(config.chunking.tokens, config.chunking.window) ** 2)
