"""Checks a query and code before anything is spent on them.

This module knows text; it knows no model. Its errors name the offset and the remedy.
"""

from __future__ import annotations

from lamr_contract.errors import InvalidInputError


def decode_code(code: str | bytes | bytearray | memoryview) -> str:
    """Return the code as text that can be encoded again byte for byte; a byte order mark stays where it is.

    Raises:
        InvalidInputError: the bytes aren't UTF-8, or the text has lone surrogates.
    """
    if isinstance(code, str):
        _refuse_surrogates(code, "code")
        return code
    if not isinstance(code, (bytes, bytearray, memoryview)):
        raise InvalidInputError(f"the code must be str or bytes, not {type(code).__name__}", argument="code")
    try:
        return bytes(code).decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidInputError(
            f"the code isn't UTF-8: {error.reason} at byte {error.start} (counted from 0); decode it and pass text",
            argument="code",
            offset=error.start,
        ) from error


def check_code(code: str) -> None:
    """Refuse text that no source file holds.

    Raises:
        InvalidInputError: the text has a NUL character.
    """
    _refuse_nul(code, "code", "binary files can't be pruned")


def check_query(query: str) -> None:
    """Refuse queries that ask nothing.

    Raises:
        InvalidInputError: the query isn't text, is empty or blank, or has a NUL character or lone surrogates.
    """
    check_words(query, "query")
    if not query.strip():
        raise InvalidInputError("the query is empty; say what you are looking for", argument="query")


def check_words(text: str, what: str) -> None:
    """Refuse what can't be read as words: a query's, a task's, a history's.

    Args:
        text: the words; they may be empty.
        what: the argument's name, for the error.

    Raises:
        InvalidInputError: the words aren't text, or have a NUL character or lone surrogates.
    """
    if not isinstance(text, str):
        raise InvalidInputError(f"the {what} must be str, not {type(text).__name__}", argument=what)
    _refuse_surrogates(text, what)
    _refuse_nul(text, what, "remove it")


def _refuse_surrogates(text: str, what: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidInputError(
            f"the {what} has a lone surrogate at character {error.start} (counted from 0); decode it without "
            "'surrogateescape'",
            argument=what,
            offset=error.start,
        ) from error


def _refuse_nul(text: str, what: str, remedy: str) -> None:
    place = text.find("\0")
    if place >= 0:
        raise InvalidInputError(
            f"the {what} has a NUL at character {place} (counted from 0); {remedy}",
            argument=what,
            offset=place,
        )
