"""Trains a `LineModule` on files whose needed lines are known, and the fusion of its scores with an encoder's.

A file's lines compete with each other, and each file counts the same however many lines it has. The fusion goes on from
the one that there is, because an encoder's weights stay as they were when only the line model is new. It learns from
files that were read wholly and from files that were read in part, since clients read what time allows."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np
import torch
from lamr_base.arrays import Float32Array
from lamr_model.scoring.fusion import ScoreFusion
from lamr_model.scoring.scorer import Scorer
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F
from tqdm import tqdm

from lamr_training.fits.line_examples import LineExample, by_block
from lamr_training.fits.line_module import LEAST_SPREAD, LineModule, LineOutput, LineSizes
from lamr_training.fits.scoring import ScoredFile

MEASURED = 400  # So many examples say how inputs are spread
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
    others = [each for name, each in module.named_parameters() if not name.startswith("tables.")]
    optimizers = (
        torch.optim.AdamW(others, lr=settings.rate, weight_decay=settings.decay),
        torch.optim.SparseAdam(tables, lr=settings.word_rate),  # a step touches few of the words
    )
    rng, steps = random.Random(settings.seed), -(-files // settings.files)
    warmup = min(100, 1 + steps // 10)

    def share(step: int) -> float:
        return min(1.0, (step + 1) / warmup) * max(_LEAST_RATE, 1 - step / steps)

    rates = [torch.optim.lr_scheduler.LambdaLR(each, share) for each in optimizers]
    taught = (
        example.naming(rng) if rng.random() < _NAMING else example for example in examples if example.teaches
    )
    module.train()
    with tqdm(total=steps, unit="step", mininterval=10) as bar:
        while batch := list(islice(taught, settings.files)):
            total = sum(example.weight for example in batch)
            for example in batch:
                loss = file_loss(module(example), example.gold, example.frame)
                (loss * (example.weight / total)).backward()
            nn.utils.clip_grad_norm_(others, 1.0)
            for optimizer, rate in zip(optimizers, rates, strict=True):
                optimizer.step()
                rate.step()
                optimizer.zero_grad()
            bar.update()


def file_loss(output: LineOutput, gold: NDArray[np.bool_], frame: NDArray[np.bool_]) -> Tensor:
    """Return a file's loss, 0-d, in which gold lines count as much as the others. It is the cross entropy of lines,
    that of ranks (that gold lines win against all of their file), and the cross entropy of each rubric's emissions:
    gold lines for the semantic one, what frames them for the other. Shapes: `gold`, `frame` bool `[I]`."""
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
    return (F.softplus(-odds[positive]).mean() + F.softplus(odds[negative]).mean()) / 2


LEAST_FILES = 200  # How many files are enough to learn from; with fewer, the reader would know them by heart
_EPOCHS, _FILES, _RATE, _DECAY, _DROPOUT = 3, 16, 1e-3, 0.05, 0.1
_IN_PART = (0.2, 0.8)  # the least and the greatest share of a file's chunks that are read, where not all are


@dataclass(frozen=True, eq=False)
class ReadFile:
    """What is learned from one file of L lines."""

    ways: tuple[Float32Array, ...]  # float32 [L, F]
    gold: NDArray[np.bool_]  # bool [L], which lines are needed, and which aren't blank
    inked: NDArray[np.bool_]
    blocks: NDArray[np.int64]  # int64 [L], the number of each line's block

    @classmethod
    def of(cls, file: ScoredFile, scorer: Scorer, rng: random.Random) -> ReadFile:
        """Return what is learned from an encoder's answers about a file."""
        count = len(file.results)
        some = rng.sample(range(count), max(1, round(count * rng.uniform(*_IN_PART))))
        ways = (file.finished(scorer), file.finished(scorer, some))
        features = tuple(way.reader_features().astype(np.float32) for way in ways)
        return cls(features, file.record.gold, file.record.counted, file.asked.source.layout.blocks)

    @property
    def teaches(self) -> bool:
        """Whether some of the lines are needed and some aren't."""
        return bool((self.gold & self.inked).any() and (self.inked & ~self.gold).any())


