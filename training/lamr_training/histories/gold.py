"""From a file's hunks to its gold lines: those that a commit changes or removes, and those around what it inserts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lamr_evaluation.histories import Hunk

from lamr_training.records.headers import BARE

LONGEST_INSERTION = 15
"""Lines that are only inserted and are no more than this belong to what stands around them; more are a thing apart."""
_IMPORT = re.compile(
    r"\s*(?:import\b|from\s+\S+\s+import\b|#\s*include\b|using\s+[\w.:=\s]+;|use\s+[\w\\:{},\s*]+;|require(?:_relative)?\b|"
    r"package\s|extern crate\b|(?:const|let|var)\s+.*=\s*require\(|pub use\b|export .* from\b|load\b|autoload\b|"
    r"mod \w+;|pub mod \w+;|\"[\w./-]+\"$)"
)
# Imports that take several lines: from their first word to their closing bracket.
_IMPORT_BLOCK = re.compile(
    r"^\s*(?:(?:pub )?use [^;{}]*\{[^;]*;|(?:import|export)\s*(?:type\s*)?\{[^}]*\}\s*from|from \S+ import \([^)]*\)|"
    r"import \([^)]*\)|(?:const|let|var) \{[^}=]*\} = require)",
    re.M,
)
_COMMENT = re.compile(r"\s*(?://|/\*|\*/|\*\s|\*$|--\s|<!--)")
_HASH_COMMENT = re.compile(r"\s*#(?!\[|!\[)")
_CEREMONY = re.compile(r"copyright|\$Id|__version__|@version|@since|@author|spdx-|VERSION\s*=", re.I)
_HASH_LANGUAGES = frozenset({"python", "ruby", "php"})
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True)
class Gold:
    """1-based lines of the old file. `inserted` says that nothing was changed or removed, only put in."""

    lines: tuple[int, ...]
    inserted: bool


def gold_of(hunks: Iterable[Hunk], lines: Sequence[str], language: str) -> Gold | None:
    """The gold lines of a file; None when nothing but spaces, comments or imports changed.

    Args:
        lines: of the old file.
        language: whose comments are meant.
    """
    changed: set[int] = set()
    around: set[int] = set()
    imports = _imports(lines)
    for hunk in hunks:
        if not _speaks(hunk, language):
            continue
        if hunk.removed:
            places = range(hunk.line, hunk.line + len(hunk.removed))
            pairs = zip(places, hunk.removed, strict=True)
            changed.update(n for n, text in pairs if text.strip() and not _IMPORT.match(text))
        elif len(hunk.added) <= LONGEST_INSERTION:
            around.update(n for n in _around(hunk.line, lines) if not _silent(lines[n - 1], language))
    found = tuple(sorted((changed | around) - imports))
    return Gold(found, not changed - imports) if found and found[-1] <= len(lines) else None


def _imports(lines: Sequence[str]) -> set[int]:
    """Lines of imports that take several lines."""
    text = "\n".join(lines)
    numbers: set[int] = set()
    for block in _IMPORT_BLOCK.finditer(text):
        first = 1 + text.count("\n", 0, block.start())
        numbers.update(range(first, first + block[0].count("\n") + 1))
    return numbers


def _speaks(hunk: Hunk, language: str) -> bool:
    """Whether a hunk changes more than spaces, comments, imports and formalities."""
    if _squeezed(hunk.removed) == _squeezed(hunk.added):
        return False
    texts = [text for text in (*hunk.removed, *hunk.added) if text.strip()]
    return not all(_silent(text, language) for text in texts)


def _silent(text: str, language: str) -> bool:
    comment = _HASH_COMMENT if language in _HASH_LANGUAGES else _COMMENT
    return bool(
        comment.match(text)
        or (language == "php" and _COMMENT.match(text))
        or _IMPORT.match(text)
        or _CEREMONY.search(text)
        or BARE.match(text)
    )


def _squeezed(texts: Iterable[str]) -> str:
    return _SPACE.sub("", "".join(texts))


def _around(line: int, lines: Sequence[str]) -> list[int]:
    """The nearest lines with text before and after what came after `line`, no further than three lines away."""
    before = next((n for n in range(line, max(0, line - 3), -1) if lines[n - 1].strip()), None)
    after = next((n for n in range(line + 1, min(len(lines), line + 3) + 1) if lines[n - 1].strip()), None)
    return [n for n in (before, after) if n is not None]
