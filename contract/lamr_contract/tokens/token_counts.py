"""`TokenCounts`: how many tokens texts have, without tokenizing them again and again.

Code repeats its words. A tokenizer that treats words, runs of marks and white space apart gives a text as many tokens
as these have one by one, so each distinct one is asked for once and remembered, and so is each line. `TokenCounts.of`
proves from the tokenizer's parts that the sum is exact, and is None where it can't. The module knows tokenizers'
parts; it knows no model.
"""

from __future__ import annotations

import json
import re
import string
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from lamr_postprocess.lines import code_points
from numpy.typing import NDArray
from tokenizers import AddedToken, Tokenizer
from tokenizers.models import WordPiece

_MOST_UNITS, _MOST_LINES = 1 << 17, 1 << 16  # remembered at most; then all are forgotten
_LONGEST = 512  # characters of a word or line that is remembered
_LINES_AT_ONCE = 1 << 12  # whose words are held at a time

# Kinds of characters. Control characters and all beyond ASCII count as letters, because a normalizer may drop them and
# so join what stands on both sides. Of such a text only white space and ASCII's marks are sure to part anything.
_NEWLINE = 10
_WHITE, _MARK, _LETTER = range(3)
_KINDS = np.full(129, _LETTER, np.uint8)
_KINDS[[ord(mark) for mark in string.punctuation if mark != "_"]] = _MARK
_KINDS[[ord(space) for space in " \t\r\n"]] = _WHITE
_LINE_END = re.compile(r"(\r?\n[ \t\r\n]*)")
_LINE_TOKEN = re.compile(r"\r?\n[ \t\r\n]*|[^ \t\r\n]+")

# Expressions that a normalizer may replace: they can only match where letters and digits are, and what is beyond those
# is to them as the end of the text. What they match may go or become a space, because a space parts what is parted
# anyway; it may become letters if the expression without what it looks around for is letters.
_CLASS = r"[A-Za-z0-9]|\[[A-Za-z0-9-]+\]"
_LOCAL = re.compile(rf"(?:{_CLASS}|\(\?<?[=!]|\(\?:|\(|\)|\||\{{\d+\}})+")
_LOOKAROUND = re.compile(r"\(\?<?[=!][^()]*\)")
_LETTERS = re.compile(r"[A-Za-z0-9]+")


