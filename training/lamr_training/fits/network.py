"""Fits the small network that scores lines (`lamr_contract.scoring.network`).

The network learns from the features of some thousands of whole files. The model's own weights stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from lamr_contract.arrays import Float64Array
from lamr_contract.names import KEEP_PROB, RELEVANCE
from lamr_contract.scoring.associations import Associations
from lamr_contract.scoring.features import (
    ABOVE_PREFIX,
    AROUND,
    ASKED,
    ASSOCIATED,
    BEGINS,
    BELOW_PREFIX,
    COMMENT,
    IMPORTS,
    INDENT,
    LENGTH,
    MARKS,
    OPENING,
    OWN,
    PASSAGE,
    REPEATS,
    WINDOWS,
)
from lamr_contract.scoring.network import LineNetwork
from lamr_contract.scoring.rules import DEPENDENCY, SEMANTIC
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence

from lamr_training.fits.scored_files import ScoredFile

NETWORK_FEATURES = (
    *(SEMANTIC, DEPENDENCY, RELEVANCE, KEEP_PROB, WINDOWS, AROUND, PASSAGE, OWN),
    *(COMMENT, MARKS, IMPORTS, LENGTH, REPEATS, INDENT, OPENING, BEGINS),
    *(ABOVE_PREFIX + name for name in (SEMANTIC, RELEVANCE, KEEP_PROB, WINDOWS, AROUND, PASSAGE, OWN)),
    *(BELOW_PREFIX + name for name in (SEMANTIC, AROUND, OWN)),
    *(ASSOCIATED, ASKED),
)
"""The features that the network reads."""
_LISTWISE = 0.2
"""The weight of ranks beside decisions, which are what the threshold needs."""
_LEAST_SPREAD = 0.05


@dataclass(frozen=True, kw_only=True)
class NetworkSettings:
    """The sizes of a network and how it is trained.

    Attributes:
        width, reach, strides, members: see `LineNetwork`.
        epochs: how often each file is read.
        files: how many files a step takes.
        rate: the highest learning rate; it rises for a tenth of the steps and falls again.
        decay: the weight decay.
        dropout: the share of states that a layer doesn't see.
        bf16: whether convolutions are in bfloat16 while training, where the processor has it.
        seed: the seed of the first member's weights, order and dropout; the next one's is 1 more.
    """

    width: int = 16
    reach: int = 2
    strides: tuple[int, ...] = (1, 3)
    members: int = 3
    epochs: int = 6
    files: int = 16
    rate: float = 3e-3
    decay: float = 0.05
    dropout: float = 0.1
    bf16: bool = False
    seed: int = 0


@dataclass(frozen=True, eq=False)
class NetworkFile:
    """What is learned from one file of L lines.

    Attributes:
        features: float64 [L, F].
        gold, inked: bool [L], which lines are needed, and which aren't blank.
        blocks: int64 [L], the number of each line's block.
        weight: how much the file counts.
    """

    features: Float64Array
    gold: NDArray[np.bool_]
    inked: NDArray[np.bool_]
    blocks: NDArray[np.int64]
    weight: float = 1.0

    @property
    def teaches(self) -> bool:
        """Whether some of the lines are needed and some aren't."""
        return divides(self.gold, self.inked)


def divides(gold: NDArray[np.bool_], inked: NDArray[np.bool_]) -> bool:
    """Return whether some of the lines with ink are gold and some aren't; both bool [L]."""
    needed = gold & inked
    return bool(needed.any() and (inked & ~needed).any())


def network_file(
    file: ScoredFile, rubrics: Sequence[str], associations: Associations | None, weight: float = 1.0
) -> NetworkFile:
    """Return what is learned from a file.

    Args:
        file: from `score_files`.
        rubrics: the names of the model's rubrics.
        associations: gives the feature `associated`; they must come from other projects.
        weight: how much the file counts.
    """
    features = file.features(NETWORK_FEATURES, rubrics, associations)
    record, blocks = file.record, file.asked.layout.blocks
    return NetworkFile(features, record.gold, record.counted, blocks, weight)


