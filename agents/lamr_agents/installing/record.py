"""What lamr has put into which files of settings, so that it can be taken out to the last character."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lamr_contract.private_files import NoHomeError, private_folder, state_folder, write_whole


@dataclass(frozen=True)
class Splice:
    """A piece of text that is put in.

    Attributes:
        at: before which character of the text as it was.
        text: the piece.
    """

    at: int
    text: str


def put_in(text: str, splices: Sequence[Splice]) -> str:
    """The text with the pieces, whose places rise."""
    for splice in reversed(splices):
        text = text[: splice.at] + splice.text + text[splice.at :]
    return text


def taken_out(text: str, splices: Sequence[Splice]) -> str | None:
    """The text without the pieces, where it is what `put_in` gave; None where a piece isn't in its place."""
    for splice in splices:
        end = splice.at + len(splice.text)
        if text[splice.at : end] != splice.text:
            return None
        text = text[: splice.at] + text[end:]
    return text


def without(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """The text without what lies between these places, of which none overlap."""
    for start, end in sorted(spans, reverse=True):
        text = text[:start] + text[end:]
    return text


_NAME = "installed.json"


@dataclass(frozen=True)
class Written:
    """What was put into a file.

    Attributes:
        digest: of the text that the file had then.
        splices: the pieces that were put in.
        made: how many containers were made for the entry.
        new: whether the file was made.
        folders: the folders that were made for it, the innermost first.
    """

    digest: str
    splices: tuple[Splice, ...]
    made: int
    new: bool
    folders: tuple[str, ...] = ()


def digest_of(text: str) -> str:
    """What tells a text from others."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def recall(host: str, path: Path) -> Written | None:
    """What was put into a file for a host; None where nothing is known of it."""
    found = _all().get(_key(host, path))
    try:
        return (
            Written(**{**found, "splices": tuple(Splice(**each) for each in found["splices"])})
            if found
            else None
        )
    except (TypeError, KeyError):  # another version's
        return None


def remember(host: str, path: Path, written: Written | None) -> None:
    """Keep what was put into a file; None where nothing is in it any more.

    Where nothing can be kept, the entry is found by its form later, and comes out with the blanks that it needs.
    """
    everything = {key: value for key, value in _all().items() if key != _key(host, path)}
    if written is not None:
        everything[_key(host, path)] = asdict(written)
    with contextlib.suppress(OSError, NoHomeError):
        file = state_folder() / _NAME
        if not everything:
            file.unlink(missing_ok=True)
            return
        private_folder(file.parent)
        write_whole(file, json.dumps(everything, indent=1) + "\n")


def _key(host: str, path: Path) -> str:
    return f"{host} {path.absolute()}"


def _all() -> Mapping[str, Any]:
    try:
        found = json.loads((state_folder() / _NAME).read_text(encoding="utf-8"))
    except (OSError, NoHomeError, ValueError, RecursionError):  # without it, entries are found by their form
        return {}
    return found if isinstance(found, dict) else {}
