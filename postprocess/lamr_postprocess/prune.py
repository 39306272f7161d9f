"""`prune_lines` turns line scores into code that stands up. It is the package's main entry.

Each step is a module of its own."""

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from lamr_base.errors import own_errors
from lamr_base.records import dataclass
from numpy.typing import ArrayLike, NDArray

from lamr_postprocess.byte_counts import approximate_tokens
from lamr_postprocess.document import LEAST_CUT, Document, analyse
from lamr_postprocess.languages import language_named
from lamr_postprocess.lines import BoolArray, IntArray, split_lines
from lamr_postprocess.outcomes import OutcomeRows
from lamr_postprocess.pieces import Float64Array, values_of
from lamr_postprocess.render import COMMENT, NAMED, Style, render, sample_marker, single_gaps
from lamr_postprocess.repair import CUT, DEPENDENCY, KEEP, REASONS, SELECTED, Codes, adding
from lamr_postprocess.result import PrunedCode
from lamr_postprocess.selection import (
    BudgetError,
    BudgetSearch,
    CountTokens,
    Keep,
    PriceLines,
    highest_thresholds,
    kept_by_request,
)
from lamr_postprocess.source_file import SourceFile


@contextmanager
def without_collections() -> Iterator[None]:
    """Pause collections, unless somebody has switched them off anyway.

    Python's search for garbage walks over all objects anew, which takes a fourth of the time of a file of 100,000
    lines. What isn't in a circle goes at once, as ever. The pause holds for the whole process. Of several threads the
    first that is done ends the pause, which costs the others no more than time."""
    pauses = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if pauses:
            gc.enable()


THRESHOLD = 0.4
"""The least score of a selected line where the caller names neither one nor a budget (paper section 3.4)."""
FAILURES_SHOWN, TOTALS_SHOWN = "{shown} of {all} failures shown", "{shown} of {all} totals shown"
"""The notes of a result that leaves out lines of a tool's output that say how its run ended."""
UNSEEN_SHOWN = "{unseen} of the lines shown have invisible characters"
"""The note of a result with such lines, which are shown as they are."""
MOST_OUTCOMES = 200
"""Lines that say how a tool's run ended that are kept where no budget says how many."""
_MAY_ANSWER = 0.5
"""The share of the threshold from which on a line may answer: within a budget, what binds names is paid after such."""
BARE = "budget too small: imports and definitions used by the kept lines were left out"
"""The note of a result in which lines use names that no kept line imports or defines, though the text does."""


