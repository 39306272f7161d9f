"""Makes items about whole repositories out of their histories: a fix's message asks, the lines that it changed answer.

Only commits count that change one to three source files, and say so; tests and documents are no gold. The revision that
is searched is the commit's parent. Which commits and lines count otherwise is `edits`' and `gold`'s matter.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path, PurePosixPath

from lamr_contract.private_files import cache_folder
from lamr_evaluation.mirrors import clone, locate, run_git
from lamr_evaluation.repositories import RepositoryItem, write_items

from lamr_training.histories.edits import Candidate, EditSettings, candidates
from lamr_training.histories.gold import gold_of
from lamr_training.records import git
from lamr_training.records.headers import headers_of
from lamr_training.records.manifest import SPLITS, Repository, bundled_histories
from lamr_training.records.paths import holds_tests, shown_language, source_language

MOST_SOURCES = 3
MOST_GOLD = 60
"""Lines of all files together; a larger change has no place of its own."""
_FIX = re.compile(
    r"\b(?:fix(?:e[sd]|ing)?|bug|crash\w*|leak\w*|wrong\w*|incorrect\w*|broken|prevent\w*|avoid\w*|correct(?:ly|s|ed)?|"
    r"regression|fail(?:s|ed|ing|ure)?|properly|should(?:n't)?|don't|doesn't|missing|handle[sd]?|panic|overflow\w*)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[A-Za-z_]\w{3,}")
_BATCH = 100


def repository_items(row: Repository, place: Path, most: int) -> list[RepositoryItem]:
    """Return items of one repository, spread over its history by the hashes of its commits.

    Args:
        row: the repository, whose commit's ancestors are read.
        place: its git directory.
        most: items.

    Raises:
        DataError: git can't read the repository.
    """
    settings = EditSettings(most_sources=MOST_SOURCES, per_template=2)
    found = candidates(git.commits(place, row.commit), settings)
    fixes = (each for each in found if _FIX.search(each.message.prefix + each.message.subject))
    return list(islice(_items(row, place, fixes), most))


def _items(row: Repository, place: Path, fixes: Iterator[Candidate]) -> Iterator[RepositoryItem]:
    per_path: Counter[str] = Counter()
    while batch := list(islice(fixes, _BATCH)):
        diffs = git.diffs(place, [each.commit.sha for each in batch])
        blobs = git.blobs(place, (change.before for each in batch for change in each.commit.changes))
        for each in batch:
            item = _item(row, place, each, diffs.get(each.commit.sha, {}), blobs)
            if item is not None and all(per_path[path] < 2 for path in item.gold):
                per_path.update(item.gold.keys())
                yield item


def _item(
    row: Repository,
    place: Path,
    each: Candidate,
    hunks: dict[str, list[git.Hunk]],
    blobs: dict[str, bytes],
) -> RepositoryItem | None:
    gold: dict[str, tuple[int, ...]] = {}
    names: set[str] = set()
    language = ""
    for change in each.commit.changes:
        known = source_language(change.path)
        if known is None or holds_tests(change.path):
            continue
        if change.status != "M":
            return None  # what the fix needed wasn't there
        lines = _lines(blobs.get(change.before, b""))
        found = gold_of(hunks.get(change.path, []), lines, known.name)
        if found is None:
            continue
        gold[change.path] = found.lines
        language = language or shown_language(known.name, row.language)
        names |= {PurePosixPath(change.path).stem.lower()}
        headers = headers_of(found.lines, lines)
        names |= {word.lower() for n in headers for word in _WORD.findall(lines[n - 1])}
    count = sum(map(len, gold.values()))
    if not gold or count > MOST_GOLD or len(gold) > MOST_SOURCES:
        return None
    message = each.message
    query = f"{message.subject}\n\n{message.body}" if message.body else message.subject
    said = {word.lower() for word in _WORD.findall(query) if "_" in word or word != word.lower()}
    parent = run_git("rev-parse", f"{each.commit.sha}^", place=place, check=False)
    if parent.returncode:
        return None
    return RepositoryItem(
        repository=row.repository,
        revision=parent.stdout.decode().strip(),
        query=query,
        gold=gold,
        language=language or row.language,
        names_it=bool(said & names),
        id=f"{row.repository}@{each.commit.sha[:12]}",
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Write items of the bundled manifest's repositories: `python -m lamr_training.histories.repository_items OUT`."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("out", type=Path, help="the file of items, for lamr eval --repositories")
    parser.add_argument("--split", choices=SPLITS, default="suite", help="of the manifest (%(default)s)")
    parser.add_argument("--most", type=int, default=5, help="items of one repository (%(default)s)")
    parser.add_argument(
        "--mirror", type=Path, help="folder of bare repositories named owner+name; default: clones"
    )
    given = parser.parse_args(arguments)
    clones = cache_folder() / "repositories"
    items: list[RepositoryItem] = []
    for row in bundled_histories():
        if row.split == given.split:
            place = locate(row.repository, given.mirror) if given.mirror else clone(row.repository, clones)
            items += repository_items(row, place, given.most)
    print(f"{write_items(items, given.out)} items in {given.out}")  # noqa: T201  # what the command is for


def _lines(data: bytes) -> Sequence[str]:
    return data.decode("utf-8", "replace").replace("\r\n", "\n").split("\n")


if __name__ == "__main__":
    main()
