"""Which files of a repository count, and why the others don't.

`wanted_files` lists the paths of a source and leaves out what options and names rule out; `walk` reads the rest one by
one, so that no more than one file is in memory. What is left out is counted by reason. Where paths and bytes come from
is `sources`' matter; this module knows names, sizes and text."""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import field

from lamr_base.records import dataclass
from lamr_postprocess import decode

from lamr_repositories.errors import RepositoryError
from lamr_repositories.ignoring import MOST_IGNORE_BYTES, Budget, Patterns, lines_of, literal, refuse_broken
from lamr_repositories.kinds import LFS_POINTER, left_out_by_path, left_out_by_text
from lamr_repositories.secrets import holds_secret
from lamr_repositories.sources import MOST_BYTES, FileSource, ListedFile

IGNORE_FILE = ".lamrignore"
_ATTRIBUTES = ".gitattributes"
WITH_SECRETS = "with secrets"
_BY_PROGRAMS = ("generated", "minified")
REASONS = frozenset([WITH_SECRETS, "unreadable", "binary", "empty", LFS_POINTER, *_BY_PROGRAMS])
"""What `look_at` may say against a file."""


@dataclass(frozen=True)
class WalkOptions:
    """What a caller says about files.

    Attributes:
        include: patterns as in `.gitignore`; if there are any, only files that match one count.
        exclude: patterns of files that don't count, after those of the root's `.lamrignore`.
        most_bytes: a larger file is left out.
        everything: whether vendored, generated and minified files count as well.
        include_secrets: whether files that hold keys, tokens or passwords count as well."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    most_bytes: int = MOST_BYTES
    everything: bool = False
    include_secrets: bool = False


@dataclass(eq=False)
class WalkCount:
    """What was seen so far."""

    files: int = 0
    read: int = 0  # files that count
    left_out: Counter[str] = field(default_factory=Counter)  # by reason
    with_secrets: list[str] = field(default_factory=list)  # paths
    listed: frozenset[str] = frozenset()  # all paths

    def take(self, path: str, reason: str | None, options: WalkOptions) -> bool:
        """Count a file, against which `look_at` said a reason, and return whether it competes."""
        if leaves_out(reason, options):
            self.left_out[str(reason)] += 1
            if reason == WITH_SECRETS:
                self.with_secrets.append(path)
            return False
        self.read += 1
        return True


def leaves_out(reason: str | None, options: WalkOptions) -> bool:
    """Return whether what `look_at` said against a file leaves it out."""
    if reason == WITH_SECRETS:
        return not options.include_secrets
    return reason is not None and not (options.everything and reason in _BY_PROGRAMS)


def walk(
    source: FileSource, options: WalkOptions, count: WalkCount
) -> Iterator[tuple[ListedFile, bytes, str]]:
    """Yield each file that counts, its bytes and its text, in the order of paths; the count is kept meanwhile."""
    for each, data in source.read_all(wanted_files(source, options, count)):
        text, reason = look_at(each.path, data)
        if count.take(each.path, reason, options) and data is not None and text is not None:
            yield each, data, text


def wanted_files(source: FileSource, options: WalkOptions, count: WalkCount) -> list[ListedFile]:
    """Return the files that neither options nor names and sizes rule out, in the order of paths; count the others.
    Raises `RepositoryError`: a pattern can't be used, or the repository can't be listed."""
    listed = sorted(source.files(), key=lambda each: each.path)
    count.files, count.listed = len(listed), frozenset(each.path for each in listed)
    include, exclude = (
        [_pattern(each, listed) for each in given] for given in (options.include, options.exclude)
    )
    refuse_broken([*include, *exclude])
    budget = Budget()
    within = Patterns(include, budget) if include else None
    without = Patterns([*own_patterns(source, MOST_IGNORE_BYTES), *exclude], budget)
    attributes = (
        lines_of(source.read(_ATTRIBUTES, MOST_IGNORE_BYTES) or b"") if not options.everything else []
    )
    told = {each: Patterns(_attributed(attributes, each), budget) for each in ("vendored", "generated")}
    wanted: list[ListedFile] = []
    for each in listed:
        said = (reason for reason, patterns in told.items() if patterns.covers(each.path))
        if reason := each.problem or _ruled_out(each, within, without, options) or next(said, None):
            count.left_out[reason] += 1
        else:
            wanted.append(each)
    idle = {os.fsdecode(line) for rules in (within, without) if rules for line in rules.idle()}
    for line in {*options.include, *options.exclude} & idle:
        if "," in line:
            raise RepositoryError(
                f"no file matches {line!r}: a comma is part of a pattern; give each pattern by itself"
            )
    return wanted


def look_at(path: str, data: bytes | None) -> tuple[str | None, str | None]:
    """Return a file's text, None where it has none, and why its content may leave it out, None where nothing does."""
    if data is None:
        return None, "unreadable"
    decoded = decode(data)
    if decoded is None:
        return None, "binary"
    text, reason = decoded.text, left_out_by_text(decoded.text)
    # What is ASCII in a text must be it in the bytes, too, in which secrets are looked for.
    seen = data if decoded.encoding.has_ascii else text.encode("utf-8")
    return text, WITH_SECRETS if reason != "empty" and holds_secret(path, seen) else reason


def own_patterns(source: FileSource, most: int) -> list[bytes]:
    """Return the patterns of a root's ignore file, of `most` bytes."""
    data = source.read(IGNORE_FILE, most) or b""
    wide = decode(data)  # of PowerShell, whose `>` writes UTF-16; git reads none of its own
    return lines_of(wide.text.encode() if wide and not wide.encoding.has_ascii else data)


def _pattern(given: str, listed: Sequence[ListedFile]) -> bytes:
    """Return what a caller gave as git would have it.

    `./src` is `/src`, since no path begins with the former, and `[id]` is that name where a file or folder has
    it."""
    parts = (given.removeprefix(".") if given.startswith("./") else given).split("/")
    for at, part in enumerate(parts):
        if "[" in part and any(part in each.path.split("/") for each in listed if part in each.path):
            parts[at] = literal(part)
    return os.fsencode("/".join(parts))


def _attributed(lines: Sequence[bytes], reason: str) -> list[bytes]:
    """Return the patterns of `.gitattributes` that set `linguist-REASON`, and with a `!` those that unset it."""
    found: list[bytes] = []
    for pattern, *words in filter(None, map(bytes.split, lines)):
        for word in words:
            name, _, value = word.lstrip(b"-!").partition(b"=")
            if name == f"linguist-{reason}".encode() and pattern[:1] not in b"#![":
                unset = word[:1] in b"-!" or value == b"false"
                found.append(b"!" * unset + pattern)
    return found


def _ruled_out(
    each: ListedFile, within: Patterns | None, without: Patterns, options: WalkOptions
) -> str | None:
    if not each.path.isprintable():
        return "name that can't be written"  # line ends, or bytes that aren't UTF-8
    if within is not None and not within.covers(each.path):
        return "not included"
    if without.covers(each.path):
        return "excluded"
    if not options.everything and (reason := left_out_by_path(each.path)):
        return reason
    return f"larger than {options.most_bytes:,} bytes" if each.size > options.most_bytes else None
