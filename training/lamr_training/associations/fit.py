"""Fits associations to records: vectors of words under which a query goes with the lines that it needs.

A file's lines compete with each other, as in every scoring. What a client knows of a line without associations stands
beside them while they are learned (`KNOWN_FEATURES`) and is left out afterwards, so that no vector has to learn what
counting words finds. The module knows examples of words; it knows no text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from lamr_contract.associations import LINE_POWER, NEAR, QUERY_POWER, Associations
from torch import Tensor, nn
from torch.nn import functional as F
from tqdm import tqdm

from lamr_training.associations.examples import KNOWN_FEATURES, WordExample

_HIDDEN = 24  # of the small network over what is known anyway
_LISTWISE = 0.3  # the weight of the cross entropy that gold lines win against all lines of their file


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
        start: the mean length of the vectors that training begins with.
        seed: the seed of the order.
    """

    width: int = 64
    words: int = 30_000
    least: int = 4
    epochs: int = 1
    files: int = 16
    rate: float = 1.5e-3
    start: float = 0.8
    seed: int = 0


def fit_associations(
    words: Sequence[str], vectors: Tensor, examples: Sequence[WordExample], settings: AssociationSettings
) -> Associations:
    """Learn the vectors of words.

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
        model = _Model(_start(vectors, settings))
        _train(model, taught, settings)
    return model.associations(words)


def _start(vectors: Tensor, settings: AssociationSettings) -> Tensor:
    chosen = vectors[:, : settings.width].float()
    return chosen / chosen.norm(dim=1).mean().clamp(min=1e-6) * settings.start


def _train(model: _Model, examples: Sequence[WordExample], settings: AssociationSettings) -> None:
    rng = np.random.default_rng(settings.seed)
    # Words are so many that a step touches few of them, so their gradients are sparse.
    tables = [model.query.weight, model.line.weight, model.prior.weight]
    others = [each for name, each in model.named_parameters() if not name.startswith(_TABLES)]
    optimizers = (
        torch.optim.SparseAdam(tables, lr=settings.rate),
        torch.optim.Adam(others, lr=settings.rate),
    )
    each = -(-len(examples) // settings.files)
    steps = settings.epochs * each
    orders = (rng.permutation(len(examples)) for _ in range(settings.epochs))
    batches = (
        order[first : first + settings.files]
        for order in orders
        for first in range(0, len(order), settings.files)
    )
    for step, batch in enumerate(tqdm(batches, total=steps, unit="step", mininterval=10)):
        factor = min(1.0, (step + 1) / 200, max(0.02, 1 - step / steps))
        for optimizer in optimizers:
            optimizer.param_groups[0]["lr"] = settings.rate * factor
            optimizer.zero_grad()
        _loss(model, _Batch.of([examples[place] for place in batch.tolist()])).backward()
        for optimizer in optimizers:
            optimizer.step()


@dataclass(frozen=True, eq=False)
class _Batch:
    """B files with L lines together. All numbers of words begin at 1; 0 stands for no known word."""

    query: Tensor
    query_starts: Tensor
    words: Tensor
    word_starts: Tensor
    counts: Tensor
    file: Tensor
    block: Tensor
    features: Tensor
    gold: Tensor
    inked: Tensor

    @classmethod
    def of(cls, examples: Sequence[WordExample]) -> _Batch:
        queries = [example.query + 1 if len(example.query) else np.zeros(1, np.int32) for example in examples]
        counts = np.concatenate([example.counts for example in examples])
        blocks = [int(example.blocks[-1]) + 1 for example in examples]
        firsts = np.cumsum(blocks) - blocks
        block = [example.blocks + first for example, first in zip(examples, firsts, strict=True)]
        lines = [len(example.counts) for example in examples]

        def together(name: str) -> Tensor:
            return torch.from_numpy(np.concatenate([getattr(example, name) for example in examples]))

        return cls(
            query=torch.from_numpy(np.concatenate(queries)).long(),
            query_starts=_starts(np.array([len(each) for each in queries])),
            words=together("words").long() + 1,
            word_starts=_starts(counts),
            counts=torch.from_numpy(counts).float(),
            file=torch.from_numpy(np.repeat(np.arange(len(examples)), lines)),
            block=torch.from_numpy(np.concatenate(block)).long(),
            features=together("features").float(),
            gold=together("gold").float(),
            inked=together("inked").float(),
        )


def _starts(counts: np.ndarray) -> Tensor:
    return torch.from_numpy(np.cumsum(counts) - counts).long()


_TABLES = ("query.", "line.", "prior.")


class _Model(nn.Module):
    """`Associations` as they are trained, with what is known of a line beside them."""

    def __init__(self, start: Tensor) -> None:
        super().__init__()
        count, width = start.shape
        first = torch.cat([start.new_zeros(1, width), start])
        self.query = nn.EmbeddingBag.from_pretrained(first.clone(), freeze=False, mode="sum", sparse=True)
        self.line = nn.EmbeddingBag.from_pretrained(first.clone(), freeze=False, mode="sum", sparse=True)
        self.prior = nn.EmbeddingBag.from_pretrained(
            start.new_zeros(count + 1, 1), freeze=False, mode="sum", sparse=True
        )
        self.views = nn.Parameter(torch.eye(width).repeat(3, 1, 1))
        self.shares = nn.Parameter(torch.tensor([1.0, 0.5, 0.5]))
        self.block_prior = nn.Parameter(torch.zeros(width))
        self.known = nn.Sequential(nn.Linear(len(KNOWN_FEATURES), _HIDDEN), nn.ReLU(), nn.Linear(_HIDDEN, 1))

    def forward(self, batch: _Batch) -> Tensor:
        """The log-odds `[L]` of lines."""
        sizes = batch.counts[:, None]
        asked = torch.diff(batch.query_starts, append=torch.tensor([len(batch.query)]))
        query = self.query(batch.query, batch.query_starts) / asked[:, None] ** QUERY_POWER
        sums = self.line(batch.words, batch.word_starts)
        blocks = int(batch.block.max()) + 1
        of_block, block_sizes = (
            values.new_zeros(blocks, values.shape[1]).index_add(0, batch.block, values)
            for values in (sums, sizes)
        )
        block = _scaled(of_block, block_sizes)[batch.block]
        near = _scaled(_nearby(sums, batch.file), _nearby(sizes, batch.file))
        odds = self.known(batch.features)[:, 0] + block @ self.block_prior
        odds = odds + _scaled(self.prior(batch.words, batch.word_starts), sizes)[:, 0]
        for share, matrix, view in zip(
            self.shares, self.views, (_scaled(sums, sizes), near, block), strict=True
        ):
            odds = odds + share * ((query @ matrix.T)[batch.file] * view).sum(dim=1)
        return odds

    def associations(self, words: Sequence[str]) -> Associations:
        """What was learned, without what is known anyway."""
        views = self.shares[:, None, None] * self.views
        query, line, prior = (table.weight[1:] for table in (self.query, self.line, self.prior))
        arrays = (query, line, views, prior[:, 0], self.block_prior)
        return Associations(tuple(words), *(each.detach().numpy().astype(np.float32) for each in arrays))


def _scaled(sums: Tensor, sizes: Tensor) -> Tensor:
    return sums / sizes.clamp(min=1) ** LINE_POWER


def _nearby(values: Tensor, file: Tensor) -> Tensor:
    """The sums `[L, F]` of values `[L, F]` over each line and the lines near it in its file."""
    total = torch.cat([values.new_zeros(1, values.shape[1]), values.cumsum(dim=0)])
    place = torch.arange(len(values))
    low = torch.maximum(place - NEAR, torch.searchsorted(file, file))
    high = torch.minimum(place + NEAR + 1, torch.searchsorted(file, file, right=True))
    return total[high] - total[low]


def _loss(model: _Model, batch: _Batch) -> Tensor:
    """The cross entropy of lines, whose gold and other lines count the same in each file, and that of their ranks."""
    odds = model(batch)
    files = int(batch.file[-1]) + 1

    def by_file(values: Tensor) -> Tensor:
        return values.new_zeros(files).index_add(0, batch.file, values)

    others = batch.inked - batch.gold
    gold, rest = by_file(batch.gold), by_file(others)
    shares = batch.gold / gold[batch.file] + others / rest[batch.file]
    entropy = F.binary_cross_entropy_with_logits(odds, batch.gold, reduction="none")
    # The file's largest score keeps the exponentials small; it changes no share.
    top = odds.detach().new_full((files,), -torch.inf).scatter_reduce(0, batch.file, odds.detach(), "amax")
    total = by_file((odds - top[batch.file]).exp() * batch.inked).clamp(min=1e-9).log() + top
    ranks = by_file((total[batch.file] - odds) * batch.gold) / gold
    return (entropy * shares).sum() / (2 * files) + _LISTWISE * ranks.mean()
