"""Where lines begin and end, and which score each has.

A line ends at LF, CRLF or CR and at nothing else: form feeds, vertical tabs, `\x1c`-`\x1e`, `\x85` and U+2028 are
ordinary characters (unlike in `str.splitlines`). Text that ends without a newline still has a last line; empty text has
none. All functions take linear time and hold a few arrays of the text's length."""

from io import StringIO
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
FloatArray = NDArray[np.float32]

BOM = "\ufeff"
_LF, _CR, _SPACE = 10, 13, 32
# Unicode's White_Space beyond the control characters; all characters up to 32 count as blank as well.
_WIDE_SPACES = (0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000)
_INK = np.ones(0x3002, np.bool_)
_INK[: _SPACE + 1] = False
_INK[list(_WIDE_SPACES)] = False


def code_points(text: str) -> NDArray[Any]:
    """The text's characters as unsigned integers [n]; one byte each when all are ASCII, else four."""
    if text.isascii():
        return np.frombuffer(text.encode("ascii"), dtype=np.uint8)
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")


def spans_of(points: NDArray[Any]) -> IntArray:
    """`line_spans` of `code_points`, or of UTF-8 bytes, whose offsets are then bytes."""
    ends = points == _LF
    lone = points == _CR
    lone[:-1] &= ~ends[1:]
    ends |= lone
    ends[-1:] = True  # a last line without a newline
    stops = np.flatnonzero(ends) + 1
    spans = np.zeros((stops.shape[0], 2), dtype=np.int64)
    spans[:, 1] = stops
    spans[1:, 0] = stops[:-1]
    return spans


def line_spans(text: str) -> IntArray:
    """Character offsets [L, 2] of each line: start, and end past its newline. Consecutive and gapless."""
    return spans_of(code_points(text))


def split_lines(text: str) -> list[str]:
    """The lines with their newlines; joined they give the text back."""
    return list(StringIO(text, newline=""))  # ends lines at the same places, and cuts them out in C


def ink(points: NDArray[Any]) -> BoolArray:
    """Which characters [n] are ink: neither Unicode's white space nor control characters up to 32."""
    inked: BoolArray = points > _SPACE if points.itemsize == 1 else _INK[np.minimum(points, len(_INK) - 1)]
    return inked


def blank_lines(points: NDArray[Any], spans: IntArray) -> BoolArray:
    """Which lines [L] are blank: they hold no ink."""
    if spans.shape[0] == 0:
        return np.zeros(0, dtype=np.bool_)
    blank: BoolArray = ~np.logical_or.reduceat(ink(points), spans[:, 0])
    return blank