class TokenCounts:
    """Counts tokens by words and lines. Safe to share between threads."""

    def __init__(self, ask: Callable[[list[str]], Iterable[int]], tokens: Iterable[str]) -> None:
        """Begin with nothing remembered.

        Args:
            ask: gives the number of tokens of each of several short texts.
            tokens: texts that are one token wherever they stand. What they hold together isn't apart.
        """
        parts = [(token, np.flatnonzero(_changes(code_points(token))) + 1) for token in tokens]
        self._ask, self._joined = ask, [(token, inner) for token, inner in parts if len(inner)]
        self._units: dict[str, int] = {}
        self._lines: dict[str, int] = {}
        self._characters = np.fromiter(ask([chr(point) for point in range(128)]), np.int64, 128)
        self._characters[_NEWLINE] = 0  # ends of lines are counted apart

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> TokenCounts | None:
        """Return counts for a tokenizer, or None where a text's tokens aren't sure to be those of its parts.

        The tokenizer must be a WordPiece over words and single marks, with a normalizer that looks at no more than
        letters and digits side by side. Special tokens must count as text (`encode_special_tokens`).
        """
        added = tokenizer.get_added_tokens_decoder().values()
        local = (
            isinstance(tokenizer.model, WordPiece)
            and _state(tokenizer.pre_tokenizer) == {"type": "BertPreTokenizer"}
            and _is_local(_state(tokenizer.normalizer))
            and all(map(_is_plain, added))
        )
        if not local:
            return None

        def ask(texts: list[str]) -> Iterable[int]:
            return map(len, tokenizer.encode_batch_fast(texts, add_special_tokens=False))

        return cls(ask, [token.content for token in added])

    def count(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Return how many tokens each of n texts has, int64 [n], where each goes through the tokenizer as a whole."""
        # Lines, with line ends and the white space below them in between.
        parts_of = [_LINE_END.split(text) for text in texts]
        lines = [line for parts in parts_of for line in parts[::2]]
        gaps = [gap for parts in parts_of for gap in parts[1::2]]
        of_lines = np.array(self._by_line(lines), np.int64)
        of_gaps = np.array(self._by_unit(gaps), np.int64)
        many = np.array([len(parts) // 2 for parts in parts_of], np.int64)
        totals: NDArray[np.int64] = _sums(of_lines, many + 1) + _sums(of_gaps, many)
        return totals

    def _by_line(self, lines: list[str]) -> list[int]:
        """How many tokens each line has."""
        return _looked_up(lines, self._lines, _MOST_LINES, self._of_new_lines, _LINES_AT_ONCE)

    def _of_new_lines(self, lines: list[str]) -> list[int]:
        """How many tokens each of several distinct lines has, by their units."""
        text = "".join(f"{line}\n" for line in lines)
        points = code_points(text)
        begins = np.append(True, _changes(points))  # whether a unit begins at each character
        for token, inner in self._joined:
            place = text.find(token)
            while place >= 0:
                begins[place + inner] = False
                place = text.find(token, place + 1)
        ends = np.flatnonzero(points == _NEWLINE)
        begins[ends] = begins[ends[:-1] + 1] = True
        starts = np.flatnonzero(begins)
        stops, first = np.append(starts[1:], len(points)), points[starts]
        alone = (stops - starts == 1) & (first < 128)
        counts = self._characters[np.where(alone, first, 0)]
        spans = map(slice, starts[~alone].tolist(), stops[~alone].tolist())
        counts[~alone] = self._by_unit(list(map(text.__getitem__, spans)))
        of_line = np.append(0, np.cumsum(begins)[ends[:-1]])  # where each line's units begin
        sums: list[int] = np.add.reduceat(counts, of_line).tolist()
        return sums

    def _by_unit(self, units: list[str]) -> list[int]:
        """How many tokens each word, run of marks or run of white space has."""
        return _looked_up(units, self._units, _MOST_UNITS, self._ask, max(1, len(units)))


def _changes(points: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether the kind changes after each character but the last, bool [n - 1]."""
    kinds = _KINDS[np.minimum(points, 128)]
    changes: NDArray[np.bool_] = kinds[1:] != kinds[:-1]
    return changes


def _sums(values: NDArray[np.int64], many: NDArray[np.int64]) -> NDArray[np.int64]:
    """The sums of so many values after one another, int64 [n]."""
    ends = np.cumsum(many)
    upto = np.concatenate([[0], np.cumsum(values)])
    sums: NDArray[np.int64] = upto[ends] - upto[ends - many]
    return sums


def _looked_up(
    texts: list[str],
    known: dict[str, int],
    most: int,
    ask: Callable[[list[str]], Iterable[int]],
    at_once: int,
) -> list[int]:
    """How many tokens each text has, by what is known; what isn't is asked for and remembered.

    Args:
        texts: any, with repeats.
        known: of so many texts at most; all are forgotten where it would be more.
        most: see `known`.
        ask: gives the numbers of distinct texts, of so many at once.
        at_once: see `ask`.
    """
    counts = list(map(known.get, texts))
    if None not in counts:
        return counts  # type: ignore[return-value]  # none is None
    new = list(dict.fromkeys(text for text, count in zip(texts, counts, strict=True) if count is None))
    found: dict[str, int] = {}
    for first in range(0, len(new), at_once):
        group = new[first : first + at_once]
        asked = dict(zip(group, ask(group), strict=True))
        if len(known) + len(asked) > most:
            known.clear()
        known.update((text, count) for text, count in asked.items() if len(text) <= _LONGEST)
        found |= asked
    return [found[text] if count is None else count for text, count in zip(texts, counts, strict=True)]


def _state(part: Any) -> Any:
    """A tokenizer's part as it stands in `tokenizer.json`."""
    return None if part is None else json.loads(part.__getstate__())


def _is_local(normalizer: Any) -> bool:
    """Whether what a normalizer makes of a run of letters doesn't depend on the marks and spaces around it."""
    kind = None if normalizer is None else normalizer["type"]
    if kind == "Sequence":
        return all(map(_is_local, normalizer["normalizers"]))
    if kind == "Replace":
        return _replaces_locally(normalizer["pattern"], normalizer["content"])
    return kind in {None, "BertNormalizer"}


def _replaces_locally(pattern: dict[str, str], content: str) -> bool:
    """Whether a replacement looks at letters alone, and leaves letters or what parts them."""
    if "String" in pattern:
        return bool(re.fullmatch(r"\w", pattern["String"], re.ASCII)) and content == " "
    expression = pattern["Regex"]
    letters = _LETTERS.fullmatch(_LOOKAROUND.sub("", expression)) and _LETTERS.fullmatch(content)
    return bool(_LOCAL.fullmatch(expression)) and (content in {"", " "} or bool(letters))


def _is_plain(token: AddedToken) -> bool:
    """Whether an added token is found in a text as it stands, and holds white space only after a line's end."""
    looks_around = token.normalized or token.lstrip or token.rstrip or token.single_word
    return not looks_around and bool(_LINE_TOKEN.fullmatch(token.content))
