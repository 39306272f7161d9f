"""Tells a question from a query that says what is being done or names what it looks for.

A question is answered by a whole passage. A commit's message, a task or what an agent says before it reads a file needs
single lines. The module knows English words; it knows no code.
"""

from __future__ import annotations

import re

# "Do", "don't", "when" and "should" are left out, because orders, conditions and names of tests begin with them too.
_ASKING_WORDS = """
    are can could did does how is was were what what's where where's which who who's whom whose why will would
"""
_ASKING = frozenset(_ASKING_WORDS.split())
_SENTENCE = re.compile(r"[^.?!\n]*(?:[.?!](?!\s|$)[^.?!\n]*)*")  # up to its mark; `os.path` and `3.2` go on
_APOSTROPHE = "\u2019"  # as word processors set it
_WORD = re.compile(rf"[A-Za-z]+(?:['{_APOSTROPHE}][a-z]+)?")


def asks(query: str) -> bool:
    """Return whether a query is a question: its first sentence has a question's mark or first word."""
    query = query.strip()
    sentence = _SENTENCE.match(query)
    end = sentence.end() if sentence else 0
    first = _WORD.match(query)
    begins = first is not None and first[0].lower().replace(_APOSTROPHE, "'") in _ASKING
    return begins or query[end : end + 1] == "?"
