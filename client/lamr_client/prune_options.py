"""What a caller may ask of one pruning, checked before anything is spent on it: query and code, options and time.

`Pruner` and `AsyncPruner` share this module, which knows text, clocks and options; it knows no model and sends nothing.
Its errors name the remedy, and the offset where there is one."""

import math
import os
import re
import time
from dataclasses import field
from typing import Any, get_args

from lamr_base.choices import EffortName, OnError
from lamr_base.errors import InvalidInputError, own_errors
from lamr_base.records import dataclass
from lamr_postprocess import LEAST_CUT, DecodedFile, SourceFile, decode, language_named
from lamr_postprocess.patterns import check_expressions
from lamr_postprocess.render import STYLES
from lamr_postprocess.selection import Keep

from lamr_client.deadline import Deadline
from lamr_client.effort import check_effort
from lamr_client.tracing import is_traceparent


@own_errors()
def decode_code(code: str | bytes | bytearray | memoryview | SourceFile) -> DecodedFile:
    """Return the code as text that can be encoded again byte for byte; a byte order mark of UTF-8 stays where it is.
    Raises `InvalidInputError`: the bytes are no text in any known encoding, or the text has lone
    surrogates."""
    code = code.text if isinstance(code, SourceFile) else code
    if isinstance(code, str):
        _refuse_surrogates(code, "code")
        return DecodedFile(code)
    if not isinstance(code, (bytes, bytearray, memoryview)):
        raise InvalidInputError(f"the code must be str or bytes, not {type(code).__name__}", argument="code")
    data = bytes(code)
    decoded = decode(data)
    if decoded is not None:
        return decoded
    try:
        return DecodedFile(data.decode("utf-8"))  # with a NUL, which `check_code` refuses
    except UnicodeDecodeError as error:
        raise InvalidInputError(
            f"the code is binary, or in an encoding that isn't known: it isn't UTF-8 at byte {error.start} (counted "
            "from 0); decode it and pass text",
            argument="code",
            offset=error.start,
        ) from error


def check_code(code: str) -> None:
    """Refuse text that no source file holds. Raises `InvalidInputError`: the text has a NUL character."""
    _refuse_nul(code, "code", "binary files can't be pruned")


def check_query(query: str) -> None:
    """Refuse queries that ask nothing. Raises `InvalidInputError`: the query isn't text, is empty or blank, or has a
    NUL character or lone surrogates."""
    check_words(query, "query")
    if not query.strip():
        raise InvalidInputError("the query is empty; say what you are looking for", argument="query")


def check_words(text: str, what: str) -> None:
    """Refuse what can't be read as words: a query's, a task's, a history's.

    Args:
        text: the words; they may be empty.
        what: the argument's name, for the error.

    Raises:
        InvalidInputError: the words aren't text, or have a NUL character or lone surrogates."""
    if not isinstance(text, str):
        raise InvalidInputError(f"the {what} must be str, not {type(text).__name__}", argument=what)
    _refuse_surrogates(text, what)
    _refuse_nul(text, what, "remove it")


def _refuse_surrogates(text: str, what: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidInputError(
            f"the {what} has a lone surrogate at character {error.start} (counted from 0); decode it without "
            "'surrogateescape'",
            argument=what,
            offset=error.start,
        ) from error


def _refuse_nul(text: str, what: str, remedy: str) -> None:
    place = text.find("\0")
    if place >= 0:
        raise InvalidInputError(
            f"the {what} has a NUL at character {place} (counted from 0); {remedy}",
            argument=what,
            offset=place,
        )


@dataclass(frozen=True, kw_only=True)
class PruneOptions:
    """The options of `Pruner.prune`, which explains them. Raises `InvalidInputError`: a value lies outside its range,
    an expression is invalid, or a language is unknown."""

    task: str = ""
    history: str = ""
    path: str | os.PathLike[str] | None = None
    language: str | None = None
    listed: bool = True
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
    def cutting(self) -> dict[str, Any]:
        """What `prune_lines` takes of them as they are, beside the threshold."""
        names = "ratio max_tokens keep repair markers line_numbers min_cut"
        return {name: getattr(self, name) for name in names.split()}

    def __post_init__(self) -> None:
        _check_range("threshold", self.threshold, 0, 1)
        _check_range("ratio", self.ratio, 1, math.inf)
        _check_range("max_tokens", self.max_tokens, 1, math.inf)
        _check_range("min_tokens", self.min_tokens, 0, math.inf)
        _check_range("min_cut", self.min_cut, 0, math.inf)
        check_effort(self.effort, self.within)
        if not isinstance(self.tokenizer, (str, os.PathLike, type(None))):
            raise InvalidInputError(
                f"tokenizer must be a name or a file, not {self.tokenizer!r:.80}", argument="tokenizer"
            )
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
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if value is not None and not (is_number and lowest <= value <= highest):
        bounds = f"at least {lowest}" if highest == math.inf else f"between {lowest} and {highest}"
        raise InvalidInputError(f"{name} must be {bounds}, not {value!r}", argument=name)


def _check_lines(lines: int | tuple[int, int]) -> None:
    first, last = (lines, lines) if isinstance(lines, int) else lines
    if not 1 <= first <= last:
        raise InvalidInputError(
            f"keep: lines {first}-{last}; lines count from 1 and a range goes upwards", argument="keep"
        )


@dataclass(frozen=True)
class PruneCall:
    """A call under way."""

    on_error: OnError  # whether an error is raised or gives the text as it came
    deadline: Deadline  # when the call must end
    wanted: Deadline  # when the caller wants an answer, by then or earlier
    begin: float = field(default_factory=time.perf_counter)  # `time.perf_counter()` when the call began


@dataclass(frozen=True)
class CallDefaults:
    """What a pruner does in calls that don't say otherwise.

    Attributes:
        timeout: seconds; infinity for no end.
        on_error: see `PruneCall`.

    Raises:
        InvalidInputError: the timeout isn't more than 0, or `on_error` is another word."""

    timeout: float
    on_error: OnError

    def __post_init__(self) -> None:
        if not self.timeout > 0:
            raise InvalidInputError(
                f"timeout must be more than 0 seconds, or math.inf for no end, not {self.timeout!r}",
                argument="timeout",
            )
        if self.on_error not in get_args(OnError):
            raise InvalidInputError(
                f"on_error must be 'raise' or 'passthrough', not {self.on_error!r}", argument="on_error"
            )

    def begin(
        self, timeout: float | None, on_error: OnError | None, within: float | None = None
    ) -> PruneCall:
        """Start a call's clock. Raises `InvalidInputError`: see the class."""
        own = CallDefaults(self.timeout if timeout is None else timeout, on_error or self.on_error)
        deadline = Deadline(own.timeout)
        return PruneCall(own.on_error, deadline, deadline.earlier(most=within))
