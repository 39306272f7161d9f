"""Questions that were written while reading files, as records: they trained the shipped model, and fitted its scores.

`data/written.jsonl` is about Python files of the wheels that `data/manifest.json` pins, `data/written-histories.jsonl`
about files of ten other languages at the commits that `data/histories.json` pins. `python -m lamr_training.written -o
records` gets those files and writes the records into the files that `WRITTEN` names, where `lamr
train` finds them."""

import argparse
import functools
import hashlib
import json
import sys
import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

from lamr_base.errors import LamrError
from lamr_base.private_files import cache_folder
from lamr_evaluation import mirrors as git
from lamr_evaluation.mirrors import clone, locate
from lamr_evaluation.records import Record, write_records
from lamr_evaluation.reserved import refuse_reserved
from lamr_evaluation.wheels import WHEELS, download_wheel
from lamr_postprocess.detection import detect_language
from lamr_postprocess.lines import line_spans

from lamr_training.commits import check_repository, text_of
from lamr_training.errors import CorpusError

WRITTEN = {"train": "written.jsonl", "validation": "written-validation.jsonl"}
"""The file of written questions about each split."""
ABOUT_PACKAGES, ABOUT_HISTORIES = "written.jsonl", "written-histories.jsonl"
"""The package's questions about files of packages and of repositories."""
Row = TypeVar("Row")


@dataclass(frozen=True)
class Package:
    """A wheel that questions are about; `split` is `train` or `validation`."""

    name: str
    version: str
    licence: str
    sha256: str
    file: str
    split: str


@dataclass(frozen=True)
class Repository:
    """A repository at the commit that questions are about; `split` may also be `suite`, which nothing trains on."""

    repository: str
    commit: str
    licence: str
    language: str
    split: str


@dataclass(frozen=True)
class WrittenQuestion:
    """One question as it is stored."""

    project: str  # name of the package or repository, as the manifest has it
    path: str  # the file's path in it
    query: str
    kind: str  # in which manner it asks: how, why, where and so on
    gold: tuple[tuple[int, int], ...]  # first and last lines, 1-based, of the parts that answer
    task: str = ""  # what the question serves, such as what an agent's user asked for


def bundled_packages() -> list[Package]:
    """Return the wheels that questions are about."""
    return _bundled_rows("manifest.json", Package)


def bundled_repositories() -> list[Repository]:
    """Return the repositories that questions are about, and others that trained the shipped model."""
    return _bundled_rows("histories.json", Repository)


def bundled_questions(name: str = ABOUT_PACKAGES) -> list[WrittenQuestion]:
    """Return all written questions of one of the package's two files."""
    rows = (json.loads(line) for line in _bundled(name).split("\n") if line)
    return [WrittenQuestion(**{**row, "gold": tuple(map(tuple, row["gold"]))}) for row in rows]


def _bundled(name: str) -> str:
    return (resources.files("lamr_training") / "data" / name).read_text(encoding="utf-8")


def _bundled_rows(name: str, row: Callable[..., Row]) -> list[Row]:
    return [row(**each) for each in json.loads(_bundled(name))]


def as_records(texts: Mapping[str, str], questions: Iterable[WrittenQuestion]) -> Iterator[Record]:
    """Yield the questions about one project's files as records."""
    for question in questions:
        text = texts.get(question.path)
        count = 0 if text is None else len(line_spans(text))
        lines = {number for first, last in question.gold for number in range(first, last + 1)}
        if text is None or not lines or max(lines) > count:
            raise CorpusError(
                f"{question.project}: {question.path} has {count} lines, a question is about line "
                f"{max(lines, default=0)}; fetch the version that the manifest pins"
            )
        about: dict[str, Any] = {"path": question.path, "project": question.project, "kind": question.kind}
        language = detect_language("", question.path).name
        yield Record(question.query, text, tuple(lines), language=language, task=question.task, **about)


def written_records(split: str, wheels: Path, place: Callable[[str], Path]) -> Iterator[Record]:
    """Yield the records of a split, and get the files that they are about."""
    asked: defaultdict[str, list[WrittenQuestion]] = defaultdict(list)
    for question in (*bundled_questions(), *bundled_questions(ABOUT_HISTORIES)):
        asked[question.project].append(question)
    for package in bundled_packages():
        if package.split == split and (questions := asked[package.name]):
            yield from as_records(_texts_of_wheel(package, wheels, questions), questions)
    for row in bundled_repositories():
        if row.split == split and (questions := asked[row.repository]):
            check_repository(row.repository)
            where, wanted = place(row.repository), {question.path for question in questions}
            blobs = {path: blob for path, blob, _ in git.files(where, row.commit) if path in wanted}
            contents = git.blobs(where, blobs.values())
            texts = {path: text_of(contents.get(blob, b"\0")) for path, blob in blobs.items()}
            yield from as_records({path: text for path, text in texts.items() if text is not None}, questions)


def _texts_of_wheel(package: Package, wheels: Path, questions: Iterable[WrittenQuestion]) -> dict[str, str]:
    refuse_reserved([package.name])
    wheel = wheels / package.file
    if not wheel.exists():
        download_wheel(package.name, wheels, package.version)
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest() if wheel.exists() else "nothing"
    if digest != package.sha256:
        raise CorpusError(
            f"{wheel}: sha256 {digest}, the manifest says {package.sha256}; remove the file and fetch again"
        )
    with zipfile.ZipFile(wheel) as archive:
        texts = {path: text_of(archive.read(path)) for path in {question.path for question in questions}}
    return {path: text for path, text in texts.items() if text is not None}


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(
        prog="python -m lamr_training.written", description="Write the written questions as training records."
    )
    parser.add_argument("-o", "--output", required=True, type=Path, help="folder for the records")
    parser.add_argument(
        "--mirror", type=Path, help="folder of bare repositories named owner+name; default: clones"
    )
    options = parser.parse_args()
    find, folder = (locate, options.mirror) if options.mirror else (clone, cache_folder() / "repositories")
    place = functools.partial(find, folder=folder)
    options.output.mkdir(parents=True, exist_ok=True)
    try:
        for split, name in WRITTEN.items():
            target = options.output / name
            count = write_records(written_records(split, cache_folder() / WHEELS, place), target)
            sys.stdout.write(f"{count:,} in {target}\n")
    except LamrError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
