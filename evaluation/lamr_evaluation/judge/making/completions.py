"""Holes inside functions, LCC's form: what stands above is given, and the true next line is known.

A hole is made only where the next line names something that the lines just above don't, but that the code before them
does: so the code can help, and how often it does is what is measured.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from lamr_postprocess import language_named
from lamr_postprocess.definitions import definition_spans

from lamr_evaluation.judge.items import COMPLETION, Item
from lamr_evaluation.judge.making.sources import ProjectFile
from lamr_evaluation.records import bare_lines

_NAME = re.compile(r"[A-Za-z_]\w{3,}")
_LEAST, _MOST = 12, 120  # characters of a line that is asked for
_STATEMENT = re.compile(r"^(?!#|//|/\*|\*|--|;|@|\"\"\"|''').*(?:\w\(|\s=\s|\w\[).*(?<!,)$")
"""Lines that do something: neither comments nor prose, and none of a list of arguments."""
_QUOTES = re.compile(r"\"\"\"|'''")
TAIL_LINES = 8
"""Lines above a hole that every reader sees, and by which pruners know what is looked for."""
_BODY = 3  # rows of a function that stand above the hole


def completions_of(source: ProjectFile) -> Iterator[Item]:
    """Yield a hole for each function in the second half of a file that has one."""
    lines = bare_lines(source.text)
    opening = language_named(source.language).comment.opening
    rows_of: dict[str, list[int]] = defaultdict(list)
    for row, line in enumerate(lines):
        for name in set(_NAME.findall(line)):
            rows_of[name].append(row)
    for each in definition_spans(source.text, language_named(source.language)):
        if not each.is_function or each.head < len(lines) // 2:
            continue
        in_text = 0
        for row in range(each.head + 1, each.last + 1):
            in_text ^= len(_QUOTES.findall(lines[row - 1])) % 2
            item = None if in_text or row < each.head + _BODY else _hole(source, lines, row, opening, rows_of)
            if item is not None:
                yield item
                break


def _hole(
    source: ProjectFile, lines: list[str], row: int, opening: str, rows_of: Mapping[str, Sequence[int]]
) -> Item | None:
    """Return the item whose answer is a row; None where the row asks for nothing that only the code knows."""
    line = lines[row]
    plain = line.strip()
    if not _LEAST <= len(plain) <= _MOST or plain.startswith(opening) or not _STATEMENT.search(plain):
        return None
    start = max(row - TAIL_LINES, 0)
    code, tail = lines[:start], lines[start:row]
    if not tail or not "".join(tail).strip():
        return None
    near = set(_NAME.findall("\n".join(tail)))
    wanted = set(_NAME.findall(line)) - near
    gold = tuple(sorted({place + 1 for name in wanted for place in rows_of[name] if place < start}))
    if not gold:
        return None
    return Item(
        COMPLETION,
        "\n".join(tail),
        "\n".join(code) + "\n",
        line,
        gold=gold,
        path=source.path,
        project=source.project,
        language=source.language,
        made="next line in a function",
    )
