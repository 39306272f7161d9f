"""Fits associations to records: vectors of words, and the network that reads what they say of a query's lines.

A file's lines compete with each other, as in every scoring, and files that hold no answer teach whether one does. Words
and network are learned together, so that the network can ask of vectors what it needs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from lamr_contract.scoring.associations import (
    LEAST_MATCH,
    LINE_POWER,
    NEAR,
    QUERY_POWER,
    VIEWS,
    Associations,
    network_inputs,
)
from lamr_contract.scoring.network import LineNetwork
from torch import Tensor, nn
from tqdm import tqdm

from lamr_training.fits.network import NetworkModule, NetworkSettings, file_losses, padded, usual
from lamr_training.fits.word_examples import KNOWN_FEATURES, WordExample

_LISTWISE = 0.3  # the weight of the cross entropy that gold lines win against all lines of their file
_MEASURED = 2_000  # examples whose features say what is usual
_SHARPNESS = 3.0  # of matches at first
_SHARES = (1.0, 0.5, 0.5)  # of the views, at first
_PRODUCT_SPREAD, _MATCH_SPREAD = 1 / 3, 2.0  # about what products of numbers and matches are at first
_LENGTH_NOISE = 0.15
_PADDED = -30.0


@dataclass(frozen=True, kw_only=True)
class AssociationSettings:
    """How associations are learned.

    Attributes:
        width: d, the numbers of a word's vector.
        words: how many words have a vector at most.
        least: how often the rarest of them occurs.
        epochs: how often each file is read; what a second time teaches is those files alone.
        files: how many files a step takes.
        rate: the highest learning rate; it rises over the first 200 steps and falls to 2 % of it.
        decay: the weight decay of what isn't a word's.
        start: the mean length of the vectors that training begins with.
        network: the sizes of the network and its dropout; the rest of them counts for nothing here.
        seed: the seed of weights, order and dropout.
    """

    width: int = 64
    words: int = 30_000
    least: int = 4
    epochs: int = 1
    files: int = 16
    rate: float = 2e-3
    decay: float = 0.02
    start: float = 0.8
    network: NetworkSettings = field(default_factory=lambda: NetworkSettings(width=64, bf16=True))
    seed: int = 0


def fit_associations(
    words: Sequence[str], vectors: Tensor, examples: Sequence[WordExample], settings: AssociationSettings
) -> Associations:
    """Learn the vectors of words and the network.

    Args:
        words: the vocabulary, by whose numbers the examples name words.
        vectors: float32 [V, at least d], vectors of the words that put words of like meaning near each other.
        examples: what is learned from; those that teach nothing are left out.
        settings: sizes and training.

    Raises:
        ValueError: no example has both lines that are needed and lines that aren't.
    """
    taught = [example for example in examples if example.teaches]
    if not taught:
        raise ValueError("no file has both lines that are needed and lines that aren't")
    with torch.random.fork_rng():
        torch.manual_seed(settings.seed)
        model = _Model(_start(vectors, settings), taught[:_MEASURED], settings)
        _train(model, taught, settings)
    return model.eval().associations(words)


def _start(vectors: Tensor, settings: AssociationSettings) -> Tensor:
    chosen = vectors[:, : settings.width].float()
    return chosen / chosen.norm(dim=1).mean().clamp(min=1e-6) * settings.start


def _train(model: _Model, examples: Sequence[WordExample], settings: AssociationSettings) -> None:
    # Words are so many that a step touches few of them, so their gradients are sparse.
    tables = [getattr(model, name).weight for name in _TABLES]
    others = [each for name, each in model.named_parameters() if name.partition(".")[0] not in _TABLES]
    optimizers = (
        torch.optim.SparseAdam(tables, lr=settings.rate),
        torch.optim.AdamW(others, lr=settings.rate, weight_decay=settings.decay),
    )
    steps = settings.epochs * -(-len(examples) // settings.files)
    model.train()
    for step, batch in enumerate(
        tqdm(_batches(examples, settings), total=steps, unit="step", mininterval=10)
    ):
        factor = min(1.0, (step + 1) / 200, max(0.02, 1 - step / steps))
        for optimizer in optimizers:
            optimizer.param_groups[0]["lr"] = settings.rate * factor
            optimizer.zero_grad()
        odds = model(batch)
        file_losses(odds, batch.gold, batch.inked, _LISTWISE).mean().backward()
        nn.utils.clip_grad_norm_(others, 2.0)
        for optimizer in optimizers:
            optimizer.step()


def _batches(examples: Sequence[WordExample], settings: AssociationSettings) -> Iterator[_Batch]:
    """Files of like length together, in random order; little is padded then."""
    rng = np.random.default_rng(settings.seed)
    sizes = np.array([len(example.counts) for example in examples])
    for _ in range(settings.epochs):
        order = np.argsort(sizes * np.exp(rng.normal(0, _LENGTH_NOISE, len(examples))))
        for first in (rng.permutation(-(-len(order) // settings.files)) * settings.files).tolist():
            yield _Batch.of([examples[place] for place in order[first : first + settings.files].tolist()])


@dataclass(frozen=True, eq=False)
class _Batch:
    """B files of at most L lines, whose queries have at most Q words.

    All numbers of words begin at 1; 0 stands for no known word.

    Attributes:
        query: int64 [B, Q].
        words, starts: int64 [n] and [B L], the words of all lines, line after line, and where each line's begin.
        counts: float32 [B, L], how many words each line has.
        known: float32 [B, L, F].
        gold, inked: float32 [B, L].
        blocks: int64 [B, L].
    """

    query: Tensor
    words: Tensor
    starts: Tensor
    counts: Tensor
    known: Tensor
    gold: Tensor
    inked: Tensor
    blocks: Tensor

    @classmethod
    def of(cls, examples: Sequence[WordExample]) -> _Batch:
        counts = padded([example.counts.astype(np.int64) for example in examples])
        queries = [example.query if len(example.query) else np.array([-1]) for example in examples]
        return cls(
            query=padded([(query + 1).astype(np.int64) for query in queries]),
            words=torch.from_numpy(np.concatenate([example.words for example in examples])).long() + 1,
            starts=counts.flatten().cumsum(0) - counts.flatten(),
            counts=counts.float(),
            known=padded([example.features.astype(np.float32) for example in examples]),
            gold=padded([(example.gold & example.inked).astype(np.float32) for example in examples]),
            inked=padded([example.inked.astype(np.float32) for example in examples]),
            blocks=padded([example.blocks.astype(np.int64) for example in examples]),
        )


_TABLES = ("query", "line", "importance", "prior")


class _Model(nn.Module):
    """`Associations` as they are trained, on padded batches."""

    def __init__(self, start: Tensor, examples: Sequence[WordExample], settings: AssociationSettings) -> None:
        super().__init__()
        count, width = start.shape
        self.query = nn.Embedding(count + 1, width, padding_idx=0, sparse=True)
        self.line = nn.EmbeddingBag(count + 1, width, mode="sum", sparse=True)
        self.importance = nn.Embedding(count + 1, 1, padding_idx=0, sparse=True)
        self.prior = nn.EmbeddingBag(count + 1, 1, mode="sum", sparse=True)
        with torch.no_grad():
            for table, values in (
                (self.query, start),
                (self.line, start),
                (self.importance, 0.0),
                (self.prior, 0.0),
            ):
                table.weight[0] = 0
                table.weight[1:] = values
        self.views = nn.Parameter(torch.eye(width).repeat(len(VIEWS), 1, 1))
        self.key = nn.Parameter(torch.eye(width) * (_SHARPNESS / math.sqrt(width)))
        self.block_prior = nn.Parameter(torch.zeros(width))
        self.network = NetworkModule(*_usual(examples, width), settings.network)

    def forward(self, batch: _Batch) -> Tensor:
        """The log-odds `[B, L]` of lines."""
        return self.network(self.inputs(batch), batch.inked, batch.blocks)

    def inputs(self, batch: _Batch) -> Tensor:
        """What the network reads, `[B, L, inputs]`."""
        vectors, held = self.query(batch.query), (batch.query > 0).float()
        asked = vectors.sum(dim=1) / held.sum(dim=1, keepdim=True).clamp(min=1) ** QUERY_POWER
        shape, sizes = batch.counts.shape, batch.counts[..., None]
        sums = self.line(batch.words, batch.starts).view(*shape, -1)
        own = _scaled(sums, sizes)
        near = _scaled(_nearby(sums), _nearby(sizes))
        block = _of_blocks(_scaled(*(_by_block(each, batch.blocks) for each in (sums, sizes))), batch.blocks)
        products = [
            view * (asked @ matrix.T)[:, None]
            for view, matrix in zip((own, near, block), self.views, strict=True)
        ]
        prior = _scaled(self.prior(batch.words, batch.starts).view(*shape, 1), sizes)
        # A query without a known word matches nothing; beside other words, what is padded has no share.
        importance = self.importance(batch.query)[..., 0] + (1 - held) * _PADDED
        keys = vectors @ self.key.T
        matches = [view @ keys.transpose(1, 2) + importance[:, None] for view in (own, near, block)]
        columns = (
            batch.known,
            *(product.sum(dim=2, keepdim=True) for product in products),
            prior + (block @ self.block_prior)[..., None],
            *(match.logsumexp(dim=2, keepdim=True).clamp(min=LEAST_MATCH) for match in matches),
            *products[:2],
            near * (matches[1].softmax(dim=2) @ vectors),
            own,
        )
        return torch.cat(columns, dim=2)

    def associations(self, words: Sequence[str]) -> Associations:
        """What was learned."""

        def array(values: Tensor) -> np.ndarray:
            return values.detach().numpy().astype(np.float32)

        query, line, importance, prior = (array(getattr(self, name).weight[1:]) for name in _TABLES)
        parts = self.network.parameters_of_lines()
        names = network_inputs(KNOWN_FEATURES, query.shape[1])
        network = LineNetwork.of(names, self.network.reach, self.network.strides, parts)
        views, key, block_prior = (array(each) for each in (self.views, self.key, self.block_prior))
        return Associations(
            tuple(words),
            query,
            line,
            importance[:, 0],
            prior[:, 0],
            views,
            key,
            block_prior,
            KNOWN_FEATURES,
            network,
        )


def _usual(examples: Sequence[WordExample], width: int) -> tuple[Tensor, Tensor]:
    """What inputs are on average, and how much they differ: measured where they are known, else about as at first."""
    lines = np.concatenate([example.features[example.inked] for example in examples]).astype(np.float32)
    others = torch.tensor(
        [
            *(1 / share for share in _SHARES),
            1.0,
            *(_MATCH_SPREAD for _ in VIEWS),
            *([_PRODUCT_SPREAD] * (2 * width)),
            *([0.5] * width),
            *([1.0] * width),
        ]
    )
    mean, spread = usual(lines)
    return torch.cat([mean, torch.zeros_like(others)]), torch.cat([spread, others])


def _scaled(sums: Tensor, sizes: Tensor) -> Tensor:
    return sums / sizes.clamp(min=1) ** LINE_POWER


def _nearby(values: Tensor) -> Tensor:
    """The sums of values, `[B, L, F]` both, over each line and the lines near it."""
    total = nn.functional.pad(values, (0, 0, NEAR + 1, NEAR)).cumsum(dim=1)
    return total[:, 2 * NEAR + 1 :] - total[:, : -2 * NEAR - 1]


def _by_block(values: Tensor, blocks: Tensor) -> Tensor:
    """The sums `[B, blocks, F]` of values `[B, L, F]` over the blocks `[B, L]` of lines."""
    count = int(blocks.max()) + 1
    sums = values.new_zeros(len(values), count, values.shape[2])
    return sums.scatter_add(1, blocks[..., None].expand(values.shape), values)


def _of_blocks(values: Tensor, blocks: Tensor) -> Tensor:
    """The values `[B, L, F]` that lines take of their blocks' `[B, blocks, F]`."""
    return values.gather(1, blocks[..., None].expand(*blocks.shape, values.shape[2]))
