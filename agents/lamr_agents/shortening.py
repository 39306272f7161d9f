"""What `skim` does with a result that isn't pruned: it goes without what bears no meaning and what stands above it."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from lamr_client import LamrError
from lamr_postprocess import approximate_tokens, split_lines

from lamr_agents.lossless import LEAST_SAVED, Earlier, rows_of, shorten
from lamr_agents.parts import parts_of
from lamr_agents.policy import SHORTENED, Asked
from lamr_agents.skimmed import Skim
from lamr_agents.words import BY_RANGE, shortened_note


class Archive(Protocol):
    """What keeps originals; `lamr_agents.local.texts.Archive` is one."""

    def keep(self, text: str) -> str:
        """Keep a text and return its key.

        Raises:
            LamrError: it can't be kept.
        """
        ...

    def how_to_show(self, text: str, first: int, last: int) -> str:
        """Say how these lines of a text are shown, in words that follow a semicolon."""
        ...


def shortened(asked: Asked, shown: Skim, archive: Archive | None, earlier: Earlier | None) -> Skim:
    """A result that passes, made shorter; as it was where that saves little or its original can't be kept.

    A second look at what was cut comes whole.

    Args:
        asked: what was asked for.
        shown: the result as it passes.
        archive: keeps the original; without one only a file's text is made shorter, which can be read again.
        earlier: what stands above it.
    """
    is_file = bool(asked.path) and not asked.name
    part, *more = parts_of(asked)
    second_look = earlier is not None and earlier.was_cut(asked.known_as)
    if more or second_look or (archive is None and not is_file):  # more: the host left out the middle
        return shown
    shorter = shorten(asked.text, is_file=is_file, earlier=earlier, first=part.first)
    undo = archive.how_to_show(asked.text, 1, len(split_lines(asked.text))) if archive else BY_RANGE
    text = shorter.text + shortened_note(undo)
    tokens = approximate_tokens(text)
    if shorter.saved < LEAST_SAVED or tokens >= asked.tokens:
        return shown
    try:
        if archive:
            archive.keep(asked.text)
    except LamrError:
        return shown
    if earlier is not None:
        earlier.add(asked.known_as, shorter.rows, part.first)
    kept = shorter.kept_lines
    return replace(shown, text=text, reason=SHORTENED, kept_lines=kept, tokens_out=tokens, result=None)


def remember(asked: Asked, shown: Skim, earlier: Earlier) -> None:
    """Add what is shown of a result, so that it needn't be shown again."""
    rows = rows_of(asked.text)
    earlier.note_cut(asked.known_as, shown.cut)
    for part in parts_of(asked):
        if part.code:
            own = range(part.row + 1, min(part.row + part.lines, len(rows)) + 1)
            left = {*shown.kept_lines} & {*own}
            first = None if part.first is None else part.first - part.row
            earlier.add(asked.known_as, [rows[number - 1] for number in sorted(left)], first)
