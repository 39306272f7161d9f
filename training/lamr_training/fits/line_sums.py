"""Sums over lines that torch can differentiate: the contract's own, for weights and vectors that are learned.

The module knows lines and weights; it has no parameters. A test compares its sums with the contract's.
"""

from __future__ import annotations

import torch
from lamr_contract.scoring.line_inputs import LEAST_SUM, WIDE
from lamr_contract.scoring.line_vectors import LINE_POWER
from torch import Tensor
from torch.nn import functional as F

from lamr_training.fits.line_examples import LineExample


def lexical(example: LineExample, weights: Tensor) -> Tensor:
    """Return how the query's words match, `[I, 7]`, see `line_inputs.lexical`; weights are `[Q]`."""
    positions, matches = example.positions, example.matches
    blocks, header = torch.from_numpy(positions.blocks), torch.from_numpy(positions.header)
    total = weights.sum() + LEAST_SUM
    held = weights[torch.from_numpy(matches.word)]
    own = weights.new_zeros(len(positions)).index_add(0, torch.from_numpy(matches.position), held)
    held_block, held_word = map(torch.from_numpy, matches.of_blocks)
    block = weights.new_zeros(len(positions.block_starts)).index_add(0, held_block, weights[held_word])
    wide = nearby(own[:, None], WIDE)[:, 0]
    best = own / (own.amax() + LEAST_SUM)

    def above(values: Tensor) -> Tensor:
        return torch.where(header >= 0, values[header], 0.0)

    heads = above(best)
    sums = (own.log1p(), wide.log1p())
    return torch.stack([best, own / total, block[blocks] / total, heads, above(heads), *sums], dim=1)


def nearby(values: Tensor, reach: int) -> Tensor:
    """Return the sums `[I, C]` of values `[I, C]` over each line and `reach` lines on both sides."""
    taps = 2 * reach + 1
    return F.avg_pool1d(values.T[None], taps, 1, reach)[0].T * taps


def by_block(values: Tensor, blocks: Tensor) -> Tensor:
    """Return the sums `[B, C]` of values `[I, C]` over blocks."""
    return values.new_zeros(int(blocks[-1]) + 1, values.shape[1]).index_add(0, blocks, values)


def scaled(sums: Tensor, sizes: Tensor) -> Tensor:
    """Return sums over so many words, divided by a power of how many they are."""
    return sums / sizes.clamp(min=1) ** LINE_POWER
