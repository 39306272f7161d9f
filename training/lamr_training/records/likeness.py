"""Which files are near-copies of evaluation files: how many runs of eight tokens they share."""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

LENGTH = 8
_TOKEN = re.compile(rb"\w+|[^\w\s]")
_FACTORS = np.array([pow(1_000_003, n, 1 << 64) for n in range(LENGTH)], dtype=np.uint64)


def shingles(text: str) -> NDArray[np.uint64]:
    """A number for each run of eight tokens, each once, ascending."""
    codes = np.array(
        [zlib.crc32(token) for token in _TOKEN.findall(text.encode("utf-8", "replace"))], np.uint64
    )
    if codes.size < LENGTH:
        return np.zeros(0, np.uint64)
    mixed = (codes + np.uint64(0x9E3779B9)) * np.uint64(0xFF51AFD7ED558CCD)
    return np.unique(np.lib.stride_tricks.sliding_window_view(mixed, LENGTH) @ _FACTORS)


class Likeness:
    """How much of a text stands in a set of others."""

    def __init__(self, texts: Iterable[str]) -> None:
        parts = [shingles(text) for text in texts]
        self._known = np.unique(np.concatenate(parts)) if parts else np.zeros(0, np.uint64)

    @property
    def digest(self) -> str:
        """Hexadecimal digits that differ where sets do."""
        return hashlib.sha256(self._known.tobytes()).hexdigest()

    def share(self, text: str) -> float:
        """Share of the text's shingles that the set has too, in [0, 1]."""
        own = shingles(text) if self._known.size else self._known
        if not own.size:
            return 0.0
        places = np.minimum(np.searchsorted(self._known, own), self._known.size - 1)
        return float(np.mean(self._known[places] == own))
