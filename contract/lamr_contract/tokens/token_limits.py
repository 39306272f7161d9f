"""`TokenLimits`: a count of tokens that isn't below that of the tokenizers of today's large models.

Who has a budget fills another model's window, whose tokenizer isn't at hand. So a text's count is made of what its
words, marks, digits and letters cost at most. The weights are the upper envelope of the tokenizers of GPT (o200k),
Llama 3, Gemma 3, Qwen 3 and DeepSeek, fitted on excerpts of code in 40 languages and of texts in 90. docs/lab/tokens.md
has the figures. The module knows characters and units; it knows no budget.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from lamr_postprocess.lines import code_points
from numpy.typing import NDArray

from lamr_contract.tokens.token_counts import TokenCounts

_SCALE = 1000  # weights are thousandths of tokens, so that sums are exact

# What a unit costs (`token_counts`: a word, a run of marks, a run of white space), beside its characters.
_OWN, _WORD, _MARKS, _LINE_END, _SPACES = 0.65, 0.385, 0.875, 2.67, 0.43
"""For each token that the pruning model has for a word's part in ASCII, and for each word, run of marks, line end and
run of spaces."""
_LONG, _SPACE = 40, 0.02
"""Letters of a word from which each costs as one of the model's tokens, and what a character of white space costs."""
_DIGIT, _UNDERSCORE, _CAPITAL, _MARK, _SAME_MARK, _TAB = 1.47, 1.72, 0.18, 0.82, 0.03, 0.03
"""For a character. A mark costs less after the same one, and nothing as the first of its run."""

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

_BEYOND = re.compile(r"[^\x00-\x7f]+")

_LETTER, _OTHER, _WHITE, _END = range(4)  # how a unit begins
_KINDS = np.full(129, _LETTER, np.uint8)
_KINDS[[ord(mark) for mark in string.punctuation if mark != "_"]] = _OTHER
_KINDS[[ord(space) for space in " \t"]] = _WHITE
_KINDS[[ord(end) for end in "\r\n"]] = _END
_UNITS = np.array([round(_SCALE * cost) for cost in (_WORD, _MARKS, _SPACES, _LINE_END)], np.int64)
_ASCII = np.zeros(128, np.int64)
_ASCII[_KINDS[:128] == _OTHER] = round(_SCALE * _MARK)
_ASCII[[ord(digit) for digit in string.digits]] = round(_SCALE * _DIGIT)
_ASCII[[ord(capital) for capital in string.ascii_uppercase]] = round(_SCALE * _CAPITAL)
_ASCII[ord("_")], _ASCII[ord("\t")] = round(_SCALE * _UNDERSCORE), round(_SCALE * _TAB)
_CONTROL = [point for point in (*range(32), 127) if chr(point) not in " \t\r\n"]
_ASCII[_CONTROL] = _SCALE
_ASCII[ord("\r")] = _SCALE // 2


class TokenLimits:
    """Counts tokens so that no large model's tokenizer has more, but for a few short texts.

    Threads may share one.
    """

    def __init__(self, own: Callable[[list[str]], Iterable[int]]) -> None:
        """Begin with nothing remembered.

        Args:
            own: gives how many of the pruning model's tokens each of several units has.
        """
        self._own = own
        self._counts = TokenCounts(self._thousandths, [])

    def count_tokens(self, text: str) -> int:
        """Return how many tokens a text has at most."""
        return int(self.count_each([text])[0])

    def count_each(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Return how many tokens each of n texts has at most, int64 [n]."""
        counts: NDArray[np.int64] = -(-self._counts.count(texts) // _SCALE)
        return counts

    def line_costs(self, lines: Sequence[str]) -> NDArray[np.float64]:
        """Return how many tokens each of L lines adds to a text at most, float64 [L]."""
        return self._counts.count(lines) / _SCALE

    def _thousandths(self, units: list[str]) -> Iterable[int]:
        """What each unit costs, in thousandths of tokens."""
        text = "".join(units)
        points = code_points(text).astype(np.int64)
        starts = np.concatenate([[0], np.cumsum(list(map(len, units)))[:-1]]).astype(np.int64)
        costs = np.where(points < 128, _ASCII[np.minimum(points, 127)], _cost_beyond(points))
        same = (
            np.flatnonzero((points[1:] == points[:-1]) & (_KINDS[np.minimum(points[1:], 128)] == _OTHER)) + 1
        )
        costs[same] = round(_SCALE * _SAME_MARK)
        kinds = _KINDS[np.minimum(points[starts], 128)]
        costs[starts[kinds == _OTHER]] = 0
        sums = np.add.reduceat(costs, starts) + _UNITS[kinds]
        words = np.flatnonzero(kinds == _LETTER)
        plain = [_BEYOND.sub(" ", units[place]) for place in words.tolist()]
        own = np.fromiter(self._own(plain), np.int64, len(words))
        letters = np.fromiter(map(len, plain), np.int64, len(words))  # a long word is one unknown token
        sums[words] += round(_SCALE * _OWN) * np.where(letters > _LONG, np.maximum(own, letters), own)
        white = np.flatnonzero((kinds == _WHITE) | (kinds == _END))
        sums[white] += round(_SCALE * _SPACE) * np.fromiter(
            (len(units[place]) for place in white), np.int64, len(white)
        )
        sums[[place for place, unit in enumerate(units) if unit == " "]] = 0  # goes with the word after it
        counts: list[int] = sums.tolist()
        return counts


def cost_beyond(text: str) -> float:
    """Return what characters beyond ASCII cost at most, in tokens."""
    return float(_cost_beyond(code_points(text).astype(np.int64)).sum()) / _SCALE


def _cost_beyond(points: NDArray[np.int64]) -> NDArray[np.int64]:
    """What characters cost that lie beyond ASCII."""
    costs: NDArray[np.int64] = _COSTS[np.maximum(np.searchsorted(_STARTS, points, side="right") - 1, 0)]
    return costs
