"""`Analyses`: what was found in the last texts, so that another question about one needs no parse.

Agents ask about the same file again and again. What repair and rendering need of it doesn't depend on the question. The
module knows texts and documents; it knows no scores.
"""

from __future__ import annotations

import threading
from collections import OrderedDict

from lamr_postprocess.document import Document, analyse
from lamr_postprocess.languages import Language
from lamr_postprocess.listing import Listing

MOST_CHARS = 1 << 20
"""The characters of all texts that are kept. Their documents take about ten times as many bytes."""


class Analyses:
    """The documents of the texts that were asked about last. Safe to share between threads."""

    def __init__(self, most_chars: int = MOST_CHARS) -> None:
        """Begin with none.

        Args:
            most_chars: the most characters of all texts together; a longer text isn't kept.
        """
        self._most = most_chars
        self._chars = 0
        self._kept: OrderedDict[tuple[str, Language, bool, bool, int], Document] = OrderedDict()
        self._lock = threading.Lock()

    def document(
        self, text: str, language: Language, *, listing: Listing | None, repair: bool, least_cut: int
    ) -> Document:
        """Return what `analyse` gives for these arguments."""
        key = (text, language, listing is None, repair, least_cut)
        with self._lock:
            known = self._kept.get(key)
            if known is not None:
                self._kept.move_to_end(key)
                return known
        document = analyse(text, language, listing=listing, repair=repair, least_cut=least_cut)
        with self._lock:
            if len(text) <= self._most and key not in self._kept:
                self._kept[key] = document
                self._chars += len(text)
            while self._chars > self._most:
                (oldest, *_), _ = self._kept.popitem(last=False)
                self._chars -= len(oldest)
        return document
