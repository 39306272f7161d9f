"""Fits what a `Scoring` makes of a line model's log-odds: a bias and a presence, for questions and for other queries.

The module knows scored files and rules; it trains no weights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from lamr_contract.scoring.line_model import LineModel
from lamr_contract.scoring.query_kind import asks
from lamr_contract.scoring.rules import LINES, LineRule, Scoring
from lamr_contract.scoring.scorer import Scorer

from lamr_training.errors import RunError
from lamr_training.fits.keep_bias import bisect
from lamr_training.fits.presence import fit_presence
from lamr_training.fits.scored_files import ScoredFile, selection

ASKED_SHARE, TOLD_SHARE = 0.34, 0.4
"""The share of the lines that is kept on average for a question, and for a query that asks nothing, repair included."""
LEAST_FILES = 40
"""How many files with a sort of query are enough for a bias of its own; with fewer, all files give it."""
SHARES = (0.05, 0.7)
"""The bounds of what the threshold selects. The model sees the whole file, so its log-odds tell by themselves how
many lines a file needs; these bounds only keep extremes away."""


def fit_scoring(
    files: Sequence[ScoredFile],
    lines: LineModel,
    rubrics: Sequence[str],
    threshold: float,
    before: Scoring | None = None,
) -> Scoring:
    """Return a scoring for a line model, with a bias and a presence for questions and for other queries.

    Args:
        files: validation files; the bias comes from those that hold an answer.
        lines: what scores lines.
        rubrics: the names of the model's rubrics.
        threshold: the model's.
        before: gives the presence where the files don't teach one.

    Raises:
        RunError: no file holds an answer.
    """
    answered = [file for file in files if file.record.kept_frags]
    if not answered:
        raise RunError("no validation record has lines that answer; the threshold needs some")

    def scorer(rule: LineRule) -> Scorer:
        return Scorer(Scoring(LINES, rule, rule), tuple(rubrics), lines)

    rules = {}
    for name, asked, share in (("asked", True, ASKED_SHARE), ("told", False, TOLD_SHARE)):
        alike = [file for file in files if asks(file.asked.query) == asked]
        known = before and getattr(before, name)
        rule = LineRule(
            shares=SHARES, presence=fit_presence(alike, lines, rubrics) or (known and known.presence)
        )
        own = [file for file in answered if asks(file.asked.query) == asked]
        fitted = own if len(own) >= LEAST_FILES else answered
        rules[name] = with_kept_share(fitted, scorer, rule, threshold, share)
    return Scoring(LINES, **rules)


def with_kept_share(
    files: Sequence[ScoredFile],
    scorer: Callable[[LineRule], Scorer],
    rule: LineRule,
    threshold: float,
    kept: float,
) -> LineRule:
    """Return a rule with the bias at which pruning keeps a share of the lines of files, found by bisection.

    Args:
        files: what is pruned.
        scorer: gives the scorer of a rule.
        rule: what is added to lines besides the bias, and how the threshold adapts.
        threshold: the model's.
        kept: the share of the lines, repair included.
    """
    bias = bisect(lambda trial: selection(files, scorer(replace(rule, bias=trial)), threshold)[1], kept)
    return replace(rule, bias=bias)
