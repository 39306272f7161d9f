"""What can be wrong with what the agents' room reads; each message names the cause and the remedy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lamr_client import InvalidInputError


class LogError(InvalidInputError):
    """No log of a known host was found where one was looked for."""


class NoSessionError(InvalidInputError):
    """A file holds nothing that can be replayed; the words say why."""


class PriceError(InvalidInputError):
    """A price table can't be used."""


class HostSettingsError(InvalidInputError):
    """A host's settings can't be changed as they are."""


def words_of(fault: Mapping[str, Any]) -> str:
    """Return what one of a `ValidationError`'s errors says: a check's own words, without the kind of its exception."""
    return str(fault["ctx"]["error"]) if fault["type"] == "value_error" else str(fault["msg"])
