"""Which lines to keep: those that the caller asks for, those that likely answer, or as many as a token budget allows.

A budget is searched with repair in the loop, and near its end with rendering, because the tokens of the finished text
count."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from operator import index
from typing import SupportsIndex, TypeGuard

import numpy as np
from lamr_base.errors import InvalidInputError
from lamr_base.records import dataclass

from lamr_postprocess.byte_counts import approximate_tokens_of_lines
from lamr_postprocess.document import Document
from lamr_postprocess.lines import BoolArray, IntArray
from lamr_postprocess.outline import NOBODY
from lamr_postprocess.patterns import LineSearch, SearchTime
from lamr_postprocess.pieces import Float64Array, values_of
from lamr_postprocess.repair import CUT, Codes, adding

Keep = int | tuple[int, int] | str | re.Pattern[str]
_KEEP_TAKES = (
    "keep takes a list of line numbers, (first, last) ranges and regular expressions, such as "
    "keep=[7, (10, 20), 'retries']"
)
CountTokens = Callable[[str], int]
PriceLines = Callable[[Sequence[str]], Sequence[float] | Float64Array]

_ENOUGH = 0.5  # the share of a budget from which on no line is stepped over
_MOST_STEPS = 24  # lines that are stepped over
_FAR = 1.3
"""How far a selection's price may be from its tokens, as a factor."""


_USUAL = 900.0
"""The tokens beside which a line must be just as likely as the threshold says."""
_LEAST_SHARE = 0.75
"""Of these tokens; a line is compared as if at least so many were kept, so that small files are cut, too."""


class BudgetError(InvalidInputError):
    """The smallest valid output has more tokens than the budget.

    Attributes:
        needed: the tokens of the smallest valid output.
        max_tokens: the budget."""

    def __init__(self, needed: int, max_tokens: int) -> None:
        super().__init__(
            f"the smallest valid output has {needed} tokens but max_tokens is {max_tokens}; "
            "raise max_tokens or keep fewer lines",
            argument="max_tokens",
        )
        self.needed = needed
        self.max_tokens = max_tokens

    def __reduce__(self) -> tuple[type[BudgetError], tuple[int, int]]:
        return type(self), (self.needed, self.max_tokens)


def keep_list(keep: Iterable[Keep]) -> tuple[Keep, ...]:
    """What a caller wants kept, as a tuple of its parts. `keep`: line numbers, (first, last) ranges and regular
    expressions. Raises `InvalidInputError`: it is one part in place of a list of parts, can be read in two ways, or
    has another part."""
    if isinstance(keep, (str, re.Pattern, SupportsIndex)) or not isinstance(keep, Iterable):
        meant = f"; write keep=[{keep!r:.80}]" if isinstance(keep, (str, int, re.Pattern)) else ""
        raise InvalidInputError(f"{_KEEP_TAKES}, not {type(keep).__name__}{meant}", argument="keep")
    parts = tuple(keep)
    if isinstance(keep, tuple) and len(parts) == 2 and all(map(_is_number, parts)):
        first, last = parts
        raise InvalidInputError(
            f"keep=({first}, {last}) can be two lines or a range: write keep=[({first}, {last})] for the lines {first} "
            f"to {last}, or keep=[{first}, {last}] for these two",
            argument="keep",
        )
    return tuple(map(_keep_part, parts))


def _keep_part(part: object) -> Keep:
    """One part of what is kept, with plain numbers."""
    if isinstance(part, (str, re.Pattern)):
        return part
    if _is_number(part):
        return index(part)
    if isinstance(part, (tuple, list)) and len(part) == 2 and all(map(_is_number, part)):
        return index(part[0]), index(part[1])
    raise InvalidInputError(f"{_KEEP_TAKES}, not {part!r:.80} in it", argument="keep")


def _is_number(part: object) -> TypeGuard[SupportsIndex]:
    return isinstance(part, SupportsIndex) and not isinstance(part, bool)


def kept_by_request(document: Document, keep: Iterable[Keep]) -> tuple[BoolArray, str | None]:
    """The lines that the caller asks for, bool [L], and a note if a part of `keep` is in none of them.

    Args:
        keep: line numbers, ranges (1-based, inclusive, clipped to the file), and regular expressions, which are
            searched in each line without its newline.

    Raises:
        InvalidInputError: see `keep_list`.
        ValueError: a range starts before 1 or ends before it starts, or an expression is invalid or searches too
            long."""
    seconds = SearchTime.of_a_call()
    lines, missing = document.spans.shape[0], []
    mask = np.zeros(lines, dtype=np.bool_)
    for each in keep_list(keep):
        found = _lines_of(document, each, seconds)
        mask |= found
        if not found.any():
            missing.append("{}-{}".format(*each) if isinstance(each, tuple) else f"{each!r:.80}")
    return mask, f"keep {', '.join(missing)}: in none of the {lines} lines" if missing else None


def _lines_of(document: Document, each: Keep, seconds: SearchTime) -> BoolArray:
    """The lines that a part of `keep` names, bool [L]."""
    if isinstance(each, (str, re.Pattern)):
        return _matching(document, each, seconds)
    start, end = (each, each) if isinstance(each, int) else each
    if start < 1 or end < start:
        raise ValueError(
            f"keep range {start}-{end}: line numbers start at 1 and a range must not end before it starts"
        )
    mask = np.zeros(document.spans.shape[0], dtype=np.bool_)
    mask[start - 1 : end] = True
    return mask