def fit_network(files: Sequence[NetworkFile], settings: NetworkSettings | None = None) -> LineNetwork:
    """Train a network to tell a file's gold lines from its others.

    Gold lines of a file count as much as its other lines with ink.

    Args:
        files: from `network_file`; those that teach nothing are left out.
        settings: sizes and training.

    Raises:
        ValueError: no file has both gold lines and others.
    """
    settings = settings or NetworkSettings()
    taught = [file for file in files if file.teaches]
    if not taught:
        raise ValueError("no file has both lines that are needed and lines that aren't")
    seeds = range(settings.seed, settings.seed + settings.members)
    members = [_member(taught, replace(settings, seed=seed)) for seed in seeds]
    return LineNetwork.of(NETWORK_FEATURES, settings.reach, settings.strides, *members)


def _member(files: Sequence[NetworkFile], settings: NetworkSettings) -> list[NDArray[np.float64]]:
    """The parameters of one trained network."""
    with torch.random.fork_rng():
        torch.manual_seed(settings.seed)
        lines = np.concatenate([file.features[file.inked] for file in files])
        model = NetworkModule(*usual(lines), settings)
        _train(model, files, settings)
    return model.parameters_of_lines()


def usual(lines: NDArray[np.floating[Any]]) -> tuple[Tensor, Tensor]:
    """Return what features [n, F] are on average in n lines, and how much they differ; float32 `[F]` both."""
    # A feature that hardly ever changes mustn't weigh much where it does.
    spread = lines.std(axis=0) + _LEAST_SPREAD
    return torch.tensor(lines.mean(axis=0), dtype=torch.float32), torch.tensor(spread, dtype=torch.float32)


def _train(model: NetworkModule, files: Sequence[NetworkFile], settings: NetworkSettings) -> None:
    """Take all steps; files of like length are padded together."""
    rng = np.random.default_rng(settings.seed)
    sizes = np.array([len(file.gold) for file in files])
    each = -(-len(files) // settings.files)
    optimizer = torch.optim.AdamW(model.parameters(), lr=settings.rate, weight_decay=settings.decay)
    rates = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, settings.rate, total_steps=settings.epochs * each + 1, pct_start=0.1
    )
    for _ in range(settings.epochs):
        order = np.argsort(sizes * np.exp(rng.normal(0, 0.2, len(files))))
        for batch in rng.permutation(each).tolist():
            chosen = order[batch * settings.files : (batch + 1) * settings.files].tolist()
            loss = _loss(model, [files[place] for place in chosen])
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            rates.step()


def _loss(model: NetworkModule, files: Sequence[NetworkFile]) -> Tensor:
    """The mean loss of files, by their weights."""
    features = padded([file.features.astype(np.float32) for file in files])
    inked = padded([file.inked.astype(np.float32) for file in files])
    gold = padded([(file.gold & file.inked).astype(np.float32) for file in files])
    blocks = padded([file.blocks for file in files])
    losses = file_losses(model(features, inked, blocks), gold, inked, _LISTWISE)
    weights = torch.tensor([file.weight for file in files])
    return (losses * weights).sum() / weights.sum()


def file_losses(odds: Tensor, gold: Tensor, inked: Tensor, listwise: float) -> Tensor:
    """Return a loss `[B]` for each of B files, in which gold lines count as much as the others.

    It is the cross entropy of lines plus that of ranks: that gold lines win against all lines of their file.

    Args:
        odds: float32 `[B, L]`, the log-odds of lines.
        gold, inked: float32 `[B, L]`; every file has lines of ink that are gold, and such that aren't.
        listwise: the weight of ranks.
    """
    entropy = F.binary_cross_entropy_with_logits(odds, gold, reduction="none")
    others = inked - gold
    shares = gold / gold.sum(dim=1, keepdim=True) + others / others.sum(dim=1, keepdim=True)
    return (entropy * shares).sum(dim=1) / 2 + listwise * _of_ranks(odds, gold, inked)


