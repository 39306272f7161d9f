"""The definitions of a file, by row: what a named cut says that it hides.

A language's `definitions` query captures the names of its functions, classes and types.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import takewhile

import numpy as np
from lamr_base.errors import visible

from lamr_postprocess.byte_counts import approximate_tokens
from lamr_postprocess.captures import bounded_captures
from lamr_postprocess.lines import IntArray
from lamr_postprocess.syntax import ParsedText

MOST_TOKENS = 12
"""What the names of one cut may add to its marker."""
MOST_CHARACTERS = 160
"""The same, whatever a tokenizer makes of the names: a file's author chooses them, and the marker is lamr's."""
_LOOKED_AT = 64
"""Definitions of one cut that are considered, the least indented first: a dozen tokens hold fewer."""
LONGEST_NAME = 40
"""Characters of a name in a marker; of a longer one its beginning stands there."""
_LONGEST_READ = 1_000  # bytes of a name that is looked at at all
_WORD = re.compile(r"\w*|(?!.*lamr)[^\s,;\\\"'`()\[\]{}]*", re.IGNORECASE)
_SPEAKING = re.compile(r"(?:[\\\"`()\[\]{}]|lamr)+", re.IGNORECASE)
_INTRODUCTION, _SEPARATOR, _MORE = ": ", ", ", " \u2026"


@dataclass(frozen=True, eq=False)
class Definitions:
    """The n definitions of a file, in document order.

    Attributes:
        rows: int [n], the row of each name, 0-based and rising.
        names: the names; empty where none can be shown.
        depths: int [n], the indentation of each name's row; a class stands less deep than its methods.
    """

    rows: IntArray
    names: tuple[str, ...]
    depths: IntArray

    def label(self, first: int, last: int) -> str:
        """What a marker says about the definitions from row `first` to row `last`; empty where none begins there.

        At most `MOST_TOKENS` tokens and `MOST_CHARACTERS` characters: outer definitions go before inner ones, and those
        that are named stand in document order.
        """
        start, stop = np.searchsorted(self.rows, (first, last + 1)).tolist()
        order = (start + np.argsort(self.depths[start:stop], kind="stable")[:_LOOKED_AT]).tolist()
        candidates = dict.fromkeys(
            self.names[at] for at in order if self.names[at]
        )  # overloads have one name
        room = MOST_TOKENS - approximate_tokens(_MORE)
        letters = MOST_CHARACTERS - len(_INTRODUCTION + _MORE)
        chosen = set()
        for name in candidates:
            cost, length = approximate_tokens(_SEPARATOR + name), len(_SEPARATOR + name)
            if cost <= room and length <= letters:
                chosen.add(name)
                room, letters = room - cost, letters - length
        if not chosen:
            return ""
        named = _SEPARATOR.join(dict.fromkeys(name for name in self.names[start:stop] if name in chosen))
        whole = len(chosen) == len(candidates) and stop - start <= _LOOKED_AT
        return _INTRODUCTION + named + ("" if whole else _MORE)


def definitions_of(source: ParsedText, indents: IntArray) -> Definitions | None:
    """The definitions of a parsed file; None where the language's table has no query for them.

    Args:
        source: the parsed text.
        indents: int [L], characters of leading white space of each row.
    """
    queried = [(each, each.grammar.definitions) for each in source.all]
    if all(query is None for _, query in queried):
        return None
    nodes = [
        node
        for each, query in queried
        if query is not None
        for _, captures in bounded_captures(each.tree.root_node, query)
        for node in captures.get("name", [])
    ]
    spans = sorted({(node.start_byte, node.end_byte, node.start_point[0]) for node in nodes})
    names = [
        (row, source.data[start:stop].decode("utf-8", "replace"))
        for start, stop, row in spans
        if stop - start <= _LONGEST_READ
    ]
    rows = np.array([row for row, _ in names], dtype=np.int64)
    return Definitions(rows, tuple(_shown(name) for _, name in names), indents[rows])


def _shown(name: str) -> str:
    """A name as a marker says it: in quotes where it is words, so that nothing in them looks like lamr's own.

    It ends before what could end a comment or isn't printable: `operator<` is `operator\u2026`.
    """
    shown = "".join(takewhile(lambda each: each.isprintable() and each not in "*/-<>", name))[:LONGEST_NAME]
    shown = visible(shown if shown in ("", name) else shown[: LONGEST_NAME - 1].rstrip() + "\u2026")
    return shown if _WORD.fullmatch(shown) else '"' + _SPEAKING.sub("\u2026", shown) + '"'
