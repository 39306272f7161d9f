"""What pruning gives back, and the way from there to the original."""

from collections.abc import Mapping, Sequence

from lamr_base.records import dataclass

from lamr_postprocess.lines import split_lines


@dataclass(frozen=True)
class Cut:
    """A run of removed lines, from `start` to `end`, 1-based and inclusive. One marker stands for it in the text."""

    start: int
    end: int

    @property
    def lines(self) -> int:
        """How many lines were removed."""
        return self.end - self.start + 1


@dataclass(frozen=True)
class PrunedCode:
    """Pruned text, and what became of each line.

    Attributes:
        text: the kept lines byte for byte, in order, with one marker line for each cut.
        kept_lines: the 1-based numbers of the kept lines in the original.
        reasons: for each kept line `semantic`, `dependency`, `keep`, `outcome` (it says how a tool's run ended), or
            `repair:<kind>`, where the kind is scope, companion, import, definition, closure, return, meaning or gap.
        cuts: what was removed, in order.
        language: the language's normalized name.
        note: what was not done as usual (a file that doesn't parse is pruned line by line, say), or None.
        failures: of a tool's output, how many lines that say that something failed are shown, and how many there
            are."""

    text: str
    kept_lines: tuple[int, ...]
    reasons: Mapping[int, str]
    cuts: tuple[Cut, ...]
    language: str
    note: str | None = None
    failures: tuple[int, int] = (0, 0)


def cut_texts(code: str, pruned: PrunedCode) -> tuple[str, ...]:
    """The removed text of each cut, in order: what `restore` needs beside the result."""
    lines = split_lines(code)
    return tuple("".join(lines[cut.start - 1 : cut.end]) for cut in pruned.cuts)


def restore(pruned: PrunedCode, original_cuts: Sequence[str]) -> str:
    """Put the removed text back in place of the markers, which gives the original byte for byte.

    Args:
        pruned: a result whose text has not been edited.
        original_cuts: the removed text of each of `pruned.cuts`, in order (see `cut_texts`).

    Raises:
        ValueError: there is another number of cut texts than cuts, or the text was edited."""
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
