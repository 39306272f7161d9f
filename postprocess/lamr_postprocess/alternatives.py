"""Texts that hold two versions of some rows: the sides of a merge's conflict, the branches of a preprocessor.

One version is parsed and the rows of the others are blanked. A row of any version needs the rows that tell the versions
apart."""

from collections.abc import Sequence

from lamr_base.expressions import expression
from lamr_base.records import dataclass

_CONFLICT = expression(rb"(?:(<{7})|(\|{7})|(={7})|(>{7}))(?=[ \t\r\n]|$)")
_BEGIN, _MIDDLES, _END = 1, (2, 3), 4
_DIRECTIVE = expression(rb"[ \t]*#[ \t]*(?:(ifn?def|if)|(elif\w*|else)|(endif))\b")

_MOST_ROWS = 60
"""Of a condition that may be what doesn't parse."""


@dataclass(frozen=True)
class Alternatives:
    """Rows of which one version is meant."""

    marks: tuple[int, ...]  # the rows that begin, part and end the versions

    def versions(self) -> list[range]:
        """The rows of each version."""
        return [range(a + 1, b) for a, b in zip(self.marks, self.marks[1:], strict=False)]

    def but(self, version: int) -> set[int]:
        """The rows that are left out where one version is parsed."""
        versions = self.versions()
        del versions[version]
        return {*self.marks, *(row for each in versions for row in each)}


def conflicts_in(rows: Sequence[bytes]) -> list[Alternatives]:
    """The conflicts that a merge left in a text. One that is cut off or holds another is none."""
    found: list[Alternatives] = []
    marks: list[int] = []
    for row, text in enumerate(rows):
        match = _CONFLICT.match(text) if text[:1] in (b"<", b"|", b"=", b">") else None
        if match is None:
            continue
        if match.lastindex == _BEGIN:
            marks = [row]
        elif marks and match.lastindex in _MIDDLES:
            marks.append(row)
        elif marks and match.lastindex == _END:
            if len(marks) > 1:
                found.append(Alternatives((*marks, row)))
            marks = []
    return found


def conditions_in(rows: Sequence[bytes]) -> list[Alternatives]:
    """The preprocessor's conditions around few rows; those around whole parts of a file have their fault inside."""
    found: list[Alternatives] = []
    stack: list[list[int]] = []
    for row, text in enumerate(rows):
        match = _DIRECTIVE.match(text) if b"#" in text else None
        if match is None:
            continue
        if match[1]:
            stack.append([row])
        elif stack:
            stack[-1].append(row)
            if match[3]:
                marks = stack.pop()
                if row - marks[0] <= _MOST_ROWS:
                    found.append(Alternatives(tuple(marks)))
    return found


def branches_in(rows: Sequence[bytes]) -> list[Alternatives]:
    """The preprocessor's conditions of which a branch opens what it doesn't close, or the other way round."""
    return [
        each
        for each in conditions_in(rows)
        if any(_is_open(rows[version.start : version.stop]) for version in each.versions())
    ]


def _is_open(rows: Sequence[bytes]) -> bool:
    """Whether rows have a bracket without its other half."""
    for opening, closing in ((b"{", b"}"), (b"(", b")")):
        depth = 0
        for row in rows:
            depth += row.count(opening) - row.count(closing)
            if depth < 0:
                return True
        if depth:
            return True
    return False
