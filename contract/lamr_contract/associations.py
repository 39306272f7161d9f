"""`Associations`: which words of code go with which words of a query, as vectors of words.

A query that speaks of a *deadline* is about lines that say `timeout`, and one that adds an option is about lines that
parse arguments. Neither shares a word with its lines, so counting words finds nothing, and a small language model knows
too little of it. The vectors are learned from what people changed and asked (supervised semantic indexing, Bai et al.
2009), and cost a product of matrices at most. The module knows words, vectors and lines; it knows neither how they were
learned nor what a feature weighs.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lamr_contract.arrays import Float64Array
from lamr_contract.errors import ModelMismatchError
from lamr_contract.files import MIB, read_regular
from lamr_contract.layout import LineLayout
from lamr_contract.words import TermIndex, query_terms

Float32Array = NDArray[np.float32]

NEAR = 3
"""How many lines before and after a line are near it."""
_VIEWS = 3  # the line itself, the lines near it, its block
_LEVELS = 127
QUERY_POWER, LINE_POWER = 0.7, 0.5
"""A text's vector is divided by this power of its words, since long texts say more, but not so much more."""
_MOST_BYTES = 64 * MIB
_MATRICES = ("query", "line", "views", "prior", "block_prior")
# What numpy and zipfile raise for files that are truncated, damaged, of another format, or pickled. The decoder has the
# same list, but a client without a model in its process doesn't load it.
_UNREADABLE = (
    OSError,
    ValueError,
    KeyError,
    EOFError,
    zipfile.BadZipFile,
    zlib.error,
    MemoryError,
    RuntimeError,
)
_REMEDY = "export the model again"


@dataclass(frozen=True, eq=False)
class AssociationViews:
    """How far L lines go with a query, float64 [L].

    Attributes:
        own: the line's own words.
        near: those of the lines near it.
        block: those of its block.
        prior: how likely lines of such words are needed, whatever is asked.
    """

    own: Float64Array
    near: Float64Array
    block: Float64Array
    prior: Float64Array


@dataclass(frozen=True, eq=False)
class Associations:
    """Vectors of V words, each of d numbers, float32.

    A text's vector is the sum of its words' vectors, divided by a power of how many they are; a line's distinct words
    count once. A view of a line is the product of the query's vector, times that view's matrix, with the vector of the
    line, of the lines near it, or of its block.

    Attributes:
        words: the V terms (`lamr_contract.words`).
        query, line: [V, d], the vectors of words of queries and of code.
        views: [3, d, d], the matrices of the three views.
        prior: [V], what a line's words say whatever is asked.
        block_prior: [d], the same of its block's vector.

    Raises:
        ValueError: shapes don't fit together, or a number isn't finite.
    """

    words: tuple[str, ...]
    query: Float32Array
    line: Float32Array
    views: Float32Array
    prior: Float32Array
    block_prior: Float32Array

    def __post_init__(self) -> None:
        count, width = len(self.words), int(self.line.shape[-1]) if self.line.ndim else 0
        shapes = ((count, width), (count, width), (_VIEWS, width, width), (count,), (width,))
        for name, shape in zip(_MATRICES, shapes, strict=True):
            values = getattr(self, name)
            if values.shape != shape:
                raise ValueError(f"{name} has shape {list(values.shape)}, not {list(shape)}")
            if not np.isfinite(values).all():
                raise ValueError(f"{name} holds NaN or infinity")

    def of(self, query: str, text: str, layout: LineLayout) -> AssociationViews:
        """Return how far the lines of a text go with a query; 0 where no known word occurs.

        Args:
            query: what is looked for.
            text: the text.
            layout: `line_layout(text)`, with L lines.
        """
        count = len(layout.blank)
        words, lines = line_words(text, layout, self._place)
        if not len(lines):
            return AssociationViews(*(np.zeros(count) for _ in range(4)))
        asked = [self._place[term] for term in query_terms(query) if term in self._place]
        vector = self.query[asked].sum(axis=0) / max(1, len(asked)) ** QUERY_POWER
        # All views are linear in the vectors of words, so that each word needs four numbers and no vector.
        found, word = np.unique(words, return_inverse=True)
        told = self.line[found] @ np.stack([*(self.views @ vector), self.block_prior], axis=1)
        own, near, block, block_prior, prior = (
            np.bincount(lines, values[word], count).astype(np.float64)
            for values in (*told.T.astype(np.float64), self.prior[found].astype(np.float64))
        )
        sizes = np.bincount(lines, minlength=count).astype(np.float64)
        starts = np.searchsorted(layout.blocks, np.arange(layout.blocks[-1] + 1))
        of_block = _scaled(
            np.add.reduceat(np.stack([block, block_prior]), starts, axis=1), np.add.reduceat(sizes, starts)
        )[:, layout.blocks]
        return AssociationViews(
            own=_scaled(own, sizes),
            near=_scaled(_nearby(near), _nearby(sizes)),
            block=of_block[0],
            prior=_scaled(prior, sizes) + of_block[1],
        )

    @cached_property
    def _place(self) -> dict[str, int]:
        return {word: place for place, word in enumerate(self.words)}

    def to_bytes(self) -> bytes:
        """Return the file that `load_associations` reads: words, and vectors as int8 with a scale each."""
        arrays: dict[str, NDArray[np.generic]] = {
            "words": np.frombuffer("\n".join(self.words).encode(), np.uint8),
            "views": self.views.astype(np.float32),
            "prior": self.prior.astype(np.float16),
            "block_prior": self.block_prior.astype(np.float32),
        }
        for name in ("query", "line"):
            values = getattr(self, name)
            scale = np.maximum(np.abs(values).max(axis=1, keepdims=True), 1e-6) / _LEVELS
            arrays[name] = np.rint(values / scale).astype(np.int8)
            arrays[f"{name}_scale"] = scale.astype(np.float32)
        stream = io.BytesIO()
        np.savez_compressed(stream, **arrays)
        return stream.getvalue()


