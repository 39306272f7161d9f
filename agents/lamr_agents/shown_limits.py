"""How much of a text a host shows to its model: of a result that stays as it is, and of an answer in its place.

Hosts shorten results before and after a hook is asked. What they do before stands in the text itself; what they do
after is a host's `ShownLimits`. `make test-hosts` finds these by running the hosts.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

WHOLE = 1_000_000
"""What a text uses of limits that it just fills; see `ShownLimits.used`."""


def as_it_is(text: str) -> str:
    """What a host shows that shows all."""
    return text


def utf8_bytes(text: str) -> int:
    """Bytes of a text in UTF-8."""
    return len(text.encode("utf-8", "surrogatepass"))


def utf16_units(text: str) -> int:
    """Characters of a text as JavaScript counts them."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


@dataclass(frozen=True)
class ShownLimits:
    """What a host shows of a text.

    Attributes:
        characters, lines: the most that an answer may have to be shown whole.
        width: the most characters of a line of an answer.
        size: counts characters as the host does.
        uncut: characters up to which a text that stays as it is is shown whole.
        shown: gives what the model gets in a text's place, whether it stays as it is or is an answer.
        above: what the host puts above a text that stays as it is, and not above an answer; its numbers don't count.
        below: what lamr's module for the host puts below an answer.
    """

    characters: float = math.inf
    lines: float = math.inf
    width: float = math.inf
    size: Callable[[str], int] = len
    uncut: float = math.inf
    shown: Callable[[str], str] = as_it_is
    above: str = ""
    below: str = ""

    def used(self, text: str) -> int:
        """How much of the limits an answer uses, in parts of `WHOLE`."""
        return math.ceil(WHOLE * max(self.size(text) / self.characters, text.count("\n") / self.lines))

    def fit(self, text: str) -> bool:
        """Whether an answer is shown whole."""
        wide = self.width < math.inf and any(self.size(line) > self.width for line in text.split("\n"))
        return self.used(text) <= WHOLE and not wide

    def cut(self, text: str) -> bool:
        """Whether the host leaves out some of a text that stays as it is."""
        return self.size(text) > self.uncut

    def inside(self, before: str, after: str) -> ShownLimits:
        """The limits of a text that stands between two others in a result."""
        around = before + after
        return replace(
            self,
            characters=max(self.characters - self.size(around), 1),
            lines=max(self.lines - around.count("\n"), 1),
            uncut=self.uncut - self.size(around),
            shown=lambda text: self.shown(f"{before}{text}{after}"),
        )


NO_LIMITS = ShownLimits()
