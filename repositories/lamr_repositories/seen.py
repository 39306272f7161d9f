"""What files were found to be when they were last read, so that a file that hasn't changed needn't be read again.

A file is recognized by its path, from which its language is told, and by its source's stamp, which stands for its
content.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass

from lamr_contract.cache import Cache

from lamr_repositories.file_index import FORMAT as INDEX_FORMAT
from lamr_repositories.sources import Listed
from lamr_repositories.walk import REASONS

KIND = "seen"
FORMAT = "3"
"""Changes whenever a content would be left out for another reason, or would be of another language. The keys of indexes
that are kept here have the indexes' own format."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What a look at a file's content told."""

    reason: str | None = None  # why its content may leave it out
    language: str = ""  # empty, as the key of its index, for a file that wasn't indexed
    key: str = ""
    tokens: int = 0  # approximately


def recall(cache: Cache, listed: Iterable[Listed]) -> dict[str, Seen]:
    """Return what is known of files whose stamps say that they are as they were, by path."""
    by_key = {_key(each): each.path for each in listed if each.stamp}
    found = ((by_key[key], _read(data)) for key, data in cache.get(KIND, by_key).items())
    return {path: seen for path, seen in found if seen is not None}


def remember(cache: Cache, looked_at: Mapping[Listed, Seen]) -> None:
    """Keep what was found, of all files that have a stamp."""
    cache.put(
        KIND,
        {_key(each): json.dumps(astuple(seen)).encode() for each, seen in looked_at.items() if each.stamp},
    )


def _key(each: Listed) -> str:
    name = f"{FORMAT}\0{INDEX_FORMAT}\0{each.stamp}\0{each.path}".encode("utf-8", "surrogatepass")
    return hashlib.sha256(name).hexdigest()


def _read(data: bytes) -> Seen | None:
    """Return facts as they were kept; None for a damaged entry, whose file is read again."""
    try:
        reason, language, key, tokens = json.loads(data)
    except (ValueError, TypeError, RecursionError):
        return None
    known = isinstance(language, str) and isinstance(key, str) and isinstance(tokens, int) and tokens >= 0
    return Seen(reason, language, key, tokens) if known and (reason is None or reason in REASONS) else None
