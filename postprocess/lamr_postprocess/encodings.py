"""A file's bytes as text, and back: UTF-8, UTF-16 and UTF-32, and the code pages of before.

Bytes that are UTF-8 cost one decoding; for others a page is guessed by the characters that most of a text in its
language is written with. A reading counts only if it gives the same bytes back, so kept lines are the file's own, byte
for byte, whatever the guess. What gives no text is binary."""

import codecs
import re
import unicodedata
from collections.abc import Iterator

from lamr_base.expressions import expression
from lamr_base.records import dataclass

from lamr_postprocess.byte_counts import HIGH, count

_SAMPLE_BYTES = 1 << 14
"""What a guess is made by, however large a file is."""
_HEAD_BYTES = 1024
# `coding` in one of the first two lines, as of Python, Ruby, Emacs and XML; elsewhere what HTML, gettext and Vim say.
_SAID = expression(
    rb"\A(?:[^\n]*\n)?[^\n]*coding[ \t]*[:=][ \t]*[\"']?([\w.-]+)|(?:charset=[\"']?|^scriptencoding[ \t]+)([\w.-]+)",
    re.IGNORECASE | re.MULTILINE,
)
_ASCII = "".join(map(chr, range(0x20, 0x7F)))
# A word that isn't all ASCII. The second byte of a character can be ASCII, from @ on.
_WORD = expression(rb"[\x80-\xff][@-\xff]{0,400}")
_LETTERS = expression(rb"[A-Za-z]*\Z")
_LETTERS_BEFORE = 20
_RUN = expression(rb"[\x80-\xff]+")

_LATIN = ("cp1252", "iso8859_2", "cp1250", "cp1254", "cp850")
_OTHER_SCRIPTS = ("cp1251", "koi8_u", "cp866", "cp1253", "cp1255", "cp1256")
_ANY_BYTES = ("cp1252", "latin_1")
"""What a text is read by that is nearly ASCII and tells nothing; the second has a character for each byte."""
_NEARLY_ASCII = 0.4
_LONG_ENOUGH = 64
"""Bytes without control characters that are hardly a binary file's, whatever page they are in."""
_LONE = 1.6
"""Bytes in a row that aren't ASCII, in the mean, below which a text is Latin."""
_BESIDE_A_LETTER = expression(rb"[A-Za-z][\x80-\xff]|[\x80-\xff](?=[A-Za-z])")
_FEW = 6
"""Bytes of a Latin text that aren't ASCII, which tell nothing."""
_TOO_ODD, _AS_ODD = 0.4, 0.02
"""Shares of unlikely signs (`chaos`): above the one a page isn't meant, below the other a difference tells nothing."""
_AS_FITTING = 0.15
"""A difference in how well letters fit a language (`coherence`) that tells nothing."""


@dataclass(frozen=True)
class _Pairs:
    """A page of two bytes a character."""

    name: str  # as Python calls it
    # what the common characters look like, where they aren't between letters of a Latin word
    common: re.Pattern[bytes]
    least: float = 0.8  # the least share of the bytes that aren't ASCII which these must have
    least_bytes: int = 2  # in this many bytes at least; fewer could be another page's
    telling: re.Pattern[bytes] = expression(b"")  # those that no other page has as common ones
    high: bool = True  # whether both bytes are above ASCII, so that these come in even numbers


def _not_within_a_word(pair: bytes) -> re.Pattern[bytes]:
    return expression(rb"(?:%b){2,}|(?<![A-Za-z])%b|%b(?![A-Za-z])" % (pair, pair, pair))


_PAIRS = (
    # Korea's common characters are China's as well, of which they are half: no others means Korean.
    _Pairs("cp949", _not_within_a_word(rb"[\xa1-\xa3\xb0-\xc8][\xa1-\xfe]"), 0.97, 8),
    _Pairs(
        "euc_jp",
        _not_within_a_word(rb"[\xa1\xa3-\xa5\xb0-\xcf][\xa1-\xfe]"),
        telling=expression(rb"[\xa4\xa5][\xa1-\xfe]"),  # kana
    ),
    _Pairs("gb18030", _not_within_a_word(rb"[\xa1-\xa3\xb0-\xd7][\xa1-\xfe]")),
    _Pairs(
        "cp932",
        expression(rb"(?:\x81[@-\xfc]|\x82[O-\xf1]|\x83[@-\x96]|[\x88-\x98][@-\xfc]){2,}"),
        high=False,
    ),
    _Pairs("big5", expression(rb"(?:[\xa1-\xc6][@-~\xa1-\xfe]){2,}"), high=False),
)
_LEAST_TELLING = 0.2  # of the common characters
_MOST_ODD = 0.1  # of the runs of a text of such pairs


