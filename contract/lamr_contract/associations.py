"""`Associations`: which words of code go with which words of a query, by vectors of words and a network over lines.

A query that speaks of a *deadline* is about lines that say `timeout`, and one that adds an option is about lines that
parse arguments. Neither shares a word with its lines, so counting words finds nothing, and a small language model knows
too little of it. The vectors and the network are learned together from what people changed and asked, and need no
language model to be read. The module knows words, lines and the features that it is given; it knows neither how weights
were learned nor what becomes of the log-odds.
"""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lamr_contract.arrays import Float32Array, Float64Array
from lamr_contract.errors import ModelMismatchError
from lamr_contract.files import MIB, read_regular
from lamr_contract.layout import LineLayout
from lamr_contract.line_network import LineNetwork
from lamr_contract.words import TermIndex, query_terms

NEAR = 3
"""How many lines before and after a line are near it."""
QUERY_POWER, LINE_POWER = 0.7, 0.5
"""A text's vector is divided by this power of its words, since long texts say more, but not so much more."""
LEAST_MATCH = -4.0
"""What a match is at least: how little it is below that says nothing."""
LEAST_UNDERSTOOD = 0.05
"""What a query is understood at least, so that documents keep their order even for a query without a known word."""
VIEWS = ("own", "near", "block")
"""A line's own words, those of the lines near it, and those of its block."""
_LEVELS = 127
_MOST_BYTES, _MOST_UNPACKED_BYTES = 64 * MIB, 256 * MIB
_MATRICES = ("query", "line", "importance", "prior", "views", "key", "block_prior")
# What numpy, json and zipfile raise for files that are truncated, damaged, of another format, or pickled. The decoder
# has nearly the same list, but a client without a model in its process doesn't load it.
_UNREADABLE = (
    OSError,
    ValueError,
    KeyError,
    TypeError,
    EOFError,
    zipfile.BadZipFile,
    zlib.error,
    MemoryError,
    RuntimeError,
)
_REMEDY = "export the model again"


def network_inputs(known: tuple[str, ...], width: int) -> tuple[str, ...]:
    """Return the names of what the network reads of a line, in their order.

    Args:
        known: the features that are known without vectors.
        width: d, the numbers of a word's vector.
    """
    numbered = ("product", "near_product", "attended_product", "state")
    return (
        *known,
        *VIEWS,
        "prior",
        *(f"match_{view}" for view in VIEWS),
        *(f"{name}_{number}" for name in numbered for number in range(width)),
    )


