"""Which lines to keep: by threshold, by share of the tokens, or as many as a token budget takes.

A budget is searched with repair and rendering in the loop: what counts is the finished text. This module knows
scores, documents and a way to count tokens; it writes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from lamr_postprocess.document import Document
from lamr_postprocess.lines import BoolArray, FloatArray, IntArray
from lamr_postprocess.repair import Codes

Keep = int | tuple[int, int] | str | re.Pattern[str]
CountTokens = Callable[[str], int]

_ENOUGH = 0.98  # of a budget; a search that got there stops
_MOST_TRIALS = 80  # repairs and renderings that one search makes


class BudgetError(ValueError):
    """The smallest valid output doesn't fit: `needed` and `max_tokens` tell both numbers."""

    def __init__(self, needed: int, max_tokens: int) -> None:
        super().__init__(
            f"the smallest valid output has {needed} tokens but max_tokens is {max_tokens}; "
            "raise max_tokens or keep fewer lines"
        )
        self.needed = needed
        self.max_tokens = max_tokens


def approximate_tokens(text: str) -> int:
    """A rough token count without a tokenizer: a token for 3.5 bytes of UTF-8, which BPE vocabularies of code models
    come to on source code. Pass a real tokenizer's count where a bound must hold for that tokenizer."""
    return -(-2 * len(text.encode("utf-8", "surrogatepass")) // 7)


def kept_by_request(document: Document, keep: Iterable[Keep]) -> BoolArray:
    """Lines bool [L] that the caller wants: by number, by range (1-based, inclusive, clipped to the file), or by a
    regular expression that is searched in each line without its newline.

    Raises:
        ValueError: a range that starts before 1 or ends before it starts, or an invalid expression.
    """
    mask = np.zeros(document.spans.shape[0], dtype=np.bool_)
    for each in keep:
        if isinstance(each, (str, re.Pattern)):
            mask |= _matching(document, each)
            continue
        start, end = (each, each) if isinstance(each, int) else each
        if start < 1 or end < start:
            raise ValueError(
                f"keep range {start}-{end}: line numbers start at 1 and a range must not end before it starts"
            )
        mask[start - 1 : end] = True
    return mask


def _matching(document: Document, pattern: str | re.Pattern[str]) -> BoolArray:
    try:
        search = re.compile(pattern).search
    except re.error as error:
        raise ValueError(f"keep expression {pattern!r} is invalid: {error}") from error
    rows = range(document.spans.shape[0])
    return np.fromiter(
        (search(document.line(row).rstrip("\r\n")) is not None for row in rows), np.bool_, len(rows)
    )


@dataclass(eq=False)
class BudgetSearch:
    """The search for the selection that fills a budget.

    Attributes:
        document: what is pruned.
        scores: float [L]; lines are taken in falling order, equal ones in the order of the file.
        forced: bool [L], lines that are kept whatever they cost.
        measure: tokens of the finished text for a closed selection.
    """

    document: Document
    scores: FloatArray
    forced: BoolArray
    measure: Callable[[BoolArray], int]
    trials: int = 0

    def smallest(self) -> tuple[Codes, int]:
        """The output with nothing but the forced lines, and its tokens."""
        return self._try(self.forced)

    def fill(self, limit: int) -> tuple[Codes, int]:
        """The best selection found whose text has at most `limit` tokens; `smallest` if that is already too much.

        Takes the longest affordable run of the ranking, steps over the line that would not fit with all it needs,
        and goes on below it, until nearly all of the budget is used.
        """
        best, used = self.smallest()
        chosen = self.forced.copy()
        ranking: IntArray = np.argsort(-self.scores, kind="stable")
        while used < limit * _ENOUGH and self.trials < _MOST_TRIALS:
            ranking = ranking[best[ranking] == 0]
            if not ranking.shape[0]:
                break
            taken, found = self._longest(chosen, ranking, limit)
            if found is not None:
                best, used = found
                chosen[ranking[:taken]] = True
            ranking = ranking[taken + 1 :]
        return best, used

    def _longest(
        self, chosen: BoolArray, ranking: IntArray, limit: int
    ) -> tuple[int, tuple[Codes, int] | None]:
        """The longest prefix of the ranking that fits together with the chosen lines, by bisection."""
        low, high, found = 0, ranking.shape[0] + 1, None
        step = 1 if chosen.any() else 0
        while high - low > 1 and self.trials < _MOST_TRIALS:
            middle = min(low + step, high - 1) if step else (low + high) // 2
            selected = chosen.copy()
            selected[ranking[:middle]] = True
            codes, tokens = self._try(selected)
            if tokens <= limit:
                low, found, step = middle, (codes, tokens), step * 2
            else:
                high, step = middle, 0
        return low, found

    def _try(self, selected: BoolArray) -> tuple[Codes, int]:
        self.trials += 1
        codes = self.document.repair(selected)
        return codes, self.measure(codes != 0)