def load_associations(path: Path) -> Associations:
    """Read what `Associations.to_bytes` wrote.

    Raises:
        ModelMismatchError: the file is missing, or no such file.
    """
    try:
        with np.load(io.BytesIO(read_regular(path, _MOST_BYTES)), allow_pickle=False) as data:
            vectors = {
                name: data[name].astype(np.float32) * data[f"{name}_scale"] for name in ("query", "line")
            }
            words = tuple(data["words"].tobytes().decode("utf-8").split("\n"))
            others = {name: data[name].astype(np.float32) for name in ("views", "prior", "block_prior")}
        return Associations(words, **vectors, **others)
    except FileNotFoundError as error:
        raise ModelMismatchError(
            f"{path} is missing, but the model's scoring weighs associations; {_REMEDY}", path=path
        ) from error
    except _UNREADABLE as error:
        raise ModelMismatchError(f"{path} can't be read ({error}); {_REMEDY}", path=path) from error


def line_words(
    text: str, layout: LineLayout, vocabulary: Mapping[str, int]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the number of each known word of each line and its line, int64 [n] both, without repeats in a line.

    Args:
        text: the text.
        layout: `line_layout(text)`.
        vocabulary: the numbers of the known words, from 0.
    """
    terms, term, line = TermIndex(text, len(layout.blank), layout).occurrences()
    size = max(1, len(vocabulary))
    number = np.fromiter((vocabulary.get(each, -1) for each in terms), np.int64, len(terms))
    known = number[term] if len(terms) else np.zeros(0, np.int64)
    pairs = np.unique((line * size + known)[known >= 0])
    return pairs % size, pairs // size


def _scaled(sums: Float64Array, sizes: Float64Array) -> Float64Array:
    """Return sums [..., n] over so many words [n], divided by a power of how many they are."""
    scaled: Float64Array = sums / np.maximum(sizes, 1.0) ** LINE_POWER
    return scaled


def _nearby(values: Float64Array) -> Float64Array:
    """Return the sums [L] of values [L] over each line and the lines near it."""
    total = np.zeros(len(values) + 2 * NEAR + 1)
    total[NEAR + 1 : NEAR + 1 + len(values)] = values
    np.add.accumulate(total, out=total)
    sums: Float64Array = total[2 * NEAR + 1 :] - total[: len(values)]
    return sums
