"""Regular expressions of strangers: some take longer than a life on a few words, and `re` can't be interrupted.

This module knows expressions and lines; it knows neither who asks nor what for.
"""

from __future__ import annotations

import time

import regex
from lamr_errors import InvalidInputError

MOST_SECONDS = 5.0
"""That an expression may search in all; other threads go on meanwhile."""


class LineSearch:
    """Searches lines for an expression of Python's syntax, all of them within `MOST_SECONDS`.

    Args:
        pattern: the expression.
        argument: the name of the caller's argument that it is from, which errors tell.

    Raises:
        InvalidInputError: it isn't an expression.
    """

    def __init__(self, pattern: str, argument: str) -> None:
        try:
            self._compiled = regex.compile(pattern)
        except regex.error as error:
            raise InvalidInputError(
                f"{argument}: {pattern!r} is not a regular expression ({error})", argument=argument
            ) from error
        self._argument = argument
        self._left = MOST_SECONDS

    def found_in(self, line: str) -> bool:
        """Whether it is found in a line, without the line's end.

        Raises:
            InvalidInputError: the time is over.
        """
        begin = time.monotonic()
        try:
            found = self._compiled.search(
                line.rstrip("\r\n"), timeout=max(self._left, 0.001), concurrent=True
            )
        except TimeoutError as error:
            raise InvalidInputError(
                f"{self._argument}: {self._compiled.pattern!r} searches for more than {MOST_SECONDS:g} s; write it "
                "without repetitions within repetitions",
                argument=self._argument,
            ) from error
        self._left -= time.monotonic() - begin
        return found is not None
