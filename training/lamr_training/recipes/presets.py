"""Named sets of training settings. A table; the loop is in `trainer`."""

from __future__ import annotations

from dataclasses import dataclass, field

from lamr_training.loop.losses import LossWeights


@dataclass(frozen=True)
class TrainingSettings:
    """One run.

    Attributes:
        steps: optimizer steps.
        tokens: budget of one batch.
        accumulate: batches of one step.
        learning_rate: of the backbone.
        head_rate: of everything that starts from nothing: fusion, heads, relevance.
        lexical_rate: of the projections of lexical evidence, which start at zero.
        warmup, decay: shares of the steps at the start and the end where the rate rises and falls linearly.
        weight_decay, clip: of AdamW, and the gradient's greatest norm.
        frozen_layers: how many of the lowest backbone layers stay as they are.
        frozen_embeddings: whether the word embeddings do.
        loss: coefficients.
        dropout: inside the backbone.
        bf16: matrix products of the encoder in bfloat16, where processor or GPU have it.
        average: share of the running average of the weights that each step leaves of it; 0 keeps none. What comes out
            of a run is then the average, which ranks better than any one step of small, noisy batches.
        seed: of order and dropout.
        patience: validations in a row without a better F1 that end the run; 0 trains to the last step.
        checkpoint_every, validate_every, log_every: steps.
    """

    steps: int = 1200
    tokens: int = 2048
    accumulate: int = 1
    learning_rate: float = 1.5e-4
    head_rate: float = 8e-4
    lexical_rate: float = 3e-3
    warmup: float = 0.05
    decay: float = 0.4
    weight_decay: float = 0.01
    clip: float = 1.0
    frozen_layers: int = 0
    frozen_embeddings: bool = False
    loss: LossWeights = field(default_factory=LossWeights)
    dropout: float = 0.0
    bf16: bool = False
    average: float = 0.0
    seed: int = 0
    patience: int = 0
    checkpoint_every: int = 50
    validate_every: int = 150
    log_every: int = 10


# Batches hold some ten files' chunks. Ranks are what a pruner needs, so they weigh most. The chains start indifferent
# (all potentials 0): chains that already prefer to stay multiply every emission by the length of the run, and emissions
# then learn nothing but the base rate.
_MINI_LOSS = LossWeights(relevance=0.2, listwise=1.0, ranking=2.0, balance=0.1)

PRESETS: dict[str, TrainingSettings] = {
    # A backbone that learns fast forgets what sentences mean: 1.5e-4 cost more than all our questions taught.
    "lamr-mini": TrainingSettings(
        steps=2800,
        tokens=4096,
        bf16=True,
        learning_rate=3e-5,
        head_rate=8e-4,
        lexical_rate=2e-3,
        warmup=0.06,
        decay=0.5,
        average=0.99,
        validate_every=400,
        loss=_MINI_LOSS,
    ),
    # The paper's Table 5: the top 2 of 28 layers, batches of 16 on each of 8 GPUs, 3 epochs of 61K records. Its
    # learning rate isn't in the copy that we have; this one is ours.
    "qwen3-reranker-0.6b": TrainingSettings(
        steps=1430,
        tokens=16 * 2304,
        accumulate=8,
        learning_rate=5e-5,
        head_rate=5e-4,
        bf16=True,
        frozen_layers=26,
        frozen_embeddings=True,
        patience=3,
    ),
    "tiny": TrainingSettings(steps=20, tokens=512, validate_every=10, checkpoint_every=10, log_every=1),
}