class TokenLines:
    """Which lines the tokens of a text lie in, to average any number of token scores over lines.

    A token that spans lines counts in each of them with its characters there. Blank lines, and lines that no token
    covers, take the smaller score of their two scored neighbours (at an end of the text, the score of the
    only one), so a blank line is selected exactly when both its neighbours are. Without any scored line all scores are
    0."""

    def __init__(self, offsets: ArrayLike, points: NDArray[Any], spans: IntArray) -> None:
        """Find the lines of the tokens.

        Args:
            offsets: int [n, 2], the characters of each token; empty spans are ignored.
            points: `code_points` of the text.
            spans: int64 [L, 2], its lines.

        Raises:
            ValueError: an offset lies outside the text."""
        begin, end = np.asarray(offsets, dtype=np.int64).reshape(-1, 2).T
        length, lines = points.shape[0], spans.shape[0]
        if begin.size and (min(begin.min(), end.min()) < 0 or max(begin.max(), end.max()) > length):
            raise ValueError(f"token offsets must be characters of the text, 0 to {length}; were they bytes?")
        stops = np.append(spans[:, 1], length)  # one more line, for an empty token at the end of the text
        self._lines = lines
        self._first: IntArray = np.searchsorted(stops[:-1], begin, side="right")
        stop = stops[self._first]
        self._head = np.maximum(np.minimum(end, stop) - begin, 0)
        self._crossing = np.flatnonzero((end > stop) & (end > begin))
        self._last = np.searchsorted(stops, end[self._crossing] - 1, side="right")
        self._tail = end[self._crossing] - spans[self._last, 0]
        self._widths = (spans[:, 1] - spans[:, 0]).astype(np.float64)
        covered = self._sums(np.ones(begin.shape[0]))
        covered[blank_lines(points, spans)] = 0
        self._covered = np.maximum(covered, 1)
        self._known = np.flatnonzero(covered)
        self._unknown = np.flatnonzero(covered == 0)

    def means(self, scores: ArrayLike) -> FloatArray:
        """The mean score of each line, float32 [L], over the characters that tokens cover (paper section 3.4).
        `scores`: float [n], one score a token. Raises `ValueError`: there is another number of scores, or one of them
        isn't finite."""
        values = self._checked(scores)
        if not self._known.shape[0]:
            return np.zeros(self._lines, dtype=np.float32)
        means = self._sums(values) / self._covered
        after = np.searchsorted(self._known, self._unknown)
        before = means[self._known[np.maximum(after - 1, 0)]]
        after = np.minimum(after, self._known.shape[0] - 1)
        means[self._unknown] = np.minimum(before, means[self._known[after]])
        rounded: FloatArray = means.astype(np.float32)
        return rounded

    def _checked(self, scores: ArrayLike) -> NDArray[np.float64]:
        values = np.asarray(scores, dtype=np.float64).reshape(-1)
        if values.shape[0] != self._first.shape[0]:
            raise ValueError(
                f"{values.shape[0]} token scores but {self._first.shape[0]} token offsets; give one span a score"
            )
        if not np.isfinite(values).all():
            raise ValueError("token scores must be finite numbers; found NaN or infinity")
        return values

    def _sums(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """The sum of weight times characters in each line, float64 [L].

        Memory is O(tokens + lines) however many lines the tokens span: the first and last line of a token are added one
        by one, and the whole lines between them through a difference array."""
        sums = np.asarray(np.bincount(self._first, weights * self._head, self._lines), np.float64)
        sums = sums[: self._lines]
        if self._crossing.shape[0]:
            carried = weights[self._crossing]
            sums += np.bincount(self._last, carried * self._tail, self._lines)
            inner = np.bincount(self._first[self._crossing] + 1, carried, self._lines + 1)
            inner -= np.bincount(self._last, carried, self._lines + 1)
            sums += np.cumsum(inner)[: self._lines] * self._widths
        return sums


class CharacterMeans(TokenLines):
    """Which lines the tokens lie in, for means over characters alone, as SWE-Pruner takes them.

    A line's newline doesn't count. A line of white space has the mean of its own characters, and one without a
    character that a token covers scores 0, whatever its neighbours score."""

    def __init__(self, offsets: ArrayLike, points: NDArray[Any], spans: IntArray) -> None:
        """Find the lines; the arguments are those of `TokenLines`."""
        super().__init__(offsets, points, spans)
        begin, end = np.asarray(offsets, dtype=np.int64).reshape(-1, 2).T
        ends = np.flatnonzero((points == _LF) | (points == _CR))
        token = np.searchsorted(begin, ends, side="right") - 1
        held = np.flatnonzero((token >= 0) & (end[np.maximum(token, 0)] > ends)) if begin.size else ends[:0]
        self._end_tokens = token[held]
        self._end_lines = np.searchsorted(spans[:, 1], ends[held], side="right")
        self._counts = self._sums(np.ones(begin.shape[0]))
        self._counts -= np.bincount(self._end_lines, minlength=self._lines)[: self._lines]

    def means(self, scores: ArrayLike) -> FloatArray:
        """Mean score float32 [L] of each line; arguments and errors are those of `TokenLines.means`."""
        values = self._checked(scores)
        sums = self._sums(values)
        sums -= np.bincount(self._end_lines, values[self._end_tokens], self._lines)[: self._lines]
        means: FloatArray = (sums / np.maximum(self._counts, 1) * (self._counts > 0)).astype(np.float32)
        return means
