"""Which files of a repository count, and why the others don't.

`walk` lists the paths of a source, leaves out what options and names rule out, and reads the rest one by one, so that
no more than one file is in memory. What is left out is counted by reason. Where paths and bytes come from is `sources`'
matter; this module knows names, sizes and text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import pathspec

from lamr_repositories.errors import RepositoryError
from lamr_repositories.kinds import left_out_by_path, left_out_by_text
from lamr_repositories.sources import Listed, Source

IGNORE_FILE = ".lamrignore"
MOST_BYTES = 1 << 20
"""A larger file is data, or written by a program."""


@dataclass(frozen=True)
class WalkOptions:
    """What a caller says about files.

    Attributes:
        include: patterns as in `.gitignore`; if there are any, only files that match one count.
        exclude: patterns of files that don't count, after those of the root's `.lamrignore`.
        most_bytes: a larger file is left out.
        everything: whether vendored, generated and minified files count as well.
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    most_bytes: int = MOST_BYTES
    everything: bool = False


@dataclass(eq=False)
class WalkCount:
    """What was seen so far.

    Attributes:
        files: how many files were listed.
        read: how many of them count.
        left_out: how many don't, by reason.
    """

    files: int = 0
    read: int = 0
    left_out: Counter[str] = field(default_factory=Counter)


def walk(
    source: Source,
    options: WalkOptions,
    count: WalkCount,
    on_progress: Callable[[int, int], None] | None = None,
) -> Iterator[tuple[Listed, bytes, str]]:
    """Yield each file that counts, its bytes and its text, in the order of paths.

    Args:
        source: the repository.
        options: see `WalkOptions`.
        count: is brought up to date while files are read.
        on_progress: called with the files done and their number.

    Raises:
        RepositoryError: a pattern can't be used, or the repository can't be listed.
    """
    listed = sorted(source.files(), key=lambda each: each.path)
    count.files = len(listed)
    wanted = list(_wanted(listed, _rules(source, options), options, count))
    for done, (each, data) in enumerate(source.read_all(wanted), 1):
        text = _text(data, options, count)
        if data is not None and text is not None:
            count.read += 1
            yield each, data, text
        if on_progress:
            on_progress(done, len(wanted))


def decode(data: bytes | None) -> str | None:
    """Return a file's bytes as text; None for a file that couldn't be read or isn't UTF-8 text."""
    if data is None or b"\0" in data:
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _text(data: bytes | None, options: WalkOptions, count: WalkCount) -> str | None:
    """Return the text of a file that counts; otherwise count why it doesn't."""
    if data is None:
        count.left_out["unreadable"] += 1
        return None
    text = decode(data)
    if text is None:
        count.left_out["binary"] += 1
        return None
    reason = left_out_by_text(text)
    if reason and not (options.everything and reason != "empty"):
        count.left_out[reason] += 1
        return None
    return text


@dataclass(frozen=True, eq=False)
class _Rules:
    include: pathspec.GitIgnoreSpec | None
    exclude: pathspec.GitIgnoreSpec


def _rules(source: Source, options: WalkOptions) -> _Rules:
    own = decode(source.read(IGNORE_FILE)) or ""
    return _Rules(
        patterns(options.include) if options.include else None,
        patterns([*own.splitlines(), *options.exclude]),
    )


def patterns(lines: Iterable[str]) -> pathspec.GitIgnoreSpec:
    """Return patterns as `.gitignore` has them, ready for matching.

    Raises:
        RepositoryError: a pattern can't be used.
    """
    try:
        return pathspec.GitIgnoreSpec.from_lines(lines)
    except ValueError as error:
        raise RepositoryError(f"not a pattern as .gitignore has them: {error}") from error


def _wanted(
    listed: Sequence[Listed], rules: _Rules, options: WalkOptions, count: WalkCount
) -> Iterator[Listed]:
    """Yield the files that their listing doesn't rule out; count the others."""
    for each in listed:
        reason = each.problem or _ruled_out(each, rules, options)
        if reason:
            count.left_out[reason] += 1
        else:
            yield each


def _ruled_out(each: Listed, rules: _Rules, options: WalkOptions) -> str | None:
    if not each.path.isprintable():
        return "name that can't be written"  # line ends, or bytes that aren't UTF-8
    if rules.include is not None and not rules.include.match_file(each.path):
        return "not included"
    if rules.exclude.match_file(each.path):
        return "excluded"
    if not options.everything and (reason := left_out_by_path(each.path)):
        return reason
    return f"larger than {options.most_bytes:,} bytes" if each.size > options.most_bytes else None
