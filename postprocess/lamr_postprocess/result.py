"""What pruning gives back, and the way from there to the original."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lamr_postprocess.lines import split_lines


@dataclass(frozen=True)
class Cut:
    """A run of removed lines, 1-based and inclusive. In the text, one marker stands for it."""

    start: int
    end: int

    @property
    def lines(self) -> int:
        """How many lines were removed."""
        return self.end - self.start + 1


@dataclass(frozen=True)
class PrunedCode:
    """Pruned text and its account.

    Attributes:
        text: kept lines byte for byte, in order, with one marker line for each cut.
        kept_lines: 1-based numbers in the original.
        reasons: kept line -> `semantic`, `dependency`, `keep`, or `repair:<kind>` with kind scope, companion,
            import, definition, closure, return or gap.
        cuts: what was removed, in order.
        language: normalized name.
        note: what was not done as usual (for instance line level because the file doesn't parse), or None.
    """

    text: str
    kept_lines: tuple[int, ...]
    reasons: Mapping[int, str]
    cuts: tuple[Cut, ...]
    language: str
    note: str | None = None


def cut_texts(code: str, pruned: PrunedCode) -> tuple[str, ...]:
    """The removed text of each cut, in order: what `restore` needs beside the result."""
    lines = split_lines(code)
    return tuple("".join(lines[cut.start - 1 : cut.end]) for cut in pruned.cuts)


def restore(pruned: PrunedCode, original_cuts: Sequence[str]) -> str:
    """Put the removed text back in place of the markers; gives the original byte for byte.

    Args:
        pruned: a result whose text has not been edited.
        original_cuts: the removed text of each of `pruned.cuts`, in order (see `cut_texts`).

    Raises:
        ValueError: the number of cuts, or of lines in the text, isn't that of the result.
    """
    if len(original_cuts) != len(pruned.cuts):
        raise ValueError(f"{len(original_cuts)} texts for {len(pruned.cuts)} cuts; give one a cut, in order")
    output = split_lines(pruned.text)
    if len(output) != len(pruned.kept_lines) + len(pruned.cuts):
        raise ValueError(
            f"the text has {len(output)} lines instead of {len(pruned.kept_lines)} kept lines and "
            f"{len(pruned.cuts)} markers; restore needs it unedited"
        )
    texts = dict(zip((cut.start for cut in pruned.cuts), original_cuts, strict=True))
    order = sorted([*pruned.kept_lines, *texts])
    return "".join(texts.get(number, line) for number, line in zip(order, output, strict=True))
