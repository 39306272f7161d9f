"""The budget of an ablation. This module needs no other package, so that the command line can show the defaults."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class AblationSettings:
    """The budget that all variants share.

    Attributes:
        start: the int8 repository, of lamr-mini's architecture, whose encoder and fusion all variants begin with, so
            that a few hundred steps reach what heads can reach. Empty: MiniLM as published and a fusion that knows
            nothing.
        layers: how many layers the backbone has, counted from the bottom. A repository's has 6.
        trained_layers: how many of them learn, counted from the top. With 0 the backbone's states are the same for
            all variants, as they nearly are in the paper, and a step costs a third.
        records, checked: how many training and validation records become examples.
        judged: how many validation records with gold lines are judged as whole files.
        vocabulary: how many entries the tokenizer has.
        steps, tokens, learning_rate, head_rate: see `lamr_training.loop.settings.TrainingSettings`.
        seeds: how many runs a variant has; they differ in new weights, order and dropout.
    """

    start: str = ""
    layers: int = 6
    trained_layers: int = 0
    records: int = 2_000
    checked: int = 150
    judged: int = 100
    vocabulary: int = 12_000
    steps: int = 300
    tokens: int = 2048
    learning_rate: float = 3e-5
    head_rate: float = 1e-3
    seeds: int = 3