def _of_ranks(odds: Tensor, gold: Tensor, inked: Tensor) -> Tensor:
    """The cross entropy `[B]` that gold lines win against all lines of their file; everything is `[B, L]`."""
    shares = odds.masked_fill(inked == 0, -1e9).log_softmax(dim=1)
    return -(shares * gold).sum(dim=1) / gold.sum(dim=1)


def padded(arrays: Sequence[NDArray[np.float32] | NDArray[np.int64]]) -> Tensor:
    """Return arrays [L, ...] of different lengths as one tensor [B, L, ...] with zeros at the ends."""
    return pad_sequence([torch.from_numpy(array) for array in arrays], batch_first=True)


class NetworkModule(nn.Module):
    """`LineNetwork` as it is trained: on padded batches, features standardized, with dropout.

    Attributes:
        reach, strides: see `LineNetwork`.
        bf16: see `NetworkSettings`.
    """

    def __init__(self, mean: Tensor, spread: Tensor, settings: NetworkSettings) -> None:
        """Begin with random weights.

        Args:
            mean, spread: float32 `[F]`, what features are on average, and how much they differ.
            settings: the sizes and the dropout.
        """
        super().__init__()
        self.register_buffer("mean", mean)
        self.register_buffer("spread", spread)
        count, width, taps = len(mean), settings.width, 2 * settings.reach + 1
        self.reach, self.strides, self.bf16 = settings.reach, settings.strides, settings.bf16
        self.first = nn.Linear(count, width)
        self.layers = nn.ModuleList(
            nn.Conv1d(3 * width, width, taps, padding=stride * settings.reach, dilation=stride)
            for stride in settings.strides
        )
        self.last = nn.Linear(width + count, 1, bias=False)
        self.dropout = nn.Dropout(settings.dropout)

    def forward(self, features: Tensor, inked: Tensor, blocks: Tensor) -> Tensor:
        """The log-odds [B, L] of lines.

        Args:
            features: float32 [B, L, F].
            inked: float32 [B, L], 0 for blank lines and where a shorter file is padded.
            blocks: int64 [B, L].
        """
        values = (features - self.mean) / self.spread
        states = F.relu(self.first(values))
        for layer in self.layers:
            read = torch.cat([states, *_means(states, inked, blocks)], dim=2) * inked[..., None]
            with torch.autocast("cpu", torch.bfloat16, enabled=self.bf16 and self.training):
                convolved = layer(read.transpose(1, 2)).transpose(1, 2)
            states = states + F.relu(convolved.float())
            states = self.dropout(states)
        return self.last(torch.cat([states, values], dim=2))[..., 0]

    def parameters_of_lines(self) -> list[NDArray[np.float64]]:
        """The parameters as `LineNetwork` has them: for features that aren't standardized.

        What standardizing adds to all lines alike is lost at the end, where it changes no rank.
        """
        scale, weight = 1 / self.spread, self.first.weight
        parts = [(weight * scale).T, self.first.bias - (weight * scale) @ self.mean]
        for layer in self.layers:
            parts += [layer.weight.permute(2, 1, 0).flatten(0, 1), layer.bias]
        last = self.last.weight[0]
        width = len(self.first.bias)
        parts.append(torch.cat([last[:width], last[width:] * scale]))
        return [part.detach().double().numpy() for part in parts]


def _means(states: Tensor, inked: Tensor, blocks: Tensor) -> tuple[Tensor, Tensor]:
    """The means of states [B, L, W] over blocks and over files, each [B, L, W], of lines with ink."""
    shown, ink = states * inked[..., None], inked[..., None]
    count = int(blocks.max()) + 1
    places = blocks[..., None].expand(states.shape)
    sums = states.new_zeros(len(states), count, states.shape[2]).scatter_add(1, places, shown)
    sizes = states.new_zeros(len(states), count, 1).scatter_add(1, blocks[..., None], ink)
    of_block = (sums / sizes.clamp(min=1)).gather(1, places)
    of_file = shown.sum(dim=1, keepdim=True) / ink.sum(dim=1, keepdim=True).clamp(min=1)
    return of_block, of_file.expand(states.shape)
