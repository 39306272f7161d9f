"""Edits: a commit's message with one file as it was before, and the lines of it that the commit changed.

Which commits and files are asked at all is decided here; how an edit becomes a question is not. Gold are the lines that
a commit changes or removes, and those around what it inserts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice, pairwise
from pathlib import Path

from lamr_evaluation import histories as git
from lamr_evaluation.histories import Hunk

from lamr_training.histories import messages
from lamr_training.histories.messages import Message
from lamr_training.records.headers import BARE, headers_of
from lamr_training.records.paths import holds_tests, source_language
from lamr_training.records.source_files import FileLimits, decoded, is_own_code

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


_BATCH = 150  # commits whose diffs and files are in memory at a time
_MOST_FILES = 10  # that a commit touches in all, documents and settings too


@dataclass(frozen=True)
class EditSettings(FileLimits):
    """What an edit may be.

    Attributes:
        most_sources: source files that a commit changes.
        files_per_commit: edits made of one commit.
        min_lines, max_lines, max_characters: see `FileLimits`.
        most_gold: gold lines of a file.
        most_runs: places of a file where gold lines stand; a change of more has no place of its own.
        largest_gold: share of a file that gold lines may be.
        per_template: commits of one author whose subjects begin with the same words.
        per_path: edits of one file.
    """

    most_sources: int = 4
    files_per_commit: int = 2
    most_gold: int = 120
    most_runs: int = 12
    largest_gold: float = 0.4
    per_template: int = 8
    per_path: int = 12


@dataclass(frozen=True, eq=False)
class Candidate:
    """A commit that may give edits, with its cleaned message."""

    commit: git.Commit
    message: Message


@dataclass(frozen=True)
class Edit:
    """One file before one commit.

    Attributes:
        code: the file's text, lines ended by `\\n`.
        gold: lines that the commit changed, or that stand around what it inserted.
        headers: lines around them that say what they belong to.
        tests: added test code of the same commit, by path.
        touched: every path of the commit.
    """

    sha: str
    message: Message
    path: str
    language: str
    code: str
    gold: tuple[int, ...]
    headers: tuple[int, ...]
    touched: frozenset[str]
    tests: dict[str, tuple[str, ...]] = field(default_factory=dict)
    lines: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "lines", tuple(self.code.split("\n")))


def candidates(commits: Iterable[git.Commit], settings: EditSettings) -> Iterator[Candidate]:
    """Commits that change few files and say so, in the order of their hashes: any number of the first is a sample."""
    seen: set[str] = set()
    templates: Counter[tuple[str, str]] = Counter()
    for commit in sorted(commits, key=lambda each: each.sha):
        sources = [c for c in commit.changes if source_language(c.path)]
        own = [c for c in sources if not holds_tests(c.path)] or sources
        if len(commit.changes) > _MOST_FILES or not 1 <= len(own) <= settings.most_sources:
            continue
        if not any(change.status == "M" for change in own):
            continue
        message = messages.clean(commit.message)
        if message is None or message.subject in seen:
            continue
        template = (commit.author, message.template)
        templates[template] += 1
        if templates[template] <= settings.per_template:
            seen.add(message.subject)
            yield Candidate(commit, message)


def edits(
    place: Path,
    chosen: Iterator[Candidate],
    settings: EditSettings,
    foreign: Callable[[str, str], bool],
) -> Iterator[Edit]:
    """The edits of commits, in their order.

    Args:
        place: the git directory.
        foreign: told a path and its text, whether an evaluation's project wrote the file.
    """
    per_path: Counter[str] = Counter()
    while batch := list(islice(chosen, _BATCH)):
        names = {each: [c.before for c in each.commit.changes if _asked(c)] for each in batch}
        sizes = git.sizes(place, (name for found in names.values() for name in found))
        small = {name for name, size in sizes.items() if size <= settings.max_characters}
        batch = [each for each in batch if small.intersection(names[each])]
        diffs = git.diffs(place, [each.commit.sha for each in batch])
        contents = git.blobs(place, small)
        for each in batch:
            found = _edits_of(each, diffs.get(each.commit.sha, {}), contents, settings)
            for edit in found[: settings.files_per_commit]:
                if per_path[edit.path] < settings.per_path and not foreign(edit.path, edit.code):
                    per_path[edit.path] += 1
                    yield edit


def _asked(change: git.Change) -> bool:
    return change.status == "M" and source_language(change.path) is not None


def _edits_of(
    each: Candidate, hunks: dict[str, list[git.Hunk]], contents: dict[str, bytes], settings: EditSettings
) -> list[Edit]:
    """Edits of one commit, those with the most gold lines first; tests only when nothing else changed."""
    changes = [change for change in each.commit.changes if _asked(change)]
    own = [change for change in changes if not holds_tests(change.path)]
    tests = {
        change.path: tuple(line for hunk in hunks.get(change.path, []) for line in hunk.added)
        for change in changes
        if holds_tests(change.path)
    }
    touched = frozenset(change.path for change in each.commit.changes)
    found: list[Edit] = []
    for change in own or changes:
        code = decoded(contents.get(change.before, b""))
        if code is None or not is_own_code(change.path, code, settings):
            continue
        lines = code.split("\n")
        language = source_language(change.path)
        gold = gold_of(hunks.get(change.path, []), lines, language.name if language else "")
        if gold is None or not _fits(gold.lines, len(lines), settings):
            continue
        if gold.inserted and change not in own:
            continue  # a new test beside others: its place answers nothing
        found.append(
            Edit(
                each.commit.sha,
                each.message,
                change.path,
                language.name if language else "",
                code,
                gold.lines,
                headers_of(gold.lines, lines),
                touched,
                tests if own else {},
            )
        )
    found.sort(key=lambda edit: (-len(edit.gold), edit.path))
    return [
        edit for edit in found if 2 * len(edit.gold) >= len(found[0].gold)
    ]  # fewer: what only had to follow


def _fits(gold: tuple[int, ...], lines: int, settings: EditSettings) -> bool:
    runs = 1 + sum(after - before > 3 for before, after in pairwise(gold))
    return len(gold) <= min(settings.most_gold, settings.largest_gold * lines) and runs <= settings.most_runs