@dataclass(frozen=True, eq=False)
class Associations:
    """Vectors of V words, each of d numbers, and the network that reads them; float32.

    A text's vector is the sum of its words' vectors, divided by a power of how many they are; a line's distinct words
    count once. The network (`network_inputs`) reads of each line:

    - what is known of it without vectors;
    - for each of `VIEWS`, the product of the query's vector, times the view's matrix, with the view's vector;
    - the prior, which says how likely lines of such words are needed, whatever is asked;
    - for each view, how well the query's words match: the logarithm of the sum, over these words, of the exponential of
      their importance plus the product of the word's vector, times the key, with the view's vector;
    - number by number, the products of the first two views, the product of the view of the lines near it with the mean
      of the query's words by how well they match that view, and the line's own vector.

    Attributes:
        words: the V terms (`lamr_contract.words`).
        query, line: [V, d], the vectors of words of queries and of code.
        importance: [V], what a word of a query adds to its matches.
        prior: [V], what a line's words say whatever is asked.
        views: [3, d, d], the matrices of the three views.
        key: [d, d], the matrix of matches.
        block_prior: [d], what its block's vector adds to a line's prior.
        known: the names of the features that are known (`lamr_contract.line_features`).
        network: the network.

    Raises:
        ValueError: shapes don't fit together, or a number isn't finite.
    """

    words: tuple[str, ...]
    query: Float32Array
    line: Float32Array
    importance: Float32Array
    prior: Float32Array
    views: Float32Array
    key: Float32Array
    block_prior: Float32Array
    known: tuple[str, ...]
    network: LineNetwork

    def __post_init__(self) -> None:
        count, width = len(self.words), int(self.line.shape[-1]) if self.line.ndim else 0
        square = (width, width)
        shapes = ((count, width), (count, width), (count,), (count,), (len(VIEWS), *square), square, (width,))
        for name, shape in zip(_MATRICES, shapes, strict=True):
            values = getattr(self, name)
            if values.shape != shape:
                raise ValueError(f"{name} has shape {list(values.shape)}, not {list(shape)}")
            if not np.isfinite(values).all():
                raise ValueError(f"{name} holds NaN or infinity")
        if self.network.features != network_inputs(self.known, width):
            raise ValueError("the network doesn't read what the vectors give")

    def of(self, query: str, index: TermIndex, layout: LineLayout, known: Float64Array) -> Float64Array:
        """Return the log-odds float64 [L] that a query needs the lines of a text, by what their words say.

        Args:
            query: what is looked for.
            index: the terms of the text's lines.
            layout: the L lines.
            known: float64 [L, F], the features `known`.
        """
        return self.network.logits(self.inputs(query, index, layout, known), layout)

    def inputs(self, query: str, index: TermIndex, layout: LineLayout, known: Float64Array) -> Float32Array:
        """Return what the network reads, float32 [L, inputs]; the arguments are those of `of`."""
        count = len(layout.blank)
        if not count:
            return np.zeros((0, len(self.network.features)), np.float32)
        words, lines = line_words(index, self._place)
        sizes = np.bincount(lines, minlength=count).astype(np.float32)
        sums = _segment_sums(self.line[words], sizes.astype(np.int64))
        own = _scaled(sums, sizes)
        near = _scaled(_nearby(sums), _nearby(sizes[:, None])[:, 0])
        starts = layout.block_starts
        block = _scaled(np.add.reduceat(sums, starts), np.add.reduceat(sizes, starts))[layout.blocks]
        prior = np.bincount(lines, self.prior[words], count) / np.maximum(sizes, 1.0) ** LINE_POWER
        asked = [self._place[term] for term in query_terms(query) if term in self._place]
        vectors = self.query[asked]
        towards = self.views @ (vectors.sum(axis=0) / max(1, len(asked)) ** QUERY_POWER)
        products = [view * each for view, each in zip((own, near, block), towards, strict=True)]
        keys, importance = vectors @ self.key.T, self.importance[asked]
        matches = [view @ keys.T + importance for view in (own, near, block)]
        columns = (
            known,
            *(product.sum(axis=1, keepdims=True) for product in products),
            (prior + block @ self.block_prior)[:, None],
            *(_log_sums(match)[:, None] for match in matches),
            *products[:2],
            near * (_shares(matches[1]) @ vectors),
            own,
        )
        return np.concatenate([np.asarray(each, np.float32) for each in columns], axis=1)

    def understood(self, query: str) -> float:
        """Return how much the model understands of a query, from `LEAST_UNDERSTOOD` to 1, by the words that it knows.

        It is the share of known words less that of unknown ones, and a little less for a query of few words: neither a
        query in a language that the words don't come from nor a single word says what a document lacks.
        """
        asked = set(query_terms(query))
        known = sum(term in self._place for term in asked)
        return max(LEAST_UNDERSTOOD, (2 * known - len(asked)) / (len(asked) + 1))

    @cached_property
    def _place(self) -> dict[str, int]:
        return {word: place for place, word in enumerate(self.words)}

    def to_bytes(self) -> bytes:
        """Return the file that `load_associations` reads: words, and vectors as int8 with a scale each."""
        arrays: dict[str, NDArray[np.generic]] = {
            "words": _text("\n".join(self.words)),
            "known": _text("\n".join(self.known)),
            "network": _text(json.dumps(asdict(self.network))),
            "importance": self.importance.astype(np.float16),
            "prior": self.prior.astype(np.float16),
            **{name: getattr(self, name).astype(np.float32) for name in ("views", "key", "block_prior")},
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
            if sum(each.file_size for each in data.zip.infolist()) > _MOST_UNPACKED_BYTES:
                raise ValueError(f"it unpacks to more than {_MOST_UNPACKED_BYTES:,} bytes")
            vectors = {
                name: data[name].astype(np.float32) * data[f"{name}_scale"] for name in ("query", "line")
            }
            others = {name: data[name].astype(np.float32) for name in _MATRICES[2:]}
            words, known, network = (
                data[name].tobytes().decode("utf-8") for name in ("words", "known", "network")
            )
        return Associations(
            tuple(words.split("\n")),
            **vectors,
            **others,
            known=tuple(known.split("\n")),
            network=LineNetwork.from_dict(json.loads(network)),
        )
    except FileNotFoundError as error:
        raise ModelMismatchError(
            f"{path} is missing, but the model's scoring weighs associations; {_REMEDY}", path=path
        ) from error
    except _UNREADABLE as error:
        raise ModelMismatchError(f"{path} can't be read ({error}); {_REMEDY}", path=path) from error


def line_words(
    index: TermIndex, vocabulary: Mapping[str, int]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the number of each known word of each line and its line, int64 [n] both, without repeats in a line.

    Args:
        index: the terms of the text's lines.
        vocabulary: the numbers of the known words, from 0.
    """
    terms, term, line = index.occurrences()
    size = max(1, len(vocabulary))
    number = np.fromiter((vocabulary.get(each, -1) for each in terms), np.int64, len(terms))
    known = number[term] if len(terms) else np.zeros(0, np.int64)
    pairs = np.unique((line * size + known)[known >= 0])
    return pairs % size, pairs // size


def _text(text: str) -> NDArray[np.generic]:
    return np.frombuffer(text.encode(), np.uint8)


def _segment_sums(vectors: Float32Array, sizes: NDArray[np.int64]) -> Float32Array:
    """Return the sums [L, d] of vectors [n, d] that lie line after line, `sizes` [L] of them in each."""
    sums = np.zeros((len(sizes), vectors.shape[1]), np.float32)
    held = sizes > 0
    if held.any():
        sums[held] = np.add.reduceat(vectors, (np.cumsum(sizes) - sizes)[held])
    return sums


def _scaled(sums: Float32Array, sizes: Float32Array) -> Float32Array:
    """Return sums [n, d] over so many words [n], divided by a power of how many they are."""
    scaled: Float32Array = sums / np.maximum(sizes, 1.0)[:, None] ** LINE_POWER
    return scaled


def _nearby(values: Float32Array) -> Float32Array:
    """Return the sums [L, d] of values [L, d] over each line and the lines near it."""
    padded = np.pad(values, ((NEAR, NEAR), (0, 0)))
    sums = np.zeros_like(values)
    for shift in range(2 * NEAR + 1):
        sums += padded[shift : shift + len(values)]
    return sums


def _log_sums(matches: Float32Array) -> Float32Array:
    """Return the logarithm [L] of the sum of the exponentials of matches [L, q], at least `LEAST_MATCH`."""
    best = matches.max(axis=1, initial=LEAST_MATCH)
    total = np.exp(matches - best[:, None]).sum(axis=1)
    with np.errstate(divide="ignore"):
        sums: Float32Array = np.maximum(best + np.log(total), LEAST_MATCH)
    return sums


def _shares(matches: Float32Array) -> Float32Array:
    """Return the shares [L, q] that the exponentials of matches [L, q] have of their sum."""
    powers = np.exp(matches - matches.max(axis=1, keepdims=True, initial=-np.inf))
    shares: Float32Array = powers / np.maximum(powers.sum(axis=1, keepdims=True), 1e-12)
    return shares
