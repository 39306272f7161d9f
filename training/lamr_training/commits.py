"""Makes training records of a repository's commits: the message asks, and the lines that the commit changed answer.

`python -m lamr_training.commits FOLDER -o records` writes `train.jsonl` and `validation.jsonl`, which `lamr train`
reads. A record shows the file as it was before the commit. One file in ten validates, chosen by the hash of its path.
Projects that are kept for evaluation, and copies of their files, are left out."""

import argparse
import random
import re
import sys
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

from lamr_base.errors import LamrError
from lamr_evaluation import mirrors as git
from lamr_evaluation.mirrors import run_git
from lamr_evaluation.records import Record, write_records
from lamr_evaluation.reserved import VENDOR_FOLDERS, reserved_path, reserved_repository
from lamr_postprocess import decode
from lamr_postprocess.detection import detect_language
from lamr_postprocess.languages.table import name_set
from lamr_repositories.revisions import is_bare

from lamr_training.errors import CorpusError

LEAST_WORDS = 4  # of a message
MOST_QUERY = 2_000  # characters of it
MOST_FILES, MOST_SOURCES = 10, 4  # that a commit changes
LEAST_LINES, MOST_LINES, MOST_CHARACTERS = 40, 4_000, 200_000  # of a file
PER_PATH = 12  # records of one file
LARGEST_GOLD = 0.4  # share of a file that a commit changes
LONGEST_INSERTION = 15
"""Lines that are only inserted and are no more than this belong to the lines around them; more stand alone."""
ABSENT = 0.2  # Share of the records whose query is asked again about a file that its commit didn't change
_BATCH = 150  # commits whose diffs and files are in memory at a time

_LANGUAGES = name_set("python javascript typescript tsx java go rust c cpp csharp ruby php")
_FOREIGN = VENDOR_FOLDERS | {"dist", "build", "out", "gen", "generated", "locale", "migrations", "fixtures"}
_SKIPPED = re.compile(
    r"(?:^|[/._-])(?:tests?|specs?|__tests__|testing|e2e|testdata|conftest)[/._-]|(?:Tests?|Spec)\.\w+$|"
    r"\.min\.\w+$|\.pb\.\w+$|_pb2(?:_grpc)?\.py$|\.[Dd]esigner\.cs$|[._]generated\.|_gen\.go$|\.d\.ts$|version\w*\.\w+$"
)
_NO_PLACE = re.compile(
    r"^(?:fixup|squash|amend)!|\b(?:merged?|reverts?|bump|release|version|wip|typos?|renamed?|(?:re)?format(?:ting)?|"
    r"lint(?:er|ing)?|whitespace|changelog|copyright|licen[cs]es?|back-?port|docs?|documentation|docstrings?)\b",
    re.I,
)
_TRAILER = re.compile(
    r"^\s*(?:[A-Z][a-z]+(?:-[A-Za-z]+)+|(?:fix|close|resolve)[sd]?|refs?|see|cc|bug|issue|pr)\s*[:#].*$",
    re.I | re.M,
)
_REFERENCE = re.compile(r"\s*\(?(?:[\w.-]+/[\w.-]+)?#\d+\)?|\s*<?https?://\S+")
_WORD = re.compile(r"[A-Za-z][A-Za-z']+")
_BARE = re.compile(r"[\s{}()\[\];,]*$|\s*(?:end|else|do|then|begin)\s*$")
_SILENT = re.compile(r"\s*(?:#|//|/?\*|import\b|from\s+\S+\s+import\b|using\b|use\b|package\b|require\b)")
_ASIDE = re.compile(r"\s*(?://|/\*|\*/|\*\s|\*$|#\s)|#")  # comments and preprocessor lines head nothing
_GOES_ON = re.compile(r"[{})\]]|(?:else|elif|elsif|catch|except|finally|rescue|ensure|when|case|default)\b")


def is_source(path: str) -> bool:
    """Return whether a path is that of code which the project wrote by hand, tests apart."""
    foreign = (
        _FOREIGN.intersection(path.lower().split("/")[:-1]) or _SKIPPED.search(path) or reserved_path(path)
    )
    return not foreign and detect_language("", path).name in _LANGUAGES


def query_of(message: str) -> str:
    """Return a message without trailers and references, or an empty text if it says nothing of a place in the code."""
    text = _REFERENCE.sub("", _TRAILER.sub("", message)).strip()[:MOST_QUERY]
    leads = not _NO_PLACE.search(text.partition("\n")[0]) and len(_WORD.findall(text)) >= LEAST_WORDS
    return text if leads else ""


def gold_of(hunks: Iterable[git.Hunk], lines: Sequence[str]) -> tuple[int, ...]:
    """Return the 1-based lines that hunks change or remove, and those around short insertions. Changes of nothing but
    spaces, comments or imports count for nothing."""
    gold: set[int] = set()
    for hunk in hunks:
        old, new = ("".join("".join(texts).split()) for texts in (hunk.removed, hunk.added))
        if old == new or all(_BARE.match(text) or _SILENT.match(text) for text in hunk.removed + hunk.added):
            continue
        if hunk.removed:
            gold.update(range(hunk.line, hunk.line + len(hunk.removed)))
        elif len(hunk.added) <= LONGEST_INSERTION:
            for near in (range(hunk.line, max(0, hunk.line - 3), -1), range(hunk.line + 1, hunk.line + 4)):
                gold.update(islice((n for n in near if n <= len(lines) and lines[n - 1].strip()), 1))
    return tuple(n for n in sorted(gold) if n <= len(lines) and not _BARE.match(lines[n - 1]))


