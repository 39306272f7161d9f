"""API keys: how one is made, and what is stored of it."""

from __future__ import annotations

import hashlib
import secrets
from datetime import datetime

from lamr_front.fleet import ApiKey

KEY_PREFIX = "lamr_"  # so that people, and scanners for leaked secrets, know what they have found
KEY_BYTES = 32


def make_key(expires: datetime | None = None) -> tuple[str, ApiKey]:
    """A new key, which is shown once, and what is stored of it."""
    key = KEY_PREFIX + secrets.token_urlsafe(KEY_BYTES)
    return key, ApiKey(hash_of(key), expires)


def hash_of(key: str) -> str:
    """The SHA-256 of a key, or of a certificate's name, in hexadecimal digits, as HAProxy computes it."""
    return hashlib.sha256(key.encode()).hexdigest()
