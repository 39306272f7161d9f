"""Which lines to keep: those that the caller asks for, and as many more as a token budget allows.

A budget is searched with repair and rendering in the loop, because the tokens of the finished text count.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import index
from typing import SupportsIndex, TypeGuard

import numpy as np
from lamr_errors import InvalidInputError

from lamr_postprocess.document import Document
from lamr_postprocess.lines import BoolArray, FloatArray, IntArray
from lamr_postprocess.patterns import LineSearch, SearchTime
from lamr_postprocess.repair import CUT, Codes, adding

Keep = int | tuple[int, int] | str | re.Pattern[str]
_KEEP_TAKES = (
    "keep takes a list of line numbers, (first, last) ranges and regular expressions, such as "
    "keep=[7, (10, 20), 'retries']"
)
CountTokens = Callable[[str], int]

_ENOUGH = 0.98  # the share of a budget at which a search stops
_MOST_TRIALS = 80  # repairs and renderings of one search
_BEST = 8
"""The lines of the highest scores that a budget must pay; else it pays no definitions of names."""


class BudgetError(InvalidInputError):
    """The smallest valid output has more tokens than the budget.

    Attributes:
        needed: the tokens of the smallest valid output.
        max_tokens: the budget.
    """

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


def approximate_tokens(text: str) -> int:
    """A rough token count without a tokenizer: one token for 3.5 bytes of UTF-8.

    The vocabularies of code models come to about that on source code. Where a bound must hold for a tokenizer, pass
    that tokenizer's count instead.
    """
    return -(-2 * len(text.encode("utf-8", "surrogatepass")) // 7)


def keep_list(keep: Iterable[Keep]) -> tuple[Keep, ...]:
    """What a caller wants kept, as a tuple of its parts.

    Args:
        keep: line numbers, (first, last) ranges and regular expressions.

    Raises:
        InvalidInputError: it is one part in place of a list of parts, can be read in two ways, or has another part.
    """
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


def kept_by_request(document: Document, keep: Iterable[Keep]) -> BoolArray:
    """The lines that the caller asks for, bool [L].

    Args:
        document: the text, of L lines.
        keep: line numbers, ranges (1-based, inclusive, clipped to the file), and regular expressions, which are
            searched in each line without its newline.

    Raises:
        InvalidInputError: see `keep_list`.
        ValueError: a range starts before 1 or ends before it starts, or an expression is invalid or searches too long.
    """
    seconds = SearchTime.of_a_call()
    mask = np.zeros(document.spans.shape[0], dtype=np.bool_)
    for each in keep_list(keep):
        if isinstance(each, (str, re.Pattern)):
            mask |= _matching(document, each, seconds)
            continue
        start, end = (each, each) if isinstance(each, int) else each
        if start < 1 or end < start:
            raise ValueError(
                f"keep range {start}-{end}: line numbers start at 1 and a range must not end before it starts"
            )
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


@dataclass(eq=False)
class BudgetSearch:
    """The search for the selection that fills a budget.

    Attributes:
        document: the text to prune.
        scores: float [L]; lines with ink are taken in falling order of score, equal ones in the order of the file.
        forced: bool [L], lines that are kept whatever they cost.
        least: the least score of a line that is taken; None takes any line while there is room.
        measure: a function from a closed selection to the tokens of the finished text.
        always: rows that are kept beside every selection, without what they stand under.
        trials: how many selections were repaired and measured so far.
        bare: whether lines bring only what they need to parse, and not what binds their names.
    """

    document: Document
    scores: FloatArray
    forced: BoolArray
    measure: Callable[[BoolArray], int]
    always: Sequence[int] = ()
    least: float | None = None
    trials: int = 0
    bare: bool = False

    def smallest(self) -> tuple[Codes, int]:
        """The output with nothing but the forced lines, and its tokens."""
        return self._try(self.forced)

    def keep_always(self, rows: Sequence[int], limit: int) -> None:
        """Keep rows beside every selection, as many from the first on as at most `limit` tokens hold."""
        low, high = 0, len(rows) + 1
        while high - low > 1:
            middle = (low + high) // 2
            self.always = rows[:middle]
            low, high = (middle, high) if self.smallest()[1] <= limit else (low, middle)
        self.always, self.trials = rows[:low], 0

    def fill(self, limit: int) -> tuple[Codes, int]:
        """The codes and tokens of the best selection of at most `limit` tokens; `smallest` if that has more already.

        The search takes the longest run of the ranking that fits, steps over the line that doesn't fit with all that it
        needs, and goes on below it until nearly all of the budget is used. Where the best lines don't fit with what
        binds their names, it begins again without that: the lines themselves say more than imports do.
        """
        best, used = self.smallest()
        chosen = self.forced.copy()
        ranking: IntArray = np.argsort(-self.scores, kind="stable")
        ranking = ranking[~self.document.blank[ranking]]  # repair brings those between kept lines
        if self.least is not None:
            ranking = ranking[self.scores[ranking] >= self.least]
        step, first = 0, ranking[:_BEST]
        while used < limit * _ENOUGH and self.trials < _MOST_TRIALS:
            ranking = ranking[best[ranking] == 0]
            if not ranking.shape[0]:
                break
            taken, outcome = self._longest(chosen, ranking, limit, step)
            if (
                self.document.rules.binds
                and not (self.bare or step)
                and (best if outcome is None else outcome[0])[first].min() == CUT
            ):
                self.bare = True
                continue
            step = 1
            if outcome is not None:
                best, used = outcome
                chosen[ranking[:taken]] = True
            ranking = ranking[taken + 1 :]
        return best, used

    def _longest(
        self, chosen: BoolArray, ranking: IntArray, limit: int, step: int
    ) -> tuple[int, tuple[Codes, int] | None]:
        """The length of the longest prefix of the ranking that fits together with the chosen lines, and its outcome.

        A prefix is looked for in steps that double, from `step` on, and then by halves; 0 halves at once.
        """
        low, high, outcome = 0, ranking.shape[0] + 1, None
        while high - low > 1 and self.trials < _MOST_TRIALS:
            middle = min(low + step, high - 1) if step else (low + high) // 2
            selected = chosen.copy()
            selected[ranking[:middle]] = True
            codes, tokens = self._try(selected)
            if tokens <= limit:
                low, outcome, step = middle, (codes, tokens), step * 2
            else:
                high, step = middle, 0
        return low, outcome

    def _try(self, selected: BoolArray) -> tuple[Codes, int]:
        """Repair a selection; returns its codes and the tokens of its text."""
        self.trials += 1
        codes = self.document.repair(self.forced, selected) if self.bare else self.document.repair(selected)
        codes = adding(self.document.rules, codes, self.always)
        return codes, self.measure(codes != 0)
