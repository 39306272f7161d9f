"""Trains a `LineModule` on files whose needed lines are known.

A file's lines compete with each other, and each file counts the same however many lines it has. The module knows
examples; it knows no text.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F
from tqdm import tqdm

from lamr_training.fits.line_examples import LineExample
from lamr_training.fits.line_module import LineModule, LineOutput, LineSizes

MEASURED = 400
"""So many examples say how inputs are spread."""
_LISTWISE, _SEMANTIC, _DEPENDENCY = 0.3, 0.2, 0.1  # weights beside the decisions of the fused chain
_LEAST_RATE = 0.02  # of the highest one, at the end
_NAMING = 0.1  # how often the query names lines by number


@dataclass(frozen=True, kw_only=True)
class LineSettings:
    """How a line model is trained."""

    sizes: LineSizes = field(default_factory=LineSizes)  # those of a model that begins from nothing
    epochs: int = 1  # how often each file is read; what a second time teaches is those files alone
    files: int = 16  # how many files a step takes
    rate: float = 2e-3  # the highest learning rates, of words and of all else; they rise and fall again
    word_rate: float = 1e-3
    decay: float = 0.02  # the weight decay of all but words
    dropout: float = 0.1  # the share of states that a layer's followers don't see
    seed: int = 0  # the seed of weights, dropout and named lines


def fit_lines(
    module: LineModule, examples: Iterable[LineExample], files: int, settings: LineSettings
) -> None:
    """Train words and all else."""
    tables = list(module.tables.values())
    optimizers = (
        torch.optim.AdamW(_others(module), lr=settings.rate, weight_decay=settings.decay),
        torch.optim.SparseAdam(tables, lr=settings.word_rate),  # a step touches few of the words
    )
    rng = random.Random(settings.seed)
    taught = (_naming(example, rng) for example in examples if example.teaches)
    steps = _Steps(module, optimizers, -(-files // settings.files))
    while batch := list(islice(taught, settings.files)):
        steps.take(batch)


def file_loss(output: LineOutput, gold: NDArray[np.bool_], frame: NDArray[np.bool_]) -> Tensor:
    """Return a file's loss, 0-d, in which gold lines count as much as the others.

    It is the cross entropy of lines, that of ranks (that gold lines win against all of their file), and the cross
    entropy of each rubric's emissions: gold lines for the semantic one, what frames them for the other.

    Args:
        output: what is said of I lines.
        gold, frame: bool [I], see `LineExample`; some lines are gold and some aren't.
    """
    needed, around = torch.from_numpy(gold), torch.from_numpy(frame)
    semantic, dependency = output.rubrics.unbind(dim=1)
    loss = needed_loss(output.logits, needed)
    loss = loss + _SEMANTIC * _entropy(semantic, needed, ~needed)
    if frame.any() and not (gold | frame).all():
        loss = loss + _DEPENDENCY * _entropy(dependency, around, ~needed & ~around)
    return loss


def needed_loss(odds: Tensor, needed: Tensor) -> Tensor:
    """The cross entropy of a file's lines and that of ranks, 0-d, from log-odds and which are needed, both `[I]`."""
    return _entropy(odds, needed, ~needed) - _LISTWISE * odds.log_softmax(0)[needed].mean()


def _entropy(odds: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
    """The mean cross entropy of either sort of lines, which count the same."""
    return (F.softplus(-odds[positive]).mean() + F.softplus(odds[negative]).mean()) / 2


def _others(module: LineModule) -> list[nn.Parameter]:
    """All parameters but those of single words."""
    return [parameter for name, parameter in module.named_parameters() if not name.startswith("tables.")]


def _naming(example: LineExample, rng: random.Random) -> LineExample:
    return example.naming(rng) if rng.random() < _NAMING else example


class _Steps:
    """Takes steps whose rates rise over the first of them and fall to the last."""

    def __init__(self, module: LineModule, optimizers: Sequence[torch.optim.Optimizer], steps: int) -> None:
        warmup = min(100, 1 + steps // 10)

        def share(step: int) -> float:
            return min(1.0, (step + 1) / warmup) * max(_LEAST_RATE, 1 - step / steps)

        self._module, self._optimizers = module, optimizers
        self._rates = [torch.optim.lr_scheduler.LambdaLR(each, share) for each in optimizers]
        self._bar = tqdm(total=steps, unit="step", mininterval=10)

    def take(self, files: Sequence[LineExample]) -> None:
        """Learn from a few files."""
        total = sum(example.weight for example in files)
        self._module.train()
        for example in files:
            output = self._module(example)
            (file_loss(output, example.gold, example.frame) * (example.weight / total)).backward()
        nn.utils.clip_grad_norm_(_others(self._module), 1.0)
        for optimizer, rate in zip(self._optimizers, self._rates, strict=True):
            optimizer.step()
            rate.step()
            optimizer.zero_grad()
        self._bar.update()
