"""Searches lines for regular expressions of strangers, in time and memory that no expression can blow up.

The engine is RE2, whose time is linear in the text; what it can't do so, it refuses.
"""

from __future__ import annotations

import re
import time
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from lamr_base.errors import InvalidInputError

from lamr_postprocess.expressions import ExpressionError, for_re2

MOST_SECONDS = 5.0
"""That the expressions of one call may search in all; other threads go on meanwhile."""
MOST_CHARS = 20_000
"""Of all the expressions of one call."""
MOST_EXPRESSIONS = 100
MOST_BYTES = 8 << 20
"""That one compiled expression may take, with what RE2 keeps while it searches."""

# RE2's slowest way takes up to 8 ns for each byte of text and instruction of the program, and it can't be interrupted.
# So a single search gets no more of both than takes it a second; one of a single line, ten seconds.
_STEPS_AT_ONCE = 100_000_000
_STEPS_OF_A_LINE = 1_000_000_000
_REMEDIES = tuple(
    (re.compile(sign), remedy)
    for sign, remedy in (
        (
            r"operator: \(\?<?[=!]",
            "searches take linear time, so that they know no look-around; write what the line itself holds, such as "
            r"`(?:^|[^.])name\(` for `(?<!\.)name(?=\()`",
        ),
        (
            r"sequence: \\[1-9k]|operator: \(\?P",
            "searches take linear time, so that they know no back references; write the repeated part out, or once",
        ),
        (
            r"operator: (.*\+$|\(\?>)",
            "nothing is tried twice here: write `a+` for `a++`, and `(?:` for `(?>`",
        ),
        (
            r"repetition size|too large",
            "counts go up to 1000, nested ones multiplied; write a smaller count, or `*`",
        ),
    )
)


@dataclass
class SearchTime:
    """What is left of the time that several searches share."""

    left: float

    @classmethod
    def of_a_call(cls) -> SearchTime:
        """What one call may take."""
        return cls(MOST_SECONDS)


class LineSearch:
    """Searches lines for an expression of Python's syntax, without look-around and back references.

    Args:
        pattern: the expression.
        argument: the name of the caller's argument that it is from, which errors tell.
        seconds: shared with other searches of the same call; None for a call of its own.

    Raises:
        InvalidInputError: it isn't an expression, is too long, or has what takes more than linear time or much memory.
    """

    def __init__(self, pattern: str, argument: str, seconds: SearchTime | None = None) -> None:
        self._pattern, self._argument = pattern, argument
        self._seconds = seconds or SearchTime.of_a_call()
        if len(pattern) > MOST_CHARS:
            raise InvalidInputError(
                f"{argument}: an expression of {len(pattern):,} characters; there may be {MOST_CHARS:,}",
                argument=argument,
            )
        # Compiled for texts of ASCII, and where there is such a text, for others: that takes a larger program.
        self._programs = {True: self._compiled(ascii_only=True)}

    def found(self, lines: Sequence[str]) -> Iterator[int]:
        """Yield the places of the lines that it is found in, in order; lines may have their ends.

        Raises:
            InvalidInputError: the time is over, or a line is too long for the expression.
        """
        if not lines:
            return
        data = "\n".join([line.rstrip("\r\n") for line in lines]).encode("utf-8", "surrogatepass")
        if (is_ascii := data.isascii()) not in self._programs:
            self._programs[is_ascii] = self._compiled(is_ascii)
        program = self._programs[is_ascii]
        ends = [*np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n")).tolist(), len(data)]
        at_once, place = max(1, _STEPS_AT_ONCE // program.programsize), 0
        while place <= len(data):
            line = bisect_left(ends, place)
            last = max(line, bisect_right(ends, place + at_once) - 1)
            if (ends[line] - place) * program.programsize > _STEPS_OF_A_LINE:
                raise self._refused(
                    f"is too large for a line of {ends[line] - place:,} bytes; write a simpler one"
                )
            start = self._search(program, data, place, ends[last])
            if start is None:
                place = ends[last] + 1
                continue
            line = bisect_left(ends, start)
            yield line
            place = ends[line] + 1

    def _search(self, program: Any, data: bytes, start: int, stop: int) -> int | None:
        """Where it is found between two places."""
        if self._seconds.left <= 0:
            raise self._refused(
                f"searches for more than {MOST_SECONDS:g} s; write a simpler one, or search in less"
            )
        begin = time.monotonic()
        match = program.search(data, start, stop)
        self._seconds.left -= time.monotonic() - begin
        return None if match is None else int(match.start())

    def _compiled(self, ascii_only: bool) -> Any:
        import re2  # noqa: PLC0415  # few calls need it

        options = re2.Options()
        options.max_mem = MOST_BYTES
        options.log_errors = False  # it would write to standard error
        options.never_nl = options.never_capture = True
        try:
            return re2.compile(for_re2(self._pattern, ascii_only=ascii_only).encode(), options)
        except (re2.error, ExpressionError, UnicodeEncodeError) as error:
            raise self._refused(_why(error)) from error
        finally:
            re2.purge()  # it would keep the last 128, of 8 MiB each

    def _refused(self, why: str) -> InvalidInputError:
        return InvalidInputError(f"{self._argument}: {self._pattern!r:.80} {why}", argument=self._argument)


def check_expressions(patterns: Iterable[str], argument: str) -> None:
    """Refuse what no call may search for.

    Raises:
        InvalidInputError: there are too many expressions, or one can't be searched for.
    """
    given = list(islice(patterns, MOST_EXPRESSIONS + 1))
    if len(given) > MOST_EXPRESSIONS:
        raise InvalidInputError(
            f"{argument}: more than {MOST_EXPRESSIONS} expressions; join some by |", argument=argument
        )
    if (total := sum(map(len, given))) > MOST_CHARS:
        raise InvalidInputError(
            f"{argument}: expressions of {total:,} characters; there may be {MOST_CHARS:,}", argument=argument
        )
    for each in given:
        LineSearch(each, argument)


def _why(error: Exception) -> str:
    said = error.args[0] if error.args else error
    text = (said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said))[:200]
    remedy = next((remedy for sign, remedy in _REMEDIES if sign.search(text)), None)
    return f"is not a regular expression that is searched for ({text}){f': {remedy}' if remedy else ''}"
