"""Patterns as `.gitignore` has them, which anybody may have written: they mean what git's mean, in bounded time.

Names are literal, or end with something, or match a glob. The first two are looked up; a glob becomes an expression of
RE2, which doesn't backtrack as git's own matcher and Python's `re` do. What all patterns of a walk may cost is bounded
by a `Budget`."""

import os
import time
from collections.abc import Iterable
from dataclasses import field
from typing import Any

import re2
from lamr_base.expressions import expression
from lamr_base.records import dataclass

from lamr_repositories.errors import RepositoryError

MOST_IGNORE_BYTES = 4 << 20
"""Of a file of patterns: about 300,000 of them."""
MOST_GLOBS = 10_000
MOST_SECONDS = 30.0
_LONGEST = 4_096  # bytes of a glob; names are shorter
_SPECIAL = expression(rb"[*?\[\\]")
_MEANS_MORE = expression(r"([\\*?\[\]!# ])")  # what a pattern of git's doesn't take as it is
_BOM = b"\xef\xbb\xbf"


@dataclass(eq=False)
class Budget:
    """What patterns may cost in all."""

    globs: int = MOST_GLOBS  # how many more may be made ready
    seconds: float = MOST_SECONDS  # how much longer they may be matched

    def check(self) -> None:
        """Say that there is too much work."""
        if self.globs < 0 or self.seconds < 0:
            raise RepositoryError(
                f"the ignore files have more than {MOST_GLOBS:,} patterns with wildcards, or take longer than "
                f"{MOST_SECONDS:.0f} s to match; shorten them, or give a list of files"
            )


@dataclass(frozen=True, slots=True)
class _Rule:
    number: int
    excludes: bool
    folders_only: bool


@dataclass(eq=False)
class _Table:
    """Rules by what they are about: the last part of a path, or all of it."""

    literal: dict[bytes, list[_Rule]] = field(default_factory=dict)
    ending: dict[bytes, list[_Rule]] = field(default_factory=dict)
    globs: list[tuple[_Rule, Any]] = field(default_factory=list)
    lengths: tuple[int, ...] = ()

    def last(self, text: bytes, is_folder: bool, best: _Rule | None) -> _Rule | None:
        """Return the last rule that matches, if it comes after the best so far."""
        found = [self.literal.get(text, ())]
        found += [
            self.ending.get(text[len(text) - length :], ()) for length in self.lengths if length <= len(text)
        ]
        for rules in found:
            for rule in reversed(rules):
                if is_folder or not rule.folders_only:
                    best = rule if best is None or rule.number > best.number else best
                    break
        for rule, glob in reversed(self.globs):
            if best is not None and rule.number < best.number:
                break
            if (is_folder or not rule.folders_only) and glob.fullmatch(text):
                best = rule
                break
        return best


