"""How many of a text's bytes are of a kind, and about how many tokens they make."""

import numpy as np

from lamr_postprocess.lines import IntArray, spans_of

HIGH = bytes(range(0x80, 0x100))
"""The bytes that aren't ASCII."""


def count(data: bytes, which: bytes) -> int:
    """Return how many of the bytes are among these."""
    return len(data) - len(data.translate(None, which))


def approximate_tokens(text: str) -> int:
    """A rough token count without a tokenizer: one token for 3.5 bytes of UTF-8.

    The vocabularies of code models come to about that on source code. Where a bound must hold for a tokenizer, pass
    that tokenizer's count instead."""
    return -(-2 * len(text.encode("utf-8", "surrogatepass")) // 7)


def approximate_tokens_of_lines(text: str) -> IntArray:
    """The `approximate_tokens` of each line of a text, int [L]."""
    spans = spans_of(np.frombuffer(text.encode("utf-8", "surrogatepass"), np.uint8))
    tokens: IntArray = -(-2 * (spans[:, 1] - spans[:, 0]) // 7)
    return tokens
