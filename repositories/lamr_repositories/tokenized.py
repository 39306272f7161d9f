"""Token ids and offsets of texts, kept by content, so that a later question about the same files tokenizes nothing."""

from __future__ import annotations

import hashlib
import zlib

import numpy as np
from lamr_contract.cache import Cache, unpacked
from lamr_contract.encoding import PromptEncoder
from numpy.typing import NDArray

KIND = "tokens"
FORMAT = "1"
"""Changes whenever the same text would get other tokens from the same tokenizer, or they are kept in another form."""
Tokens = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Ids int64 [n] and offsets int64 [n, 2], as `PromptEncoder.encode_document` returns them."""


def tokenized(encoder: PromptEncoder, text: str, cache: Cache, model: str) -> Tokens:
    """Return the tokens of a text, and keep them if they had to be made.

    Args:
        encoder: tokenizes.
        text: a whole file.
        cache: keeps tokens.
        model: names the model, and with it the tokenizer, in the cache.
    """
    key = _key(model, text)
    kept = cache.get(KIND, [key]).get(key)
    tokens = None if kept is None else _read(kept, len(text))
    if tokens is None:
        tokens = encoder.encode_document(text)
        cache.put(KIND, {key: _written(*tokens)})
    return tokens


def _key(model: str, text: str) -> str:
    return hashlib.sha256(f"{FORMAT}\0{model}\0{text}".encode("utf-8", "surrogatepass")).hexdigest()


def _written(ids: NDArray[np.int64], offsets: NDArray[np.int64]) -> bytes:
    """Return tokens as bytes. Offsets are kept as steps from each to the next, which are small and pack well."""
    steps = np.diff(offsets.reshape(-1), prepend=0)
    return zlib.compress(np.concatenate([ids, steps]).astype("<i4").tobytes(), 1)


def _read(data: bytes, length: int) -> Tokens | None:
    """Return what `_written` was given; None for an entry that can't be of a text of so many characters."""
    try:
        numbers = np.frombuffer(unpacked(data), "<i4").astype(np.int64)
    except ValueError:
        return None
    count, rest = divmod(len(numbers), 3)
    if rest:
        return None
    ids, columns = numbers[:count], np.ascontiguousarray(np.cumsum(numbers[count:]).reshape(-1, 2).T)
    starts, stops = columns
    rising = (starts <= stops).all() and (starts[:-1] <= starts[1:]).all()
    inside = not count or (ids.min() >= 0 and starts[0] >= 0 and stops.max() <= length)
    return (ids, columns.T) if rising and inside else None
