"""`SourceFile`: a text and what is known of it, found out once and when it is first needed.

Whoever takes a text in makes one, and scoring, selection, repair, packs and hooks all read it. `SourceFiles` keeps the
last ones, because agents ask about the same file again and again. The module knows texts and languages; it knows no
query and no scores."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import field
from functools import cached_property
from typing import TypeVar

from lamr_base.records import dataclass

from lamr_postprocess.detection import detect_language
from lamr_postprocess.languages import Language
from lamr_postprocess.layout import LineLayout, line_layout
from lamr_postprocess.lines import BOM, IntArray, line_spans, split_lines
from lamr_postprocess.listing import Listing, read_listing
from lamr_postprocess.outputs import output_frames
from lamr_postprocess.pairs import Pairs, pairs_in

MOST_CHARS = 1 << 20
"""The most characters of all texts that are kept. What is known of them takes about thirty times as many bytes."""

EXTRA_CHARS = 1_000
"""What each text counts on top of its characters: what is known of an empty one takes 30 kB."""

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class SourceFile:
    """A text of L lines.

    Attributes:
        text: the text as it was given.
        path: its path or name, which tells the language; empty where it isn't known.
        given_language: the language that the caller names; None where the path and the content tell it.
        listed: whether the text may be what a tool printed, under numbers or paths; False for a file's
            own."""

    text: str
    path: str = ""
    given_language: Language | None = None
    listed: bool = True
    _last: dict[str, tuple[Hashable, object]] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def listing(self) -> Listing | None:
        """What the text was listed as; None where it is no listing."""
        return read_listing(self.text) if self.listed else None

    @property
    def body(self) -> str:
        """The code without a listing's prefixes, of as many lines; it is the text where there are none."""
        return self.text if self.listing is None else self.listing.body

    @cached_property
    def layout(self) -> LineLayout:
        """The lines of the body."""
        return line_layout(self.body)

    @cached_property
    def spans(self) -> IntArray:
        """The lines of the text, int64 [L, 2]: first and one-past-last character of each, its newline included."""
        return self.layout.spans if self.listing is None else line_spans(self.text)

    @cached_property
    def lines(self) -> list[str]:
        """The lines of the text with their newlines."""
        return split_lines(self.text)

    @cached_property
    def body_lines(self) -> list[str]:
        """The lines of the body with their newlines, without a mark of the byte order."""
        lines = self.lines if self.listing is None else split_lines(self.body)
        return [*(line.removeprefix(BOM) or line for line in lines[:1]), *lines[1:]]

    @cached_property
    def language(self) -> Language:
        """The language of the body."""
        if self.given_language is not None:
            return self.given_language
        named = None if self.listing is None else self.listing.path
        return detect_language(self.body, self.path or named)

    @cached_property
    def pairs(self) -> Pairs | None:
        """Brackets and end words over several rows of the body; None where no table tells them from its texts."""
        scan, wholes = self.language.scan, self.language.wholes
        return None if scan is None else pairs_in(self.body, self.layout.spans, scan, wholes)

    @cached_property
    def is_output(self) -> bool:
        """Whether the text is what a command printed, or a log, rather than the text of a file of a language.

        Its own path and content tell that. A language that the caller names, and a path in a listing, only say how the
        lines between are written."""
        language = self.language
        if self.given_language is not None or (
            self.listing is not None and self.listing.path and not self.path
        ):
            language = detect_language(self.body, self.path)
        return language.blocks is output_frames

    def once(self, what: str, key: Hashable, make: Callable[[], T]) -> T:
        """Return what `make` gives, which isn't called again until the same is asked for with another key.

        One value of each kind is kept, because an analysis takes ten times as much memory as its text."""
        last, value = self._last.get(what, (None, None))
        if what not in self._last or last != key:
            value = make()
            self._last[what] = (key, value)
        return value  # type: ignore[return-value]  # of the same kind and key

    def kept(self, what: str, key: Hashable, make: Callable[[], T]) -> T:
        """Return what `once` does, or of a text that is too large to be kept what `make` gives each time."""
        return self.once(what, key, make) if len(self.text) <= MOST_CHARS else make()


class SourceFiles:
    """The texts that were asked about last. Safe to share between threads."""

    def __init__(self, most_chars: int = MOST_CHARS) -> None:
        """Begin with none. `most_chars`: the most characters of all texts, each with `EXTRA_CHARS`; a longer text
        isn't kept."""
        self._most = most_chars
        self._chars = 0
        self._kept: OrderedDict[tuple[str, str, Language | None, bool], SourceFile] = OrderedDict()
        self._lock = threading.Lock()

    def of(
        self, text: str, path: str = "", given_language: Language | None = None, *, listed: bool = True
    ) -> SourceFile:
        """Return the `SourceFile` of these arguments, which may be known from an earlier question."""
        key = (text, path, given_language, listed)
        with self._lock:
            source = self._kept.get(key)
            if source is not None:
                self._kept.move_to_end(key)
                return source
            source = SourceFile(text, path, given_language, listed)
            if len(text) + EXTRA_CHARS <= self._most:
                self._kept[key] = source
                self._chars += len(text) + EXTRA_CHARS
            while self._chars > self._most:
                (oldest, *_), _ = self._kept.popitem(last=False)
                self._chars -= len(oldest) + EXTRA_CHARS
        return source