def _matching(document: Document, pattern: str | re.Pattern[str], seconds: SearchTime) -> BoolArray:
    """The lines in which the pattern is found, bool [L]; a compiled one is the caller's own, and is trusted."""
    lines = [document.line(row) for row in range(document.spans.shape[0])]
    matching = np.zeros(len(lines), dtype=np.bool_)
    if isinstance(pattern, str):
        matching[list(LineSearch(pattern, "keep", seconds).found(lines))] = True
    else:
        matching[[row for row, line in enumerate(lines) if pattern.search(line.rstrip("\r\n"))]] = True
    return matching


def highest_thresholds(document: Document, scores: Float64Array) -> Float64Array:
    """The threshold up to which each line is worth its tokens where no budget says how many, float64 [L].

    The more is kept already, the likelier a line must be: the odds of its value (`values_of`) must reach those of the
    threshold times the tokens of all better lines and its own, in 900s, and three quarters at the least. So a small
    answer is kept whole, and a large file doesn't give all that looks a little like one (docs/lab/selection.md).
    `scores`: float [L], in [0, 1]."""
    values = np.clip(values_of(scores, document.pieces, document.blank), 0, 1)
    ranking = np.argsort(-values, kind="stable")
    ranking = ranking[~document.blank[ranking]]
    tokens = approximate_tokens_of_lines(document.body)[ranking]
    share = np.maximum(np.cumsum(tokens) / _USUAL, _LEAST_SHARE)
    best = values[ranking]
    highest = np.zeros(len(values))
    highest[ranking] = best / (best + share * (1 - best))
    return highest


@dataclass(eq=False)
class BudgetSearch:
    """The search for the selection that fills a budget.

    Lines are bought best first, each with what it needs to parse. When those that may answer are all there, what binds
    their names follows, that of the best lines first, and then the lines below. So a larger budget keeps what a smaller
    one kept, unless that was too small for the best lines."""

    document: Document  # the text to prune
    ranking: IntArray  # [n], the rows with ink that may be taken, the best first
    answers: int  # how many of them may answer; names are bound for these alone
    forced: BoolArray  # [L], lines that are kept whatever they cost
    prices: Float64Array  # [L], about how many tokens each line has
    marker: float  # about how many tokens a marker has
    # a function from a closed selection to the tokens of the finished text
    measure: Callable[[BoolArray], int]
    always: Sequence[int] = ()  # rows that are kept beside every selection, without what they stand under
    exact: bool = False  # whether each selection is measured, and none is judged by its price

    def keep_always(self, rows: Sequence[int], limit: int) -> None:
        """Keep rows beside every selection, as many from the first on as at most `limit` tokens hold."""
        none = self.ranking[:0]

        def with_rows(count: int) -> Codes:
            self.always = rows[:count]
            return self._codes(none, none)

        self.always = rows[: self._most(limit, len(rows), with_rows)]

    def fill(self, limit: int) -> tuple[Codes, int]:
        """The codes and tokens of the best selection of at most `limit` tokens; `smallest` if that has more already."""
        codes, used = self._filled(limit)
        if used > limit:  # the prices say too little of this text
            self.exact = True
            codes, used = self._filled(limit)
        return codes, used

    def _filled(self, limit: int) -> tuple[Codes, int]:
        bound = none = self.ranking[:0]
        lines, are_all = self._buy(limit, none, self.ranking[: self.answers], none)
        if are_all:
            bound = lines[: self._most(limit, len(lines), lambda count: self._codes(lines, lines[:count]))]
            if len(bound) == len(lines):
                lines, _ = self._buy(limit, lines, self.ranking[self.answers :], bound)
        codes = self._codes(lines, bound)
        return codes, self.measure(codes != CUT)

    def _buy(self, limit: int, lines: IntArray, more: IntArray, bound: IntArray) -> tuple[IntArray, bool]:
        """The lines with those of more that fit, and whether the last one was reached.

        A line that needs more than there is left is stepped over with all that can't be parted from it, as long as much
        is left."""
        owner = self.document.rules.owner
        for _ in range(_MOST_STEPS):
            count = self._most(limit, len(more), lambda n: self._codes(np.append(lines, more[:n]), bound))  # noqa: B023
            lines, more = np.append(lines, more[:count]), more[count:]
            if not len(more) or self._price(self._codes(lines, bound) != CUT) > _ENOUGH * limit:
                break
            more = more[1:] if owner[more[0]] == NOBODY else more[owner[more] != owner[more[0]]]
        return lines, not len(more)

    def _most(self, limit: int, count: int, codes_of: Callable[[int], Codes]) -> int:
        """The largest number up to `count` whose codes fit, found by halves; 0 if none does.

        The steps are the same for every limit, so that a larger one never gives a smaller number."""
        low, high = 0, count + 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._fits(codes_of(middle), limit) else (low, middle)
        return low

    def _fits(self, codes: Codes, limit: int) -> bool:
        """Whether a selection fits; its text is only made where the prices leave that open."""
        kept = codes != CUT
        about = self._price(kept)
        if not self.exact and (about > _FAR * limit or about * _FAR < limit):
            return about < limit
        return self.measure(kept) <= limit

    def _price(self, kept: BoolArray) -> float:
        """About how many tokens a selection has."""
        cuts = np.count_nonzero(kept[1:] < kept[:-1]) + (not kept[:1].all())
        return float(self.prices[kept].sum()) + self.marker * cuts

    def _codes(self, lines: IntArray, bound: IntArray) -> Codes:
        """The codes of rows that are bought, some of them with what binds their names."""
        full, bare = self.forced.copy(), np.zeros_like(self.forced)
        full[bound], bare[lines] = True, True
        return adding(self.document.rules, self.document.repair(full, bare & ~full), self.always)