@own_errors()
@without_collections()
def prune_lines(  # noqa: PLR0913  # one keyword an option is what callers of a function want
    code: str | SourceFile,
    line_scores: ArrayLike,
    *,
    path: str | None = None,
    language: str | None = None,
    listed: bool = True,
    threshold: float | None = None,
    ratio: float | None = None,
    max_tokens: int | None = None,
    keep: Sequence[Keep] = (),
    answering: float | None = None,
    count_tokens: CountTokens | None = None,
    price_lines: PriceLines | None = None,
    min_tokens: int = 0,
    dependency: ArrayLike | None = None,
    repair: bool = True,
    markers: str = "comment",
    line_numbers: bool = False,
    min_cut: int = LEAST_CUT,
) -> PrunedCode:
    """Keep the lines that score high, repair the result, and mark what was cut (paper section 3.4).

    Args:
        code: the text, of L lines (see `line_spans`). A `SourceFile` is analysed once for any number of calls; its
            own path, language and `listed` count.
        line_scores: float [L]; higher scores are kept first. They need not be probabilities.
        path: the file's path, which tells the language.
        language: the language's name, instead of the path. Without both the language is guessed from the content.
        listed: whether the text may be what a tool printed, under numbers or paths; False for a file's own.
        threshold: the least score of a selected line; by default `THRESHOLD`, and any score with `ratio`,
            `max_tokens` or `answering`.
        ratio: keep one part in `ratio` of the tokens (4 is a quarter), or the smallest valid output if that is more.
        max_tokens: the most tokens of the finished text, repair and markers included. A text that has no more is kept
            whole, unless a threshold is given as well.
        keep: lines to keep whatever they score: numbers, (first, last) ranges, regular expressions.
        answering: the threshold of lines that answer. Without `threshold` and without a budget, lines are kept whose
            `highest_thresholds` reach it, and what binds their names isn't. A budget pays for what binds names after
            all lines that may answer; there it is by default `THRESHOLD`.
        count_tokens: a function from a text to its number of tokens; by default `approximate_tokens`.
        price_lines: a function from lines to about how many tokens each has; by default by `count_tokens`.
        min_tokens: a text with fewer tokens passes untouched, and `note` says so.
        dependency: bool [L], selected lines whose reason is `dependency` rather than `semantic`.
        repair: whether to add the lines that the selection needs; without it the result may not parse.
        markers: `comment`; `named`, whose markers name the definitions that begin inside the cut, with at most a dozen
            tokens each (names need a grammar and repair; a budget too small for them gets bare comments); or
            `swe-pruner`, which without repair gives exactly SWE-Pruner's text.
        line_numbers: whether original line numbers stand before the lines.
        min_cut: characters, without indentation, that a cut between two kept lines hides at least; what is smaller is
            kept where all that it needs is, because a marker costs about as much. 0 keeps blank lines only.

    Raises:
        BudgetError: the smallest valid output has more than `max_tokens` (a ValueError, with both numbers).
        ValueError: the language or the marker style is unknown, there is another number of scores or one isn't finite,
            or a range, an expression, the ratio or a number of tokens can't be used.
        BrokenOffError: memory or the stack ran out, or a library panicked, over this text."""
    style = Style(markers, line_numbers, repair)
    count = count_tokens or approximate_tokens
    text = code if isinstance(code, str) else code.text
    limit = _limit(text, ratio, max_tokens, count)
    if isinstance(code, str):
        given = None if language is None else language_named(language)
        code = SourceFile(code, path or "", given, listed)
    document = analyse(code, repair=repair, named=markers == NAMED, least_cut=min_cut)
    lines = document.spans.shape[0]
    if style.is_swe_pruners:
        document = replace(document, rules=replace(document.rules, singles=single_gaps(lines)))
    scores = scores_of(line_scores, lines)
    depends = None if dependency is None else _per_line("dependency", dependency, lines, np.bool_)
    wanted, missing = kept_by_request(document, keep)
    note, outcome = document.note, document.outcome if repair else OutcomeRows()
    tokens = count(text) if min_tokens > 0 or limit is not None else 0
    if tokens < min_tokens and (max_tokens is None or tokens <= max_tokens):
        codes, style = np.full(lines, SELECTED, dtype=np.int8), Style(markers, line_numbers)
        note = f"passed through: {tokens} tokens, fewer than min_tokens {min_tokens}"
    elif limit is None:
        if threshold is None and answering is not None and repair:
            codes = document.repair(wanted, (highest_thresholds(document, scores) >= answering) & ~wanted)
        else:
            codes = document.repair((scores >= (THRESHOLD if threshold is None else threshold)) | wanted)
        codes = adding(document.rules, codes, outcome.order[:MOST_OUTCOMES])
    elif tokens <= limit and not line_numbers and threshold is None:
        codes, style = np.full(lines, SELECTED, dtype=np.int8), Style(markers)
    else:
        budget = _Budget(limit, count, price_lines, threshold, answering)
        codes, used, style = budget.fill(document, scores, wanted, outcome.order, style)
        bare = document.rules.binds and bool(((document.repair(codes != CUT) != CUT) & (codes == CUT)).any())
        note = (
            _overrun(used, limit, max_tokens)
            or "; ".join(filter(None, (note, BARE if bare else None)))
            or None
        )
    note = "; ".join(filter(None, (note, missing))) or None
    return _result(document, codes, _Marks(wanted, depends), style, note, outcome)


@dataclass(frozen=True, eq=False)
class _Budget:
    """What a budget's lines are chosen by: see `prune_lines`, whose arguments these are."""

    limit: int
    count: CountTokens
    price_lines: PriceLines | None
    threshold: float | None
    answering: float | None

    def fill(  # a text, and what is known of its lines
        self, document: Document, scores: Float64Array, wanted: BoolArray, first: Sequence[int], style: Style
    ) -> tuple[Codes, int, Style]:
        """The best selection, its tokens, and the style that it has: names of cuts give way where they don't fit.

        Args:
            scores: float [L].
            wanted: bool [L], lines that are kept whatever they cost.
            first: rows that go before all others, in their order."""
        ranking, answers = self._ranked(document, scores, wanted, style.repaired)
        lines = _shown_lines(document, style.line_numbers)
        prices = [self.count(line) for line in lines] if self.price_lines is None else self.price_lines(lines)
        search = BudgetSearch(
            *(document, ranking, answers, wanted, np.asarray(prices, np.float64)),
            self.count(sample_marker(document, style)),
            lambda kept: self.count(render(document, kept, style)[0]),
        )
        search.keep_always(first, self.limit)
        codes, used = search.fill(self.limit)
        if used > self.limit and style.markers == NAMED:
            return self.fill(document, scores, wanted, first, replace(style, markers=COMMENT))
        return codes, used, style

    def _ranked(
        self, document: Document, scores: Float64Array, wanted: BoolArray, by_pieces: bool
    ) -> tuple[IntArray, int]:
        """The rows that may be taken, the best first, and how many of them may answer."""
        values = values_of(scores, document.pieces, document.blank) if by_pieces else scores
        ranking: IntArray = np.argsort(-values, kind="stable")
        ranking = ranking[~(document.blank | wanted)[ranking]]
        if self.threshold is not None:
            ranking = ranking[scores[ranking] >= self.threshold]
        least = _MAY_ANSWER * (THRESHOLD if self.answering is None else self.answering)
        return ranking, int(np.count_nonzero(values[ranking] >= least))


