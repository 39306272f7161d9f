"""What is wrong with a request's fields, in words of our own where pydantic puts its own before them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def words_of(fault: Mapping[str, Any]) -> str:
    """Return what one of a `ValidationError`'s errors says: a check's own words, without the kind of its exception."""
    return str(fault["ctx"]["error"]) if fault["type"] == "value_error" else str(fault["msg"])