def likely_pages(data: bytes) -> Iterator[str]:
    """Yield names of encodings that a text may be in, the likeliest first. `data`: the text, which isn't UTF-8 and
    has no NUL."""
    yield from _said(data[:_HEAD_BYTES])
    sample = b" ".join(_words(data))
    yield from (page.name for page in _PAIRS if _fits(page, sample))
    yield from _of_single_bytes(sample)
    if count(data, HIGH) < _NEARLY_ASCII * len(data) or len(data) >= _LONG_ENOUGH:
        yield from _ANY_BYTES


def _said(head: bytes) -> Iterator[str]:
    """Yield what a file says of itself, if Python knows it as an encoding that ASCII is a part of."""
    for match in _SAID.finditer(head):
        name = (match[1] or match[2]).decode("ascii", "replace")
        try:
            codec = codecs.lookup(name)
            is_one = _ASCII.encode(name) == _ASCII.encode("ascii")
        except (LookupError, ValueError):
            continue
        if is_one and codec.name != "utf-8":
            # Browsers and editors mean Windows' page by Latin-1, which has letters where the other has controls.
            yield from _ANY_BYTES if codec.name == "iso8859-1" else (codec.name,)


def _words(data: bytes) -> Iterator[bytes]:
    room = _SAMPLE_BYTES
    for word in _WORD.finditer(data):
        before = _LETTERS.search(data[max(0, word.start() - _LETTERS_BEFORE) : word.start()])
        yield (before[0] if before else b"") + word[0]
        room -= len(word[0])
        if room < 0:
            return


def _fits(page: _Pairs, sample: bytes) -> bool:
    runs = _RUN.findall(sample)
    if page.high and sum(len(run) % 2 for run in runs) > _MOST_ODD * len(runs):
        return False
    common = b"".join(page.common.findall(sample))
    telling = sum(map(len, page.telling.findall(common)))
    return (
        len(common) >= page.least_bytes
        and count(common, HIGH) >= page.least * count(sample, HIGH)
        and (not page.telling.pattern or telling >= _LEAST_TELLING * len(common))
    )


def _of_single_bytes(sample: bytes) -> list[str]:
    from charset_normalizer import from_bytes  # noqa: PLC0415  # half a megabyte, for who needs it

    runs = _RUN.findall(sample)
    beside = len(_BESIDE_A_LETTER.findall(sample))
    latin = sum(map(len, runs)) < _LONE * len(runs) or 2 * beside > len(runs)
    pages = _LATIN if latin else (*_LATIN[:1], *_OTHER_SCRIPTS[:2], *_LATIN[1:], *_OTHER_SCRIPTS[2:])
    found = list(from_bytes(sample, cp_isolation=list(pages), threshold=_TOO_ODD))
    least = min((each.chaos for each in found), default=0) + _AS_ODD
    found = [each for each in found if each.chaos <= least]
    best = max((each.coherence for each in found), default=0) - _AS_FITTING
    texts = {
        min(map(pages.index, {*each.could_be_from_charset}.intersection(pages))): str(each)
        for each in found
        if each.coherence >= best
    }
    # Most text is in small letters, which read by another page are capitals.
    order = sorted(
        texts, key=lambda place: (sum(map(str.isupper, texts[place])) * 2 > len(texts[place]), place)
    )
    first = pages[:1] if latin and count(sample, HIGH) < _FEW else ()
    return [*first, *(pages[place] for place in order)]


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
_SURROGATES, _PRIVATE = expression("[\udc80-\udcff]"), expression("[\uf780-\uf7ff]")
_TO_PRIVATE = 0xF700 - 0xDC00


@dataclass(frozen=True)
class Encoding:
    """How a text is written as bytes.

    Attributes:
        name: as Python calls it.
        mark: the bytes before the text that say how it is encoded, which aren't part of it. UTF-8's are: they are the
            text's first character.
        strays: whether some bytes aren't UTF-8. They are the private characters U+F780 to U+F7FF of the
            text."""

    name: str = "utf-8"
    mark: bytes = b""
    strays: bool = False

    @property
    def has_ascii(self) -> bool:
        """Whether what is ASCII in a text is the same in its bytes."""
        return not self.name.startswith(("utf-16", "utf-32"))

    def decode(self, data: bytes) -> str:
        """Return the text. Raises `ValueError`: the bytes aren't in this encoding."""
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
    from lamr_postprocess.encodings import likely_pages  # noqa: PLC0415  # only who meets such a file pays for it

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
