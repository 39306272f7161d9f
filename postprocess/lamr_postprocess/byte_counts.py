"""How many of a text's bytes are of a kind."""

from __future__ import annotations

HIGH = bytes(range(0x80, 0x100))
"""The bytes that aren't ASCII."""


def count(data: bytes, which: bytes) -> int:
    """Return how many of the bytes are among these."""
    return len(data) - len(data.translate(None, which))