class Patterns:
    """Patterns of one file, or of a caller. The last one that matches a name decides."""

    def __init__(self, lines: Iterable[bytes], budget: Budget) -> None:
        """Make patterns ready; those that can match nothing are passed over, as git does. Raises `RepositoryError`:
        the budget is used up."""
        self._names, self._paths, self._budget = _Table(), _Table(), budget
        self._folders: dict[bytes, bool] = {}
        self._lines, self._decided = list(lines), set[int]()
        self.broken: list[bytes] = []
        for number, line in enumerate(self._lines):
            text = _without_spaces(line)
            if text and not text.startswith(b"#") and not self._add(number, text):
                self.broken.append(line)
        for table in (self._names, self._paths):
            table.lengths = tuple(sorted({len(each) for each in table.ending}))

    def verdict(self, path: bytes, is_folder: bool) -> bool | None:
        """Return whether the patterns exclude a path by itself; None where they say nothing of it."""
        begin = time.perf_counter()
        rule = self._names.last(path.rpartition(b"/")[2], is_folder, None)
        rule = self._paths.last(path, is_folder, rule)
        self._budget.seconds -= time.perf_counter() - begin
        if self._budget.seconds < 0:
            self._budget.check()
        if rule is None:
            return None
        self._decided.add(rule.number)
        return rule.excludes

    def idle(self) -> list[bytes]:
        """Return the patterns that have decided nothing so far."""
        return [line for number, line in enumerate(self._lines) if number not in self._decided]

    def covers(self, path: str) -> bool:
        """Return whether the patterns match a file, or a folder that it is in."""
        if not any(self._lines):
            return False
        data = path.encode("utf-8", "replace")
        folder = data.rpartition(b"/")[0]
        return (folder != b"" and self._covers_folder(folder)) or self.verdict(data, is_folder=False) is True

    def _covers_folder(self, path: bytes) -> bool:
        known = self._folders.get(path)
        if known is None:
            above = path.rpartition(b"/")[0]
            known = (above != b"" and self._covers_folder(above)) or self.verdict(
                path, is_folder=True
            ) is True
            self._folders[path] = known
        return known

    def _add(self, number: int, text: bytes) -> bool:
        """Take a pattern in, and return whether it can match anything."""
        excludes = not text.startswith(b"!")
        text = text if excludes else text[1:]
        folders_only = text.endswith(b"/")
        text = text[:-1] if folders_only else text
        rule = _Rule(number, excludes, folders_only)
        by_path = b"/" in text
        table = self._paths if by_path else self._names
        text = text.removeprefix(b"/") if by_path else text
        if not text or len(text) > _LONGEST:
            return False
        if not _SPECIAL.search(text):
            table.literal.setdefault(text, []).append(rule)
        elif not by_path and text.startswith(b"*") and not _SPECIAL.search(text[1:]):
            table.ending.setdefault(text[1:], []).append(rule)
        else:
            self._budget.globs -= 1
            self._budget.check()
            glob = _compiled(text, by_path)
            if glob is None:
                return False
            table.globs.append((rule, glob))
        return True


def lines_of(data: bytes) -> list[bytes]:
    """Return the lines of a file of patterns, as git takes them apart."""
    lines = data.removeprefix(_BOM).split(b"\n")
    return [line[:-1] if line.endswith(b"\r") else line for line in lines]


def literal(name: str) -> str:
    """Return the pattern that matches a name as it stands."""
    return _MEANS_MORE.sub(r"\\\1", name)


def refuse_broken(lines: Iterable[bytes]) -> None:
    """See that a caller's patterns are some."""
    for line in Patterns(lines, Budget()).broken:
        raise RepositoryError(f"not a pattern as .gitignore has them: {os.fsdecode(line)!r}")


def _without_spaces(line: bytes) -> bytes:
    """Return a line without the spaces at its end, except where a backslash keeps one."""
    bare = line.rstrip(b" ")
    backslashes = len(bare) - len(bare.rstrip(b"\\"))
    return bare + b" " if backslashes % 2 and len(line) > len(bare) else bare


def _compiled(glob: bytes, by_path: bool) -> Any:  # RE2 has no types
    """Return the expression of a glob, which `fullmatch`es bytes; None for one that can match nothing, or is too large.

    In one about paths `*` and `?` don't match a slash and `**` stands for folders."""
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
    """Return a glob as an expression of RE2, as git's `wildmatch` reads it; None where it can match nothing.

    git takes the letters off that stand before all wildcards, so that `**` after them stands at the
    beginning."""
    special = _SPECIAL.search(glob)
    parts, place, begin = [], 0, special.start() if special else 0
    one, any_ = (b"[^/]", b"[^/]*") if by_path else (b".", b".*")
    while place < len(glob):
        sign = glob[place : place + 1]
        if sign == b"*":
            stars = len(glob) - place - len(glob[place:].lstrip(b"*"))
            after = glob[place + stars :]
            bounded = place == begin or glob[place - 1 : place] == b"/"
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


_CLASSES = frozenset(b"alnum alpha blank cntrl digit graph lower print punct space upper xdigit".split())
"""The names in `[:name:]` within brackets, which stand for signs of ASCII."""


def _bracket(glob: bytes, place: int) -> tuple[set[int], int] | None:
    """Read what stands in brackets.

    Returns:
        the bytes that match, and the place behind the bracket; None where it doesn't end, or names no
        class."""
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
                name = glob[place + 2 : end - 1]
                if name not in _CLASSES:
                    return None
                signs |= set(b"".join(re2.findall(b"[[:" + name + b":]]", bytes(range(128)))))
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
