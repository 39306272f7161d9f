"""`SourceFile`: a text and what is known of it, found out once and when it is first needed.

Whoever takes a text in makes one, and scoring, selection, repair, packs and hooks all read it. `SourceFiles` keeps the
last ones, because agents ask about the same file again and again. The module knows texts and languages; it knows no
query and no scores.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

from lamr_postprocess.detection import detect_language
from lamr_postprocess.languages import Language
from lamr_postprocess.layout import LineLayout, line_layout
from lamr_postprocess.lines import IntArray, line_spans
from lamr_postprocess.listing import Listing, read_listing
from lamr_postprocess.outputs import output_frames

MOST_CHARS = 1 << 20
"""The characters of all texts that are kept. What is known of them takes about twenty times as many bytes."""

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class SourceFile:
    """A text of L lines.

    Attributes:
        text: the text as it was given.
        path: its path or name, which tells the language; empty where it isn't known.
        given_language: the language that the caller names; None where the path and the content tell it.
        listed: whether the text may be what a tool printed, under numbers or paths; False for a file's own.
    """

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
        return [self.text[start:stop] for start, stop in self.spans.tolist()]

    @cached_property
    def body_lines(self) -> list[str]:
        """The lines of the body with their newlines."""
        if self.listing is None:
            return self.lines
        return [self.body[start:stop] for start, stop in self.layout.spans.tolist()]

    @cached_property
    def language(self) -> Language:
        """The language of the body."""
        if self.given_language is not None:
            return self.given_language
        named = None if self.listing is None else self.listing.path
        return detect_language(self.body, self.path or named)

    @cached_property
    def is_output(self) -> bool:
        """Whether the text is what a command printed, or a log, rather than the text of a file of a language.

        Its own path and content tell that. A language that the caller names, and a path in a listing, only say how the
        lines between are written.
        """
        language = self.language
        if self.given_language is not None or (
            self.listing is not None and self.listing.path and not self.path
        ):
            language = detect_language(self.body, self.path)
        return language.blocks is output_frames

    def once(self, key: Hashable, make: Callable[[], T], kind: str = "") -> T:
        """Return what `make` gives, which isn't called again until another key of its kind was asked for.

        One value of each kind is kept, because an analysis takes ten times as much memory as its text.
        """
        last = self._last.get(kind)
        if last is not None and last[0] == key:
            return last[1]  # type: ignore[return-value]  # of the same key
        value = make()
        self._last[kind] = (key, value)
        return value


class SourceFiles:
    """The texts that were asked about last. Safe to share between threads."""

    def __init__(self, most_chars: int = MOST_CHARS) -> None:
        """Begin with none.

        Args:
            most_chars: the most characters of all texts together; a longer text isn't kept.
        """
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
            if len(text) <= self._most:
                self._kept[key] = source
                self._chars += len(text)
            while self._chars > self._most:
                (oldest, *_), _ = self._kept.popitem(last=False)
                self._chars -= len(oldest)
        return source
