"""A file's bytes as text, and back: UTF-8, UTF-16 and UTF-32, and the code pages of before.

Bytes that are UTF-8 cost one decoding; for others a page is guessed (see `code_pages`). A reading counts only if it
gives the same bytes back, so kept lines are the file's own, byte for byte, whatever the guess. What gives no text is
binary.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from dataclasses import dataclass

from lamr_postprocess.byte_counts import HIGH, count

_CONTROLS = bytes({*range(0x20), 0x7F} - {*b"\b\t\n\v\f\r\x1a\x1b"})
_ONE_CONTROL_IN = 200
"""Of so many bytes of a text, no more than one is a control character that does nothing for it."""
_WIDE_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16's, with which it begins
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_HALVES = 3
"""So many times as often as the low halves of UTF-16 are NUL the high ones, of ASCII and line ends."""
_OF_ASCII, _OF_OTHERS = 0.4, 0.06
"""The least share of NULs in UTF-16; ASCII with some NULs in it is none."""
_NO_TEXT = frozenset(["Cc", "Cn", "Co", "Cs"])
_SURROGATES, _PRIVATE = re.compile("[\udc80-\udcff]"), re.compile("[\uf780-\uf7ff]")
_TO_PRIVATE = 0xF700 - 0xDC00


@dataclass(frozen=True)
class Encoding:
    """How a text is written as bytes.

    Attributes:
        name: as Python calls it.
        mark: the bytes before the text that say how it is encoded, which aren't part of it. UTF-8's are: they are the
            text's first character.
        strays: whether some bytes aren't UTF-8. They are the private characters U+F780 to U+F7FF of the text.
    """

    name: str = "utf-8"
    mark: bytes = b""
    strays: bool = False

    @property
    def has_ascii(self) -> bool:
        """Whether what is ASCII in a text is the same in its bytes."""
        return not self.name.startswith(("utf-16", "utf-32"))

    def decode(self, data: bytes) -> str:
        """Return the text.

        Raises:
            ValueError: the bytes aren't in this encoding.
        """
        if self.strays:
            return _moved(_SURROGATES, data.decode("utf-8", "surrogateescape"), _TO_PRIVATE)
        return data[len(self.mark) :].decode(self.name)

    def encode(self, text: str) -> bytes:
        """Return a text as bytes; a character that the encoding doesn't have becomes a question mark."""
        if self.strays:
            return _moved(_PRIVATE, text, -_TO_PRIVATE).encode("utf-8", "surrogateescape")
        return self.mark + text.encode(self.name, "replace")


UTF_8 = Encoding()


@dataclass(frozen=True)
class DecodedFile:
    """A file's text, and how it was encoded."""

    text: str
    encoding: Encoding = UTF_8


def decode(data: bytes) -> DecodedFile | None:
    """Return a file's text; None for a binary file, or one in an encoding that isn't known."""
    for mark, name in _WIDE_MARKS:
        if data.startswith(mark) and (found := _read_wide(data, Encoding(name, mark))):
            return found
    if b"\0" in data:
        unmarked = _unmarked(data)
        return _read_wide(data, Encoding(unmarked)) if unmarked else None
    try:
        return DecodedFile(data.decode("utf-8"))
    except UnicodeDecodeError:
        pass
    if count(data, _CONTROLS) * _ONE_CONTROL_IN > len(data):
        return None
    if _is_mostly_utf_8(data):
        return _read(data, Encoding("utf-8", strays=True))
    from lamr_postprocess.code_pages import likely_pages  # noqa: PLC0415  # only who meets such a file pays for it

    return next((found for page in likely_pages(data) if (found := _read(data, Encoding(page)))), None)


def _unmarked(data: bytes) -> str | None:
    """Return which UTF-16 bytes with NULs may be that have no mark, by where the NULs are and how many."""
    even, odd = data[::2].count(0), data[1::2].count(0)
    high, low, name = (odd, even, "utf-16-le") if odd > even else (even, odd, "utf-16-be")
    least = _OF_ASCII if data.isascii() else _OF_OTHERS
    return name if len(data) % 2 == 0 and high > _HALVES * low and high >= least * len(data) else None


def _moved(which: re.Pattern[str], text: str, by: int) -> str:
    return which.sub(lambda found: chr(ord(found[0]) + by), text)


def _read_wide(data: bytes, encoding: Encoding) -> DecodedFile | None:
    """Return the text of UTF-16 or UTF-32, if all of its characters are some that a text has."""
    found = _read(data, encoding)
    return found if found and _is_text(found.text) else None


def _is_text(text: str) -> bool:
    """Return whether all characters are some that a text has."""
    return all(
        each in "\b\t\n\v\f\r\x1a\x1b" or unicodedata.category(each) not in _NO_TEXT for each in set(text)
    )


def _is_mostly_utf_8(data: bytes) -> bool:
    """Return whether more characters are UTF-8 than bytes aren't, as after a merge of files of two encodings."""
    text = data.decode("utf-8", "ignore")
    others, strays = len(text) - (len(data) - count(data, HIGH)), len(data) - len(text.encode("utf-8"))
    return others > strays


def _read(data: bytes, encoding: Encoding) -> DecodedFile | None:
    """Return the text, if it gives the bytes back."""
    try:
        text = encoding.decode(data)
    except ValueError:
        return None
    return DecodedFile(text, encoding) if encoding.encode(text) == data else None
