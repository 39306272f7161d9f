"""Tells a question from a query that says what is being done or names what it looks for, and a foreign query.

A question is answered by a whole passage. A commit's message, a task or what an agent says before it reads a file needs
single lines. A model that has learned from English reads nothing in another language, but names of code and words of
comments can still be found. The module knows English words and a vocabulary; it knows no code."""

from collections.abc import Container

from lamr_base.expressions import expression

from lamr_model.words import IDENTIFIER, STOP_WORDS, terms

# "Do", "don't", "when" and "should" are left out, because orders, conditions and names of tests begin with them too.
_ASKING_WORDS = """
    are can could did does how is was were what what's where where's which who who's whom whose why will would
"""
_ASKING = frozenset(_ASKING_WORDS.split())
_SENTENCE = expression(r"[^.?!\n]*(?:[.?!](?!\s|$)[^.?!\n]*)*")  # up to its mark; `os.path` and `3.2` go on
_APOSTROPHE = "\u2019"  # as word processors set it
_WORD = expression(rf"[A-Za-z]+(?:['{_APOSTROPHE}][a-z]+)?")


def asks(query: str) -> bool:
    """Return whether a query is a question: its first sentence has a question's mark or first word."""
    query = query.strip()
    sentence = _SENTENCE.match(query)
    end = sentence.end() if sentence else 0
    first = _WORD.match(query)
    begins = first is not None and first[0].lower().replace(_APOSTROPHE, "'") in _ASKING
    return begins or query[end : end + 1] == "?"


_UNREAD = 0.6
"""Share of a query's letters in unknown words, from which it is in another language..."""
_UNREAD_ACCENTED = 0.25
"""... with letters that English doesn't have, where few words are English's own ..."""
_LEAST_WORDS = 5
_FEW = 0.2
_LATIN = 0x250


def is_foreign(query: str, vocabulary: Container[str]) -> bool:
    """Return whether a model of this vocabulary doesn't read a query's language; names of code say nothing of it."""
    words = [each for each in IDENTIFIER.findall(query) if not _like_code(each)]
    unknown = [each for each in words if not _is_known(each, vocabulary)]
    letters, unread = sum(map(len, words)), sum(map(len, unknown))
    if not unread:
        return False
    if 2 * sum(len(each) for each in unknown if ord(max(each)) >= _LATIN) >= letters:
        return True
    english = sum(each.lower() in STOP_WORDS for each in words)
    if not all(map(str.isascii, unknown)) and english < _FEW * len(words):
        return unread >= _UNREAD_ACCENTED * letters
    return len(words) >= _LEAST_WORDS and english < _FEW * len(words) and unread >= _UNREAD * letters


def _is_known(word: str, vocabulary: Container[str]) -> bool:
    if not word.isascii():  # its parts between accents are no words
        return word.lower() in vocabulary
    return word.lower() in STOP_WORDS or any(term in vocabulary for term in terms(word))


def _like_code(word: str) -> bool:
    """Whether a word is written like a name of code, or is a number."""
    ascii_part = word.isascii() and word[1:] != word[1:].lower() and not word.isupper()
    return "_" in word or word[0].isdigit() or ascii_part
