"""What can't be parted in a text: where comments, texts and tags begin and end, by the expressions of a table."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache

from lamr_base.expressions import expression

from lamr_postprocess.clock import look
from lamr_postprocess.languages.table import AtomicSpan

Found = tuple[int, int, AtomicSpan]
"""Where something begins, the offset after it, and what it is."""

_MOST_LOST = 200
"""Openings whose end is looked for in vain, so that a text of such openings takes no time of its square."""
_INK = expression(r"[^\n]")


def found_in(text: str, wholes: tuple[AtomicSpan, ...]) -> Iterator[Found]:
    """Where each whole begins and ends, one after the other, and those in one that holds others behind it."""
    if not wholes:
        return
    opening = _openings(wholes)
    at, held, lost = 0, 0, _Lost()
    waiting: list[tuple[AtomicSpan, str]] = []  # whose text begins in the next row
    while True:
        look()
        found = opening.search(text, at)
        if waiting and (end_of_row := text.find("\n", at)) >= 0 and (not found or found.start() > end_of_row):
            at = end_of_row
            for whole, closing in waiting:
                at = lost.end(text, at, whole, closing) or at
            if at > end_of_row:
                yield end_of_row, at, waiting[0][0]
            at, waiting = max(at, end_of_row + 1), []
            continue
        if not found:
            return
        number = next(i for i in range(len(wholes)) if found[f"w{i}"] is not None)
        whole, end = wholes[number], found.end()
        at = max(end, found.start() + 1)
        if whole.holds and found.start() < held:
            continue
        tag = found.groupdict().get(f"tag{number}") or ""
        closing = whole.closing.replace("{tag}", re.escape(tag)).replace("{indent}", " " * len(tag))
        if whole.waits:
            waiting.append((whole, closing))
            continue
        if closing:
            closed = lost.end(text, end, whole, closing)
            if closed is None:
                continue
            end = closed
        yield found.start(), end, whole
        if whole.holds:
            held = end
        else:
            at = max(end, at)


class _Lost:
    """Which closings were looked for in vain, so that a text of openings takes no time of its square."""

    def __init__(self) -> None:
        self._count, self._never = Counter[bool](), set[str]()

    def end(self, text: str, at: int, whole: AtomicSpan, closing: str) -> int | None:
        """Where what begins before a place ends; None if nothing closes it."""
        if closing not in self._never and self._count[whole.at_once] < _MOST_LOST:
            pattern = re.compile(closing, re.MULTILINE)
            if closed := (pattern.match if whole.at_once else pattern.search)(text, at):
                return closed.end()
        self._count[whole.at_once] += 1
        if not whole.at_once:
            self._never.add(closing)
        return None


@lru_cache(maxsize=256)
def _openings(wholes: tuple[AtomicSpan, ...]) -> re.Pattern[str]:
    """One expression for the openings of all wholes, in which the group of each says which it is."""
    parts = (
        re.sub(r"\(\?P(<|=)(\w+)", rf"(?P\g<1>\g<2>{number}", f"(?P<w>{whole.opening})")
        for number, whole in enumerate(wholes)
    )
    return re.compile("|".join(parts), re.MULTILINE)


def masked(text: str, found: Iterable[Found], ink: str) -> str:
    """A text with its comments blanked out, and with a character for all others of other texts; its lines stay."""
    parts: list[str] = []
    at = 0
    for start, end, whole in found:
        if start >= at:
            parts += text[at:start], _INK.sub(" " if whole.says_nothing else ink, text[start:end])
            at = end
    return "".join([*parts, text[at:]])
