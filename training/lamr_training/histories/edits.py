"""Edits: a commit's message with one file as it was before, and the lines of it that the commit changed.

Which commits and files are asked at all is decided here; how an edit becomes a question is not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice, pairwise
from pathlib import Path

from lamr_evaluation import histories as git

from lamr_training.histories import messages
from lamr_training.histories.gold import gold_of
from lamr_training.histories.messages import Message
from lamr_training.records.headers import headers_of
from lamr_training.records.paths import holds_tests, source_language
from lamr_training.records.source_files import FileLimits, decoded, is_own_code

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
