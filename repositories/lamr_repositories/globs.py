"""Globs as git's `wildmatch` reads them, as expressions of RE2, which takes time in proportion to a name's length."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import re2


def compiled(glob: bytes, by_path: bool) -> Any:  # RE2 has no types
    """Return the expression of a glob, which `fullmatch`es bytes; None for one that can match nothing, or is too large.

    Args:
        glob: what is matched.
        by_path: whether it is about paths, so that `*` and `?` don't match a slash and `**` stands for folders.
    """
    expression = _expression(glob, by_path)
    if expression is None:
        return None
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1  # git compares bytes
    options.dot_nl, options.log_errors, options.never_capture = True, False, True
    try:
        return re2.compile(expression, options)
    except re2.error:
        return None


def _expression(glob: bytes, by_path: bool) -> bytes | None:
    """Return a glob as an expression of RE2, as git's `wildmatch` reads it; None where it can match nothing."""
    parts, place = [], 0
    one, any_ = (b"[^/]", b"[^/]*") if by_path else (b".", b".*")
    while place < len(glob):
        sign = glob[place : place + 1]
        if sign == b"*":
            stars = len(glob) - place - len(glob[place:].lstrip(b"*"))
            after = glob[place + stars :]
            bounded = place == 0 or glob[place - 1 : place] == b"/"
            if by_path and stars > 1 and bounded and after[:1] in (b"", b"/"):
                parts.append(b"(?:.*/)?" if after else b".*")
                place += 1 if after else 0
            else:
                parts.append(any_)
            place += stars
        elif sign == b"?":
            parts.append(one)
            place += 1
        elif sign == b"[":
            found = _bracket(glob, place + 1)
            if found is None:
                return None
            signs, place = found
            signs -= {ord("/")} if by_path else set()
            if not signs:
                return None
            parts.append(b"[" + b"".join(b"\\x%02x" % each for each in sorted(signs)) + b"]")
        else:
            place += sign == b"\\"
            if place == len(glob):
                return None
            parts.append(b"\\x%02x" % glob[place])
            place += 1
    return b"".join(parts)


_CLASSES: dict[str, Callable[[str], bool]] = {
    "alnum": str.isalnum,
    "alpha": str.isalpha,
    "blank": lambda sign: sign in " \t",
    "cntrl": lambda sign: sign < " " or sign == "\x7f",
    "digit": str.isdigit,
    "graph": lambda sign: "!" <= sign <= "~",
    "lower": str.islower,
    "print": lambda sign: " " <= sign <= "~",
    "punct": lambda sign: "!" <= sign <= "~" and not sign.isalnum(),
    "space": lambda sign: sign in " \t\n\v\f\r",
    "upper": str.isupper,
    "xdigit": lambda sign: sign in "0123456789abcdefABCDEF",
}
"""What `[:name:]` in brackets stands for, of ASCII."""


def _bracket(glob: bytes, place: int) -> tuple[set[int], int] | None:
    """Read what stands in brackets.

    Returns:
        the bytes that match, and the place behind the bracket; None where it doesn't end, or names no class.
    """
    negated = glob[place : place + 1] in (b"!", b"^") and place < len(glob)
    place += negated
    first, before = True, 0
    signs: set[int] = set()
    while first or glob[place : place + 1] != b"]":
        first = False
        if place >= len(glob):
            return None
        sign = glob[place]
        if sign == ord("[") and glob[place + 1 : place + 2] == b":":
            end = glob.find(b"]", place + 2)
            if end < 0:
                return None
            if glob[end - 1 : end] == b":" and end - 1 >= place + 2:
                known = _CLASSES.get(glob[place + 2 : end - 1].decode("latin-1"))
                if known is None:
                    return None
                signs |= {each for each in range(128) if known(chr(each))}
                place, before = end + 1, 0
                continue
        ranged = sign == ord("-") and before and glob[place + 1 : place + 2] not in (b"", b"]")
        place += bool(ranged)
        if glob[place] == ord("\\"):
            place += 1
            if place >= len(glob):
                return None
        sign = glob[place]
        signs |= set(range(before, sign + 1)) if ranged else {sign}
        before = 0 if ranged else sign
        place += 1
    return (set(range(1, 256)) - signs if negated else signs), place + 1