def train_reader(reader: ScoreFusion, files: Sequence[ReadFile], seed: int = 0) -> ScoreFusion:
    """Return a reader that has learned from files; the one that there is, where they are too few."""
    taught = [file for file in files if file.teaches]
    if len(taught) < LEAST_FILES:
        return reader
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        members = [_ReaderModule(reader, member, taught) for member in reader.members]
        for number, module in enumerate(members):
            _fit(module, taught, random.Random(seed + number))
    parts = [module.parameters_of_lines() for module in members]
    return ScoreFusion.of(reader.reach, reader.strides, *parts)


def _fit(module: _ReaderModule, files: Sequence[ReadFile], rng: random.Random) -> None:
    steps = _EPOCHS * -(-len(files) // _FILES)
    optimizer = torch.optim.AdamW(module.parameters(), lr=_RATE, weight_decay=_DECAY)
    rates = torch.optim.lr_scheduler.OneCycleLR(optimizer, _RATE, total_steps=steps + 1, pct_start=0.1)
    order = _order(files, rng)
    while batch := list(islice(order, _FILES)):
        for file in batch:
            odds = module(file, rng.choice(file.ways))[torch.from_numpy(file.inked)]
            (needed_loss(odds, torch.from_numpy(file.gold[file.inked])) / len(batch)).backward()
        nn.utils.clip_grad_norm_(module.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        rates.step()
    module.eval()


def _order(files: Sequence[ReadFile], rng: random.Random) -> Iterator[ReadFile]:
    for _ in range(_EPOCHS):
        yield from rng.sample(files, len(files))


class _ReaderModule(nn.Module):
    """A member of a reader's network as it is trained: see `ScoreFusion`. Features are standardized."""

    mean: Tensor
    spread: Tensor

    def __init__(
        self, reader: ScoreFusion, member: Sequence[NDArray[np.float32]], files: Sequence[ReadFile]
    ) -> None:
        super().__init__()
        lines = torch.from_numpy(np.concatenate([file.ways[0][file.inked] for file in files]))
        self.reach, self.strides = reader.reach, reader.strides
        self.register_buffer("mean", lines.mean(dim=0))
        self.register_buffer("spread", lines.std(dim=0, correction=0) + LEAST_SPREAD)
        first, bias, *layers, last = (torch.from_numpy(part).clone() for part in member)
        width = len(bias)
        self.bias = nn.Parameter(bias + self.mean @ first)
        self.first = nn.Parameter(first * self.spread[:, None])
        self.layers = nn.ParameterList(nn.Parameter(part) for part in layers)
        self.last = nn.Parameter(torch.cat([last[:width], last[width:] * self.spread]))

    def forward(self, file: ReadFile, features: Float32Array) -> Tensor:
        """The log-odds `[L]` of lines with features `[L, F]`."""
        values = (torch.from_numpy(features) - self.mean) / self.spread
        inked = torch.from_numpy(file.inked).float()[:, None]
        states = F.relu(values @ self.first + self.bias)
        for stride, weights, bias in zip(self.strides, self.layers[::2], self.layers[1::2], strict=True):
            read = _with_means(states, inked, torch.from_numpy(file.blocks)) * inked
            kernel = weights.unflatten(0, (2 * self.reach + 1, -1)).permute(2, 1, 0)
            padding = stride * self.reach
            told = F.conv1d(read.T[None], kernel, bias, padding=padding, dilation=stride)[0].T
            states = F.dropout(states + F.relu(told), _DROPOUT, self.training)
        return torch.cat([states, values], dim=1) @ self.last

    @torch.no_grad()
    def parameters_of_lines(self) -> list[NDArray[np.float32]]:
        """The parameters as `ScoreFusion` has them: for features that aren't standardized. What standardizing adds to
        all lines alike is lost at the end, where it changes no rank."""
        width = len(self.bias)
        first = self.first / self.spread[:, None]
        last = torch.cat([self.last[:width], self.last[width:] / self.spread])
        parts = (first, self.bias - self.mean @ first, *self.layers, last)
        return [part.detach().numpy() for part in parts]


def _with_means(states: Tensor, inked: Tensor, blocks: Tensor) -> Tensor:
    """States with the means over their blocks and over the file, `[L, 3 W]`, of lines with ink."""
    shown = states * inked
    of_block = by_block(shown, blocks) / by_block(inked, blocks).clamp(min=1)
    of_file = shown.sum(dim=0) / inked.sum().clamp(min=1)
    return torch.cat([states, of_block[blocks], of_file.expand_as(states)], dim=1)
