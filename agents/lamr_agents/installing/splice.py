"""Text that is put into a file at some places, so that it can be taken out again, and the file is what it was."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Splice:
    """A piece of text that is put in.

    Attributes:
        at: before which character of the text as it was.
        text: the piece.
    """

    at: int
    text: str


def put_in(text: str, splices: Sequence[Splice]) -> str:
    """The text with the pieces, whose places rise."""
    for splice in reversed(splices):
        text = text[: splice.at] + splice.text + text[splice.at :]
    return text


def taken_out(text: str, splices: Sequence[Splice]) -> str | None:
    """The text without the pieces, where it is what `put_in` gave; None where a piece isn't in its place."""
    for splice in splices:
        end = splice.at + len(splice.text)
        if text[splice.at : end] != splice.text:
            return None
        text = text[: splice.at] + text[end:]
    return text


def without(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """The text without what lies between these places, of which none overlap."""
    for start, end in sorted(spans, reverse=True):
        text = text[:start] + text[end:]
    return text
