"""Searches lines for regular expressions of strangers, in time and memory that no expression can blow up.

The engine is RE2, whose time is linear in the text; what it can't do so, it refuses. Expressions are Python's: RE2's
own classes (`\\d`, `\\w`, `\\s`) hold ASCII alone, and some of Python's signs have other names there."""

from __future__ import annotations

import re
import time
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import groupby, islice
from typing import Any

import numpy as np
from lamr_base.errors import InvalidInputError
from lamr_base.expressions import expression
from lamr_base.records import dataclass

_TOKEN = expression(
    r"""(?P<escape>\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.))
      | (?P<open>\[\^?\]?)
      | (?P<comment>\(\?\#[^)]*\))
      | (?P<flags>\(\?[a-zA-Z]*(?:-[a-zA-Z]+)?[:)])
      | (?P<most>\{,\d+\})
      | (?P<other>.)""",
    re.DOTALL | re.VERBOSE,
)
_IN_CLASS = expression(
    r"(?P<escape>\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.))|(?P<other>\[:\^?[a-z]+:\]|[^\]])|(?P<close>\])",
    re.DOTALL,
)
_SPACE = r"\t-\r\x{1c}-\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}"
_NO_SPACE = (
    r"\x{00}-\x{08}\x{0e}-\x{1b}\x{21}-\x{84}\x{86}-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027}"
    r"\x{202a}-\x{202e}\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{10ffff}"
)
# What stands in a class for each of Python's, in texts of ASCII and in others, where letters take a program a hundred
# times as large.
_ASCII = {
    "d": "0-9",
    "D": r"\x{00}-/:-\x{10ffff}",
    "w": "0-9A-Za-z_",
    "W": r"\x{00}-/:-@\[-\^\x{60}\{-\x{10ffff}",
    "s": _SPACE,
    "S": _NO_SPACE,
}
_UNICODE = {**_ASCII, "d": r"\p{Nd}", "D": r"\P{Nd}", "w": r"\p{L}\p{N}_"}
_ANCHORS = {"A": "^", "Z": "$", "z": "$"}
_RE2_ONLY = ("C", "Q", "E")
_ALL_I = "iI\u0130\u0131"  # one letter to Python where case is ignored; RE2 folds the first two alone


class ExpressionError(InvalidInputError):
    """An expression isn't one of Python's."""


def for_re2(pattern: str, *, ascii_only: bool) -> str:
    """Return an expression that RE2 finds in lines in which `re` finds the given one.

    `^`, `$`, `\\A` and `\\Z` are the ends of a line; `\\b` and `\\B` know the letters of ASCII alone. What RE2 can't
    express (look-around, back references) stays as it is, and is for RE2 to refuse.

    Args:
        pattern: the expression in Python's syntax.
        ascii_only: whether the lines have nothing but ASCII, which makes for a much smaller program.

    Raises:
        ExpressionError: an escape means something to RE2 alone."""
    classes = _ASCII if ascii_only else _UNICODE
    written, place = ["(?m)"], 0
    folds = [False]  # whether case is ignored, in each group that is open
    while match := _TOKEN.match(pattern, place):
        place, token, kind = match.end(), match[0], match.lastgroup
        if kind == "open":
            inside, place = _inside(pattern, place, classes)
            token += _with_all_i(token, inside) if folds[-1] else inside
        elif folds[-1] and _is_i(token):
            token = f"[{_ALL_I}]"
        elif kind == "escape":
            token = _escaped(token, classes)
        elif kind == "most":
            token = f"{{0{token[1:]}"
        elif kind == "flags":
            on, _, off = token.partition("-")
            folds[len(folds) - token.endswith(")") :] = ["i" in on or (folds[-1] and "i" not in off)]
            token = _flags(token)
        elif kind == "comment":
            token = ""
        elif token == "(":
            folds.append(folds[-1])
        elif token == ")" and len(folds) > 1:
            folds.pop()
        written.append(token)
    return "".join(written)


def _is_i(token: str) -> bool:
    """Whether a token is one of these letters or its number."""
    return token in tuple(_ALL_I) or (
        token[:2] in ("\\x", "\\u", "\\U") and chr(int(token[2:], 16)) in _ALL_I
    )


def _with_all_i(opening: str, inside: str) -> str:
    """The inside of a class that ignores case, with all of these letters if it has one."""
    import re2  # noqa: PLC0415

    with suppress(re2.error):  # which the whole expression ends in, too
        if re2.search(f"(?i){opening.replace('^', '')}{inside}", _ALL_I):
            return f"{inside[:-1]}{_ALL_I}]"
    return inside


def _inside(pattern: str, place: int, classes: dict[str, str]) -> tuple[str, int]:
    """The inside of a class with its end, and the place behind it."""
    written = []
    while match := _IN_CLASS.match(pattern, place):
        place, token = match.end(), match[0]
        if match.lastgroup == "escape":
            letter = token[1]
            if letter == "W" and classes is _UNICODE:
                token = _no_words()
            elif letter == "b":
                token = r"\x{08}"
            else:
                token = classes.get(letter) or _sign(token)
        written.append(token)
        if match.lastgroup == "close":
            break
    return "".join(written), place


def _escaped(token: str, classes: dict[str, str]) -> str:
    letter = token[1]
    if letter in _ANCHORS:
        return _ANCHORS[letter]
    if letter.isupper() and letter.lower() in classes:
        return f"[^{classes[letter.lower()]}]"
    return f"[{classes[letter]}]" if letter in classes else _sign(token)


def _sign(token: str) -> str:
    """One sign's escape: by its number, or of a character that needs none."""
    letter = token[1]
    if letter in "uU" and len(token) > 2:
        return f"\\x{{{token[2:]}}}"
    if letter in _RE2_ONLY:
        raise ExpressionError(f"bad escape: {token}")
    return token if letter.isascii() else letter


def _flags(token: str) -> str:
    """A group with flags, without those that are so anyway: `m` and `u`."""
    on, _, off = token[2:-1].translate({ord("m"): None, ord("u"): None}).partition("-")
    flags = f"{on}-{off}" if off else on
    return "" if token.endswith(")") and not flags else f"(?{flags}{token[-1]}"


@lru_cache(1)
def _no_words() -> str:
    """Every character that `\\w` doesn't take, as the inside of a class."""
    kinds = ((point, unicodedata.category(chr(point))) for point in range(0x110000))
    runs = groupby(kinds, lambda each: each[1][0] in "LN" or each[0] == ord("_"))
    written = []
    for is_word, run in runs:
        if not is_word:
            points = [point for point, _ in run]
            written.append(f"\\x{{{points[0]:x}}}-\\x{{{points[-1]:x}}}")
    return "".join(written)


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
    (expression(sign), remedy)
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
        InvalidInputError: it isn't an expression, is too long, or has what takes more than linear time or much
            memory."""

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
        """Yield the places of the lines that it is found in, in order; lines may have their ends. Raises
        `InvalidInputError`: the time is over, or a line is too long for the expression."""
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
    """Refuse what no call may search for. Raises `InvalidInputError`: there are too many expressions, or one can't be
    searched for."""
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
