"""How close an answer is to the truth: exact lines, edit similarity, a letter, named facts, quoted lines.

Every grade is a number from 0 to 1. Nothing here asks a model.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LETTER = re.compile(
    r"(?:\banswer(?: is)?\W{0,4}|\boption\s+|\()([A-Z])(?![\w'])|^\W{0,3}([A-Z])(?=\W*$|[).:])",
    re.IGNORECASE | re.MULTILINE,
)
_FENCE = re.compile(r"```[^\n]*\n(.*?)(?:\n?```|\Z)", re.DOTALL)


def chosen_letter(text: str, count: int) -> str | None:
    """Return the letter of the choice that an answer names, the last one if it names several; None if it names none.

    Args:
        text: what the reader said.
        count: how many choices there are.
    """
    named = ((after or first).upper() for after, first in _LETTER.findall(text))
    found = [letter for letter in named if letter in LETTERS[:count]]
    return found[-1] if found else None


def next_lines(text: str, count: int) -> list[str]:
    """Return the first `count` lines of an answer that have ink, stripped, without a fence around them."""
    fenced = _FENCE.search(text)
    lines = [line.strip() for line in (fenced[1] if fenced else text).splitlines()]
    return [line for line in lines if line][:count]


def edit_similarity(one: str, other: str) -> float:
    """Return twice the characters that two texts have in common over those that they have in all, as LongBench does."""
    return SequenceMatcher(None, one, other, autojunk=False).ratio()


def named_facts(text: str, facts: Sequence[str]) -> float:
    """Return the share of facts that an answer names as whole words, in any case and with any white space."""
    said = " ".join(text.casefold().split())
    return sum(_names(said, " ".join(fact.casefold().split())) for fact in facts) / len(facts)


def _names(said: str, fact: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(fact)}(?!\w)", said) is not None


def quoted_lines(text: str, lines: Sequence[str], gold: Sequence[int]) -> float:
    """Return the F1 of an answer's quoted lines against the lines to change; quotes that aren't of the code are wrong.

    Args:
        text: what the reader said, one quoted line a line.
        lines: those of the code.
        gold: 1-based numbers of the lines to change.
    """
    wanted = {lines[number - 1].strip() for number in gold} - {""}
    said = set(next_lines(text, len(lines)))
    hits = len(wanted & said)
    return 2 * hits / (len(wanted) + len(said)) if wanted and said else 0.0
