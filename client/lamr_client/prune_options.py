"""What a caller may ask of one pruning, checked before anything is spent on it."""

from __future__ import annotations

import math
import os
import re
from dataclasses import dataclass
from typing import TypedDict

from lamr_contract.choices import EffortName
from lamr_contract.errors import InvalidInputError
from lamr_postprocess import LEAST_CUT, language_named
from lamr_postprocess.patterns import check_expressions
from lamr_postprocess.render import STYLES
from lamr_postprocess.selection import Keep

from lamr_client.effort import check_effort
from lamr_client.tracing import is_traceparent


class Cutting(TypedDict):
    """The options that `prune_lines` takes as they are."""

    ratio: float | None
    max_tokens: int | None
    keep: tuple[Keep, ...]
    repair: bool
    markers: str
    line_numbers: bool
    min_cut: int


@dataclass(frozen=True, kw_only=True)
class PruneOptions:
    """The options of `Pruner.prune`, which explains them.

    Raises:
        InvalidInputError: a value lies outside its range, an expression is invalid, or a language is unknown.
    """

    task: str = ""
    history: str = ""
    path: str | os.PathLike[str] | None = None
    language: str | None = None
    threshold: float | None = None
    ratio: float | None = None
    max_tokens: int | None = None
    tokenizer: str | os.PathLike[str] | None = None
    keep: tuple[Keep, ...] = ()
    line_numbers: bool = False
    min_tokens: int = 0
    repair: bool = True
    markers: str = "comment"
    min_cut: int = LEAST_CUT
    excerpts: bool = False
    effort: EffortName = "auto"
    within: float | None = None
    degrade: bool = True
    traceparent: str | None = None

    @property
    def cutting(self) -> Cutting:
        """What `prune_lines` takes of them, beside the language and the threshold."""
        return Cutting(
            ratio=self.ratio,
            max_tokens=self.max_tokens,
            keep=self.keep,
            repair=self.repair,
            markers=self.markers,
            line_numbers=self.line_numbers,
            min_cut=self.min_cut,
        )

    def __post_init__(self) -> None:
        _check_range("threshold", self.threshold, 0, 1)
        _check_range("ratio", self.ratio, 1, math.inf)
        _check_range("max_tokens", self.max_tokens, 1, math.inf)
        _check_range("min_tokens", self.min_tokens, 0, math.inf)
        _check_range("min_cut", self.min_cut, 0, math.inf)
        check_effort(self.effort, self.within)
        if self.markers not in STYLES:
            raise InvalidInputError(f"markers must be one of {', '.join(STYLES)}, not {self.markers!r}")
        check_expressions((each for each in self.keep if isinstance(each, str)), argument="keep")
        for each in self.keep:
            if not isinstance(each, (str, re.Pattern)):
                _check_lines(each)
        if self.traceparent is not None and not is_traceparent(self.traceparent):
            raise InvalidInputError(
                f"traceparent must be 00-<32>-<16>-<2> hexadecimal digits in lower case, neither trace nor span all "
                f"zeros, not {self.traceparent!r:.80}",
                argument="traceparent",
            )
        if self.language is not None:
            try:
                language_named(self.language)
            except ValueError as error:
                raise InvalidInputError(str(error), argument="language") from error


def _check_range(name: str, value: float | None, lowest: float, highest: float) -> None:
    if value is not None and not lowest <= value <= highest:
        bounds = f"at least {lowest}" if highest == math.inf else f"between {lowest} and {highest}"
        raise InvalidInputError(f"{name} must be {bounds}, not {value!r}", argument=name)


def _check_lines(lines: int | tuple[int, int]) -> None:
    first, last = (lines, lines) if isinstance(lines, int) else lines
    if not 1 <= first <= last:
        raise InvalidInputError(
            f"keep: lines {first}-{last}; lines count from 1 and a range goes upwards", argument="keep"
        )
