"""Regular expressions of Python's syntax, as RE2 writes them: linear time and bounded memory, whatever the expression.

RE2's own classes (`\\d`, `\\w`, `\\s`) hold ASCII alone, Python's don't; some of Python's signs have other names there.
This module knows how expressions are written; it searches nothing.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from itertools import groupby

from lamr_base.errors import InvalidInputError

_TOKEN = re.compile(
    r"""(?P<escape>\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.))
      | (?P<open>\[\^?\]?)
      | (?P<comment>\(\?\#[^)]*\))
      | (?P<flags>\(\?[a-zA-Z]*(?:-[a-zA-Z]+)?[:)])
      | (?P<most>\{,\d+\})
      | (?P<other>.)""",
    re.DOTALL | re.VERBOSE,
)
_IN_CLASS = re.compile(
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
        ExpressionError: an escape means something to RE2 alone.
    """
    classes = _ASCII if ascii_only else _UNICODE
    written, place = ["(?m)"], 0
    while match := _TOKEN.match(pattern, place):
        place, token, kind = match.end(), match[0], match.lastgroup
        if kind == "open":
            inside, place = _inside(pattern, place, classes)
            token += inside
        elif kind == "escape":
            token = _escaped(token, classes)
        elif kind == "most":
            token = f"{{0{token[1:]}"
        elif kind == "flags":
            token = _flags(token)
        elif kind == "comment":
            token = ""
        written.append(token)
    return "".join(written)


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
