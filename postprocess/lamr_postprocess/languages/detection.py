"""Which language a text is in: its path tells, else its shebang, else its content.

This module reads names and the first 16,384 characters of a text; it parses nothing.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import PurePath

from lamr_postprocess.languages.registry import LANGUAGES, language_named
from lamr_postprocess.languages.table import Language
from lamr_postprocess.outputs import without_blocks

_SAMPLE = 16_384
_SHEBANG = re.compile(r"\ufeff?#![ \t]*(\S+)(?:[ \t]+-S)?(?:[ \t]+(\S+))?")
_ENOUGH = 2  # hints that must match for a guess from the content


def detect_language(text: str, path: str | None = None) -> Language:
    """The language of a text; the one named `text` where nothing tells.

    Args:
        text: the file's content.
        path: its path or name, if known; no such file need exist.
    """
    return (
        (path and _by_path(path))
        or _by_shebang(text[:200])
        or _by_content(text[:_SAMPLE])
        or language_named("text")
    )


def _by_path(path: str) -> Language | None:
    name = PurePath(path.replace("\\", "/")).name
    filenames, suffixes = _names()
    lower = name.lower()
    # The longest ending wins, so that `.d.ts` can differ from `.ts`.
    endings = (lower[place:] for place, char in enumerate(lower) if char == ".")
    by_suffix = (suffixes[ending] for ending in endings if ending in suffixes)
    return filenames.get(name) or next(by_suffix, None)


@lru_cache(maxsize=1)
def _names() -> tuple[dict[str, Language], dict[str, Language]]:
    """The languages by file name, and by suffix in lower case; the first of several languages with the same one."""
    last_to_first = LANGUAGES[::-1]
    filenames = {name: language for language in last_to_first for name in language.filenames}
    suffixes = {suffix.lower(): language for language in last_to_first for suffix in language.suffixes}
    return filenames, suffixes


def _by_shebang(head: str) -> Language | None:
    shebang = _SHEBANG.match(head)
    if not shebang:
        return None
    program, argument = shebang.groups()
    word = argument if program.endswith("env") and argument else program
    name = re.sub(r"[\d.]+$", "", word.rsplit("/", 1)[-1])
    return next((language for language in LANGUAGES if name in language.shebangs), None)


@lru_cache(maxsize=1)
def _hints() -> tuple[tuple[Language, tuple[re.Pattern[str], ...]], ...]:
    return tuple(
        (each, tuple(re.compile(h, re.MULTILINE) for h in each.hints)) for each in LANGUAGES if each.hints
    )


@lru_cache(maxsize=8)  # of one text, several ask
def _by_content(sample: str) -> Language | None:
    """The language that a text looks like, and still does without what a command's output shows of code."""
    best = _by_hints(sample)
    rest = sample if best is None else without_blocks(sample)
    return best if rest is sample else _by_hints(rest)


def _by_hints(sample: str) -> Language | None:
    votes = {language: sum(1 for hint in hints if hint.search(sample)) for language, hints in _hints()}
    best = max(votes, key=lambda language: votes[language], default=None)
    if best is None or votes[best] < _ENOUGH:
        return None
    for language, count in votes.items():  # in the order of the registry, a base before what extends it
        if language.extends == best.name and count >= _ENOUGH:
            best = language
    return best
