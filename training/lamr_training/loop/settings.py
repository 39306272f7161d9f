"""The settings of one training run. Presets choose values for them; the loop reads them."""

from __future__ import annotations

from dataclasses import dataclass, field

from lamr_training.loop.losses import LossWeights


@dataclass(frozen=True, kw_only=True)
class TrainingSettings:
    """How one run trains a model.

    Attributes:
        steps: how many optimizer steps the run takes.
        tokens: how many tokens a batch may hold.
        accumulate: how many batches make one step.
        learning_rate: the backbone's full learning rate.
        head_rate: the full rate of everything that starts from random weights: fusion, heads, relevance.
        lexical_rate: the full rate of the projections of lexical evidence, which start at zero.
        warmup, decay: the shares of the steps over which the rate rises at the start and falls at the end, linearly.
        weight_decay: AdamW's weight decay.
        clip: the greatest norm of a step's gradient.
        frozen_layers: how many of the lowest backbone layers stay as they are.
        frozen_embeddings: whether the word embeddings stay as they are.
        loss: the coefficients of the objective.
        dropout: the dropout inside the backbone.
        bf16: whether the encoder's matrix products are in bfloat16, where processor or GPU have it.
        average: the share of the running average of the weights that each step leaves in it; 0 keeps no average. A
            run with an average ends with it, because it ranks better than any one step of small, noisy batches.
        seed: the seed of batch order and dropout.
        patience: how many validations in a row without a better F1 end the run; 0 trains to the last step.
        checkpoint_every, validate_every, log_every: how many steps lie between two checkpoints, validations or rows of
            the log.
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