def headers_of(gold: Sequence[int], lines: Sequence[str]) -> tuple[int, ...]:
    """Return the conditions, functions and classes around gold lines: lines above them that are indented less."""
    headers: set[int] = set()
    for number in gold:
        limit = _indent(lines[number - 1])
        if number - 1 in gold and _indent(lines[number - 2]) <= limit:
            continue  # the line before leads to the same headers
        for place in range(number - 1, 0, -1):
            if not limit:
                break
            text = lines[place - 1]
            if _indent(text) < limit and text.strip() and not _ASIDE.match(text):
                # The header of a branch or brace stands as far left as it does.
                limit = _indent(text) + bool(_GOES_ON.match(text.strip()))
                if not _BARE.match(text):
                    headers.add(place)
    return tuple(sorted(headers - set(gold)))


def _indent(text: str) -> int:
    return len(text.expandtabs(4)) - len(text.expandtabs(4).lstrip())


def check_repository(repository: str) -> None:
    """Check that `owner/name` may be trained on."""
    if reserved := reserved_repository(repository):
        raise CorpusError(
            f"{repository}: kept for evaluation (as {reserved.repository}), training never sees it; leave it out"
        )


def text_of(data: bytes) -> str | None:
    """Return the text of a file with `\\n` for `\\r\\n`; None where it isn't text."""
    decoded = decode(data)
    return None if decoded is None else decoded.text.replace("\r\n", "\n")


def commit_records(place: Path, repository: str, commit: str = "HEAD") -> Iterator[Record]:
    """Yield the records of a commit and its ancestors, in the order of their hashes, so that the first are a sample."""
    check_repository(repository)
    chosen: dict[str, tuple[git.Commit, list[git.ChangedFile]]] = {}
    for each in sorted(git.commits(place, commit), key=lambda each: each.sha):
        sources = [change for change in each.changes if change.status == "M" and is_source(change.path)]
        query = query_of(each.message)
        if query and len(each.changes) <= MOST_FILES and 1 <= len(sources) <= MOST_SOURCES:
            chosen.setdefault(query, (each, sources))
    rows, rng = iter(chosen.items()), random.Random(repository)
    per_path: Counter[str] = Counter()
    before: list[Record] = []
    while batch := list(islice(rows, _BATCH)):
        names = {change.before for _, (_, sources) in batch for change in sources}
        small = (name for name, size in git.sizes(place, names).items() if size <= MOST_CHARACTERS)
        contents, diffs = git.blobs(place, small), git.diffs(place, [each.sha for _, (each, _) in batch])
        for query, (each, sources) in batch:
            touched = {change.path for change in each.changes}
            for change in sources:
                hunks = diffs.get(each.sha, {}).get(change.path, [])
                code = text_of(contents.get(change.before, b"")) or ""
                record = _record(query, change.path, code, hunks)
                if record is None or per_path[change.path] == PER_PATH:
                    continue
                per_path[change.path] += 1
                record = replace(record, project=repository, id=f"{repository}@{each.sha[:12]}:{change.path}")
                yield record
                others = [other for other in before[-12:] if other.path not in touched]
                before.append(record)
                if others and rng.random() < ABSENT:
                    other, name = rng.choice(others), f"{record.id}-absent"
                    yield replace(
                        other, query=query, kept_frags=(), frame=(), score=0.0, kind="absent", id=name
                    )


def _record(query: str, path: str, code: str, hunks: Iterable[git.Hunk]) -> Record | None:
    lines = code.split("\n")
    gold = gold_of(hunks, lines)
    if (
        "\r" in code
        or not LEAST_LINES <= len(lines) <= MOST_LINES
        or not 1 <= len(gold) <= LARGEST_GOLD * len(lines)
    ):
        return None
    language = detect_language("", path).name
    return Record(query, code, gold, path=path, kind="edit", language=language, frame=headers_of(gold, lines))


def write_commits(folders: Iterable[Path], output: Path, most: int = 1_000) -> dict[str, int]:
    """Write the records of clones or bare repositories, at most so many of each, in a random order."""
    records: list[Record] = []
    for folder in folders:
        place = next((each for each in (folder / ".git", folder) if is_bare(each)), None)
        if place is None:
            raise CorpusError(f"{folder}: neither a clone nor a bare repository; clone it there")
        asked = run_git("config", "--local", "--get", "remote.origin.url", place=place, check=False)
        known = asked.stdout.decode().strip() or str(folder.resolve()).replace("+", "/")
        parts = re.split(r"[/:\\]", known.rstrip("/").removesuffix(".git"))
        records += islice(commit_records(place, "/".join(parts[-2:])), most)
    random.Random(0).shuffle(records)
    output.mkdir(parents=True, exist_ok=True)
    splits: dict[str, list[Record]] = {"train.jsonl": [], "validation.jsonl": []}
    for record in records:
        validates = not zlib.crc32(f"{record.project}/{record.path}".encode()) % 10
        splits["validation.jsonl" if validates else "train.jsonl"].append(record)
    return {name: write_records(rows, output / name) for name, rows in splits.items()}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(
        prog="python -m lamr_training.commits", description="Make training records of repositories' commits."
    )
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER", help="a clone or bare repository")
    parser.add_argument("-o", "--output", required=True, type=Path, help="folder for the records")
    parser.add_argument("--most", type=int, default=1_000, help="records of one repository (default: 1000)")
    options = parser.parse_args(arguments)
    try:
        counts = write_commits(options.folders, options.output, options.most)
    except LamrError as error:
        parser.error(str(error))
    sys.stdout.write("".join(f"{count:,} in {options.output / name}\n" for name, count in counts.items()))


if __name__ == "__main__":
    main()
