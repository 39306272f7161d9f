"""The kinds of characters, by which words are told apart. Knows characters only."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

# The kinds of characters: no part of a word, A-Z, a-z, decimal digits, other letters, the underscore.
NONE, UPPER, LOWER, DIGIT, OTHER, UNDERSCORE = range(6)


def _kind(letter: str) -> int:
    """Return the kind of a character."""
    if letter == "_":
        return UNDERSCORE
    if letter.isascii() and letter.isalpha():
        return UPPER if letter.isupper() else LOWER
    return DIGIT if letter.isdecimal() else OTHER if letter.isalnum() else NONE


_KINDS = np.array([_kind(chr(point)) for point in range(128)] + [NONE], np.uint8)


def character_kinds(points: NDArray[Any]) -> NDArray[np.uint8]:
    """Return the kind uint8 [c] of each character of a text (`NONE` to `UNDERSCORE`)."""
    kinds: NDArray[np.uint8] = _KINDS[np.minimum(points, 128)]
    if points.itemsize > 1:
        wide = np.flatnonzero(points > 127)
        letters, place = np.unique(points[wide], return_inverse=True)
        kinds[wide] = np.array([_kind(chr(letter)) for letter in letters.tolist()], np.uint8)[place]
    return kinds
