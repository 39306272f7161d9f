"""Sequences that begin alike, so that a causal model reads what they share once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from lamr_contract.perplexity.causal_scorer import IntArray

LEAST_SHARED = 16
"""Tokens that sequences must share to be read together: a token that begins every text is no reason."""


@dataclass(frozen=True)
class Family:
    """Sequences with a common beginning.

    Attributes:
        places: of the sequences among all, at least one.
        shared: the number of tokens that they all begin with. Each has at least one more; a sequence by itself shares
            all of its tokens.
        rests: how many more tokens each one has.
    """

    places: tuple[int, ...]
    shared: int
    rests: tuple[int, ...]

    @property
    def tokens(self) -> int:
        """How many tokens are read for all of them."""
        return self.shared + sum(self.rests)


def families(sequences: Sequence[IntArray], most_tokens: int) -> list[Family]:
    """Group sequences so that few tokens are read.

    Args:
        sequences: token ids, int64 `[t]` each, t at least 1.
        most_tokens: of a family with several members.

    Returns:
        families that hold every sequence once.
    """
    order = sorted(range(len(sequences)), key=lambda place: sequences[place].astype(">u4").tobytes())
    found: list[Family] = []
    for place in order:
        joined = _joined(found[-1], place, sequences) if found else None
        if joined is not None and joined.tokens <= most_tokens:
            found[-1] = joined
        else:
            found.append(Family((place,), len(sequences[place]), (0,)))
    return found


def _joined(family: Family, place: int, sequences: Sequence[IntArray]) -> Family | None:
    """The family with one sequence more; None where more tokens would be read than by themselves."""
    members = (*family.places, place)
    lengths = [len(sequences[member]) for member in members]
    common = _common(sequences[family.places[-1]], sequences[place])
    shared = min(common, family.shared, min(lengths) - 1)
    rests = tuple(length - shared for length in lengths)
    joined = Family(members, shared, rests)
    return joined if shared >= LEAST_SHARED and joined.tokens < family.tokens + lengths[-1] else None


def _common(one: IntArray, other: IntArray) -> int:
    """How many tokens two sequences begin alike with."""
    most = min(len(one), len(other))
    different = np.flatnonzero(one[:most] != other[:most])
    return int(different[0]) if len(different) else most


def fill(found: Iterable[Family], most_tokens: int) -> list[list[Family]]:
    """Put families into batches of at most so many tokens, those of like length together; a larger one goes alone."""
    batches: list[list[Family]] = []
    held = 0
    for family in sorted(found, key=lambda each: each.tokens):
        held += family.tokens
        if not batches or held > most_tokens:
            batches.append([])
            held = family.tokens
        batches[-1].append(family)
    return batches
