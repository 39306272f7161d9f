"""`TokenTable`: about how many tokens a large model's tokenizer gives a text, without that tokenizer.

Byte-pair tokenizers part a text into words, each with the mark or space before it, numbers, runs of marks, line ends
and white space; then a piece has as many tokens as its vocabulary needs. The tables say what pieces of each kind cost
on average. They are fitted to the real tokenizers (`benchmarks.token_tables`); docs/lab/tokens.md says how well. One
more, `ANY`, costs more than each of them, piece by piece. Costs add up: a text costs as much as its lines together. The
module knows pieces; it knows no budget."""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import numpy as np
from lamr_base.expressions import expression
from lamr_postprocess.lines import code_points
from numpy.typing import NDArray

TABLES = ("o200k", "cl100k", "claude", "qwen", "llama")
"""The tokenizers that there are tables of, as they are named in options."""
ANY = "any"
"""Stands for a tokenizer: a count that isn't below any table's."""

_TABLES_FILE = Path(__file__).parent / "data" / "token-tables.json"
_SCALE = 1000  # costs are thousandths of tokens, so that sums are exact
_MARKS = r"!-/:-@\[-`{-~"
_PIECE = expression(
    rf"[ \t{_MARKS}]?(?:[A-Z]+(?![a-z])|[A-Z]?[a-z]+)|[0-9]{{1,3}}| ?[{_MARKS}]+[\r\n]*"
    r"|[ \t]*[\r\n]+|[ \t]+(?=[ \t][^ \t])|[ \t]+|[^\x00-\x7f]+|.",
    re.DOTALL,
)
_WORD = expression(rf"([ \t{_MARKS}])?([A-Za-z]+)")
_RUN = expression(rf"[{_MARKS}]+")
_LINE = expression(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
_BLANK, _WHITE = "\n\n", " \t\r\n"
_LONG = 20
"""Letters of a word, and characters of a run of white space, beyond which each costs `_BEYOND`."""
_BEYOND = {"letters": 0.48, "white": 0.015}
"""What the real tokenizers give letters of chance and columns of spaces: files hold too few such for a fit."""
_MARGIN = 1.15
"""By which `ANY` costs more than the dearest table, for tokenizers that there is no table of."""
_AT_MOST = {"letters": 0.65, "white": 0.02, "beyond": 1, "marks more": 0.82}
"""What these cost at most, by five tokenizers: GPT's (o200k), Llama 3.1's, Gemma 3's, Qwen 3's and DeepSeek V4's."""
_MOST, _LONGEST = 1 << 14, 512  # lines that are remembered, and the characters of one

SCRIPTS = (
    *(
        (0x80, 2.4),
        (0xC0, 1.5),
        (0x2B0, 3),
        (0x370, 1.1),
        (0x400, 0.8),
        (0x530, 2.1),
        (0x590, 1.3),
        (0x600, 0.8),
    ),
    *(
        (0x700, 3),
        (0x900, 1.3),
        (0x980, 1.6),
        (0xA00, 2.1),
        (0xA80, 3),
        (0xB80, 1.7),
        (0xC00, 2.05),
        (0xD00, 2),
    ),
    *(
        (0xD80, 3),
        (0xE00, 0.8),
        (0xE80, 3),
        (0x1000, 2.2),
        (0x1100, 3),
        (0x1780, 1.9),
        (0x1800, 3),
        (0x1E00, 2.2),
    ),
    *(
        (0x1F00, 3),
        (0x2000, 1.7),
        (0x2070, 3),
        (0x2500, 1.1),
        (0x2580, 2.5),
        (0x2700, 2),
        (0x27C0, 3),
        (0x3000, 1.25),
    ),
    *(
        (0x3040, 1.05),
        (0x3100, 3),
        (0x4E00, 1.35),
        (0xA000, 3),
        (0xAC00, 1),
        (0xD7B0, 3),
        (0xFF00, 1.3),
        (0xFFF0, 3),
    ),
    *((0x10000, 4), (0x1F000, 3), (0x20000, 4)),
)
"""Beyond ASCII, where a block of Unicode begins and what each of its characters costs; as many as its bytes in UTF-8
where the large models' tokenizers know too little of a script to be measured."""
_STARTS = np.array([start for start, _ in SCRIPTS])
_COSTS = np.array([round(_SCALE * cost) for _, cost in SCRIPTS], np.int64)

Features = list[tuple[str, float]]


class TokenTable:
    """Counts tokens by one table. Threads may share one."""

    def __init__(self, name: str, parts: Callable[[list[str]], Iterable[int]]) -> None:
        """Begin with nothing remembered. `name`: one of `TABLES`, or `ANY`. `parts`: gives how many of the pruning
        model's tokens each of several words has, which tells rare words."""
        self.name, self._parts = name, parts
        self._weights: dict[str, float] = _weights(name)
        self._pieces: dict[str, int] = {}
        self._lines: dict[str, int] = {}

    def count_tokens(self, text: str) -> int:
        """Return about how many tokens a text has."""
        return int(self.count_each([text])[0])

    def count_each(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Return about how many tokens each of n texts has, int64 [n]."""
        of_each = list(map(_LINE.findall, texts))
        costs = self._costs([line for lines in of_each for line in lines])
        sums = np.array([sum(map(costs.__getitem__, lines)) for lines in of_each], np.int64)
        counts: NDArray[np.int64] = -(-sums // _SCALE)
        return counts

    def line_costs(self, lines: Sequence[str]) -> NDArray[np.float64]:
        """Return how many tokens each of L lines adds to a text, float64 [L]."""
        costs = self._costs(lines)
        return np.fromiter(map(costs.__getitem__, lines), np.float64, len(lines)) / _SCALE

    def _costs(self, lines: Sequence[str]) -> dict[str, int]:
        """What lines cost; the answer holds at least these."""
        known = self._lines
        new = set(lines).difference(known)
        if not new:
            return known
        of_each = {line: _of_line(line) for line in new}
        pieces = self._known_pieces(set().union(*of_each.values()))
        found = {line: sum(map(pieces.__getitem__, each)) for line, each in of_each.items()}
        costs = known | found
        short = {line: cost for line, cost in found.items() if len(line) <= _LONGEST}
        self._lines = short if len(known) + len(short) > _MOST else known | short
        return costs

    def _known_pieces(self, pieces: set[str]) -> dict[str, int]:
        """What pieces cost; the answer holds at least these."""
        new = sorted(pieces.difference(self._pieces))
        of_each = features(new, self._parts)
        sums = (sum(self._weights[name] * value for name, value in each) for each in of_each)
        found = {piece: max(0, round(_SCALE * cost)) for piece, cost in zip(new, sums, strict=True)}
        costs = self._pieces | found
        self._pieces = {} if len(costs) > _MOST else costs
        return costs


def pieces_of(text: str) -> list[str]:
    """The pieces that a text is parted into."""
    return [piece for line in _LINE.findall(text) for piece in _of_line(line)]


def _of_line(line: str) -> list[str]:
    """The pieces of a line; `_BLANK` for one of white space alone, whose end goes with the line end before it."""
    is_blank = len(line) <= _LONG and not line.strip(_WHITE)
    return [_BLANK] if is_blank else _PIECE.findall(line)


def features(pieces: Sequence[str], parts: Callable[[list[str]], Iterable[int]]) -> list[Features]:
    """What is counted of each piece: names of a table's rows, and how often each stands there."""
    words = [_WORD.fullmatch(piece) for piece in pieces]
    bare = list({word[2]: None for word in words if word})
    counts = dict(zip(bare, parts(bare), strict=True))
    return [
        _of_word(word[1], word[2], counts[word[2]]) if word else _of_others(piece)
        for piece, word in zip(pieces, words, strict=True)
    ]


def _of_word(before: str | None, word: str, parts: int) -> Features:
    case = "upper" if word.isupper() and len(word) > 1 else "capital" if word[0].isupper() else "lower"
    place = "none" if before is None else "space" if before in " \t" else "mark"
    found: Features = [(f"{case} {place}", 1)]
    if parts > 1:
        found += [(f"{case} parts", min(parts, 6) - 1), (f"{case} parted", 1)]
    if len(word) > _LONG:
        found.append(("letters", len(word) - _LONG))
    if len(word) > 6:
        found.append((f"{case} long", (min(len(word), _LONG) - 6) / 4))
    elif len(word) <= 2:
        found.append((f"{case} short", 1))
    if before == "_":
        found.append(("underscore", 1))
    return found


def _of_others(piece: str) -> Features:
    inked = piece.strip()
    if not piece.isascii():
        places = np.searchsorted(_STARTS, code_points(piece), side="right") - 1
        return [("beyond", float(_COSTS[places].sum()) / _SCALE)]
    if inked.isdigit():
        return [(f"digits {len(piece)}", 1)]
    if _RUN.fullmatch(inked):
        return _of_marks(piece, inked)
    if piece.strip(_WHITE):
        return [("control", len(piece))]
    if "\n" in piece or "\r" in piece:
        return [("blank line" if piece == _BLANK else "line end", 1)]
    more = max(0, len(piece) - _LONG)
    return [("spaces", 1), ("many spaces", len(piece) > 16), ("tabs", piece.count("\t") > 1), ("white", more)]


def _of_marks(piece: str, marks: str) -> Features:
    same = sum(mark == following for mark, following in pairwise(marks))
    others = len(marks) - same
    place = "space" if piece[0] == " " else "none"
    end = " end" if piece[-1] in "\r\n" else ""
    return [
        (f"marks {place}{end}", 1),
        ("marks 2", others > 1),
        ("marks 3", others > 2),
        ("marks more", max(others - 3, 0)),
        ("same", min(same, 16)),
        ("many same", max(0, same - 16)),
    ]


def _weights(name: str) -> dict[str, float]:
    """What a table's rows cost; of `ANY`, as much as in the dearest table, and more."""
    if name != ANY:
        return _tables()[name] | _BEYOND
    tables = [_tables()[each] for each in TABLES]
    return {row: _MARGIN * max(0, *(table[row] for table in tables)) for row in tables[0]} | _AT_MOST


@lru_cache(maxsize=1)
def _tables() -> dict[str, dict[str, float]]:
    """What each table's rows cost, in tokens of its tokenizer; `python -m benchmarks.token_tables --fit` writes it."""
    tables: dict[str, dict[str, float]] = json.loads(_TABLES_FILE.read_bytes())
    return tables