def _shown_lines(document: Document, line_numbers: bool) -> list[str]:
    """The lines as a result shows them."""
    lines = split_lines(document.text)
    return [f"{number}\t{line}" for number, line in zip(document.numbers, lines)] if line_numbers else lines  # noqa: B905


def _overrun(used: int, limit: int, max_tokens: int | None) -> str | None:
    """The note for a smallest output that is above the ratio's limit. Raises `BudgetError`: the output is above
    `max_tokens`."""
    if max_tokens is not None and used > max_tokens:
        raise BudgetError(used, max_tokens)
    return (
        f"the smallest valid output has {used} tokens, more than the ratio's {limit}"
        if used > limit
        else None
    )


@dataclass(frozen=True, eq=False)
class _Marks:
    """What the caller said about lines."""

    wanted: BoolArray  # [L], lines that were asked for with `keep`
    dependency: BoolArray | None  # [L] or None, lines whose reason is `dependency` where they are selected


def _limit(code: str, ratio: float | None, max_tokens: int | None, count: CountTokens) -> int | None:
    """The number of tokens that the result may have, or None without a budget."""
    if ratio is not None and not ratio >= 1:
        raise ValueError(f"ratio must be at least 1 (4 keeps a quarter of the tokens), not {ratio}")
    if max_tokens is not None and max_tokens < 0:
        raise ValueError(f"max_tokens must not be negative, not {max_tokens}")
    share = None if ratio is None else int(count(code) / ratio)
    limits = [limit for limit in (share, max_tokens) if limit is not None]
    return min(limits, default=None)


def scores_of(line_scores: ArrayLike, lines: int) -> NDArray[np.float64]:
    """The scores as float64 [L]. Raises `ValueError`: there is another number of them, or one isn't finite."""
    scores = _per_line("line_scores", line_scores, lines, np.float64)
    if not np.isfinite(scores).all():
        raise ValueError("line_scores must be finite numbers; found NaN or infinity")
    return scores


def _per_line(name: str, values: ArrayLike, lines: int, dtype: type[np.generic]) -> NDArray[Any]:
    """The values as an array [L], or a ValueError that names the argument."""
    array = np.asarray(values, dtype=dtype)
    if array.shape != (lines,):
        raise ValueError(
            f"{name} has shape {array.shape} but the code has {lines} lines; give one value a line"
        )
    return array


def _result(  # noqa: PLR0913, PLR0917  # what a result is made of
    document: Document, codes: Codes, marks: _Marks, style: Style, note: str | None, outcome: OutcomeRows
) -> PrunedCode:
    kept = codes != 0
    counts = [(int(kept[list(rows)].sum()), len(rows)) for rows in (outcome.failures, outcome.totals)]
    said = [
        words.format(shown=shown, all=every)
        for words, (shown, every) in zip((FAILURES_SHOWN, TOTALS_SHOWN), counts, strict=True)
        if shown < every
    ]
    note = "; ".join(filter(None, (*said, note))) or None
    text, cuts = render(document, kept, style)
    codes = codes.copy()
    codes[marks.wanted] = KEEP
    if marks.dependency is not None:
        codes[marks.dependency & (codes == SELECTED)] = DEPENDENCY
    rows = np.flatnonzero(kept)
    numbers = (rows + 1).tolist()
    return PrunedCode(
        text=text,
        kept_lines=tuple(numbers),
        reasons=dict(zip(numbers, (REASONS[code] for code in codes[rows].tolist()), strict=True)),
        cuts=cuts,
        language=document.language.name,
        note=note,
        failures=counts[0],
    )
