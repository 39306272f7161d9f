"""The settings of one training run, and the optimizer and the course of the learning rate that they describe.

Presets choose values for them; the loop reads them. The name of a parameter says how fast it learns.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from lamr_export.model import LamrModel
from torch import nn

from lamr_training.loop.losses import LossWeights


@dataclass(frozen=True, kw_only=True)
class TrainingSettings:
    """How one run trains a model."""

    steps: int = 1200  # how many optimizer steps the run takes
    tokens: int = 2048  # how many tokens a batch may hold
    accumulate: int = 1  # how many batches make one step
    learning_rate: float = 1.5e-4  # the backbone's full learning rate
    head_rate: float = 8e-4  # of everything that starts from random weights: fusion, heads, relevance
    lexical_rate: float = 3e-3  # the full rate of the projections of lexical evidence, which start at zero
    warmup: float = 0.05  # the share of the steps over which rates rise at the start
    decay: float = 0.4  # the share over which they fall at the end
    weight_decay: float = 0.01  # AdamW's weight decay
    clip: float = 1.0  # the greatest norm of a step's gradient
    frozen_layers: int = 0  # how many of the lowest backbone layers stay as they are
    frozen_embeddings: bool = False  # whether the word embeddings stay as they are
    loss: LossWeights = field(default_factory=LossWeights)  # the coefficients of the objective
    dropout: float = 0.0  # the dropout inside the backbone
    bf16: bool = False  # whether the encoder's matrix products are in bfloat16
    average: float = 0.0  # the share of the running average of the weights that each step leaves in it
    seed: int = 0  # the seed of batch order and dropout
    checkpoint_every: int = 50  # how many steps lie between two checkpoints, validations or rows of the log
    validate_every: int = 150
    log_every: int = 10


def rate_factor(step: int, settings: TrainingSettings) -> float:
    """The share of the full learning rate at a step: a linear warmup, a constant, and a linear decay to 0.02."""
    warmup, decay = settings.warmup * settings.steps, settings.decay * settings.steps
    rising = step / warmup if warmup else 1.0
    falling = 0.02 + 0.98 * (settings.steps - step) / decay if decay else 1.0
    return min(1.0, rising, falling)


def make_optimizer(model: LamrModel, settings: TrainingSettings) -> torch.optim.Optimizer:
    """AdamW over the parameters that the settings don't freeze, with a rate for each kind of part."""
    backbone: Any = model.backbone
    layers = backbone.encoder.layer if hasattr(backbone, "encoder") else backbone.layers
    frozen: list[nn.Module] = list(layers[: settings.frozen_layers])
    if settings.frozen_embeddings:
        # BERT's positions, types and norm are frozen as well: if one of them learned, the backward pass would go
        # through all frozen layers.
        frozen.append(getattr(backbone, "embeddings", backbone.get_input_embeddings()))
    for module in frozen:
        module.requires_grad_(False)
    groups: dict[tuple[float, float], list[nn.Parameter]] = {}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            plain = parameter.ndim < 2 or "embeddings" in name or "crf" in name
            rate = _rate(name, settings)
            groups.setdefault((rate, 0.0 if plain else settings.weight_decay), []).append(parameter)
    return torch.optim.AdamW(
        [
            {"params": parameters, "lr": rate, "full_rate": rate, "weight_decay": decay}
            for (rate, decay), parameters in groups.items()
        ],
        betas=(0.9, 0.98),
        fused=True,
    )


def _rate(name: str, settings: TrainingSettings) -> float:
    # A gate that learns fast collapses before the heads differ.
    if name.startswith(("backbone.", "heads.gate.")):
        return settings.learning_rate
    starts_at_zero = name.startswith(("lexical.", "similarity.")) or "crf" in name
    return settings.lexical_rate if starts_at_zero else settings.head_rate


def set_dropout(model: LamrModel, rate: float) -> None:
    """Set the rate of the backbone's dropout."""
    for module in model.backbone.modules():
        if isinstance(module, nn.Dropout):
            module.p = rate
