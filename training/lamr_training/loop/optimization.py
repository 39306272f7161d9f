"""AdamW's parameter groups and the course of the learning rate.

The name of a parameter says how fast it learns.
"""

from __future__ import annotations

from typing import Any

import torch
from lamr_export.model import LamrModel
from torch import nn

from lamr_training.loop.settings import TrainingSettings


def rate_factor(step: int, settings: TrainingSettings) -> float:
    """The share of the full learning rate at a step: a linear warmup, a constant, and a linear decay to 0.02.

    Args:
        step: the number of the step, from 1.
        settings: say how long warmup and decay take.
    """
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
