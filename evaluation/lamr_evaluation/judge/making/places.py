"""Changes out of a repository's history: a commit's message, a file before it, and the lines that it changed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from lamr_postprocess import decode, detect_language
from lamr_repositories.kinds import is_code, is_test, left_out_by_path

from lamr_evaluation import histories
from lamr_evaluation.judge.items import PLACE, Item
from lamr_evaluation.judge.making.sources import MOST_CHARACTERS, History
from lamr_evaluation.records import bare_lines

MOST_COMMITS = 3000
_AT_ONCE = 100
_MOST_FILES = 3  # that a commit changes
_LEAST_WORDS = 4
_LARGEST = 0.2  # share of a file that may be changed
_TRAILER = re.compile(
    r"^\s*(?:[A-Z][\w-]*-by|Co-authored-by|Change-Id|Fixes|Closes|Refs?|See|BUG|PR)\b.*$", re.IGNORECASE
)
_REFERENCE = re.compile(r"\s*\(?(?:\b\w+/\w+)?#\d+\)?|https?://\S+|\b[0-9a-f]{8,40}\b")


def places_of(history: History) -> Iterator[Item]:
    """Yield an item for each file of the latest commits that change few files and say what for."""
    found = (
        (each, message)
        for each in histories.commits(history.place, "HEAD", MOST_COMMITS)
        if len(each.changes) <= _MOST_FILES and (message := _message(each.message))
    )
    while batch := list(islice(found, _AT_ONCE)):
        diffs = histories.diffs(history.place, [each.sha for each, _ in batch])
        changes = [
            (each, message, change) for each, message in batch for change in each.changes if _is_asked(change)
        ]
        contents = histories.blobs(history.place, [change.before for _, _, change in changes])
        for each, message, change in changes:
            data = contents.get(change.before)
            hunks = diffs.get(each.sha, {}).get(change.path, [])
            item = _item(history, f"commit {each.sha[:12]}", message, change.path, data, hunks)
            if item is not None:
                yield item


def _is_asked(change: histories.ChangedFile) -> bool:
    code = is_code(detect_language("", change.path).name)
    return change.status == "M" and code and not is_test(change.path) and not left_out_by_path(change.path)


def _message(text: str) -> str:
    """Return what a message says, without trailers, references and hashes; empty where that is too little."""
    kept = [line.rstrip() for line in text.splitlines() if not _TRAILER.match(line)]
    said = _REFERENCE.sub("", "\n".join(kept)).strip()
    return said if len(said.split()) >= _LEAST_WORDS else ""


def _item(  # noqa: PLR0913, PLR0917  # what a row of a history is
    history: History, made: str, message: str, path: str, data: bytes | None, hunks: list[histories.Hunk]
) -> Item | None:
    decoded = None if data is None or len(data) > MOST_CHARACTERS else decode(data)
    if decoded is None:
        return None
    code = decoded.text.replace("\r\n", "\n")
    lines = bare_lines(code)
    gold = sorted({row for hunk in hunks for row in _rows(hunk, len(lines)) if lines[row - 1].strip()})
    if not gold or len(gold) > _LARGEST * len(lines):
        return None
    return Item(
        PLACE,
        message,
        code,
        gold=tuple(gold),
        path=path,
        project=history.project,
        language=detect_language(code, path).name,
        made=made,
    )


def _rows(hunk: histories.Hunk, count: int) -> range:
    """Return the lines that a hunk removes, or those around what it only inserts."""
    if hunk.removed:
        return range(hunk.line, min(hunk.line + len(hunk.removed), count + 1))
    return range(max(hunk.line, 1), min(hunk.line + 1, count) + 1)
