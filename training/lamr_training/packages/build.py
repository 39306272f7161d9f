"""Makes records out of packages: made questions about their files, and the written ones that come with lamr.

Records repeat neither file nor query, are split by project, and are the same for the same packages and seed. Packages
come from PyPI through pip. Only wheels are taken, so that no package's set-up code runs, and they are read in place. A
manifest pins name, version, licence and SHA-256; with one, the very same files are fetched again.
"""

from __future__ import annotations

import email
import hashlib
import random
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lamr_evaluation.records import Record, write_records
from lamr_evaluation.reserved import normalized, refuse_reserved, reserved_path
from lamr_evaluation.wheels import cached_wheel, download_wheel
from lamr_repositories.progress import OnProgress

from lamr_training.errors import CorpusError
from lamr_training.made.build import made_records
from lamr_training.made.settings import OF_PACKAGES, MadeSettings
from lamr_training.records.manifest import bundled_rows, permissive, read_rows, spdx, write_rows
from lamr_training.records.paths import FOREIGN_FOLDERS
from lamr_training.records.source_files import SourceFile, decoded
from lamr_training.records.written import WRITTEN, written_records

# Licences as the projects' own repositories have them; the packages don't declare one.
_FROM_REPOSITORY = {"cookiecutter": "BSD-3-Clause", "huey": "MIT", "peewee": "MIT"}


@dataclass(frozen=True)
class Package:
    """One package of the manifest.

    Attributes:
        name: the project's name, normalized.
        version: its version.
        licence: what its metadata declares, as an SPDX expression.
        sha256: SHA-256 of the wheel, in hex.
        file: the wheel's name.
        split: `train` or `validation`.
    """

    name: str
    version: str
    licence: str
    sha256: str
    file: str
    split: str


def bundled_manifest() -> list[Package]:
    """The packages that come with the distribution: those that train `lamr-mini` by default."""
    return bundled_rows("manifest.json", Package)


def read_manifest(path: Path) -> list[Package]:
    """Read what `write_manifest` wrote.

    Raises:
        CorpusError: the file can't be read, or isn't a manifest.
    """
    return read_rows(path, Package)


def write_manifest(packages: Iterable[Package], path: Path) -> None:
    """Write packages as JSON, sorted by split and name."""
    write_rows(sorted(packages, key=lambda package: (package.split, package.name)), path)


def fetch(names: Sequence[str], cache: Path, split: str, progress: OnProgress | None = None) -> list[Package]:
    """Download the newest wheel of each project that isn't in the cache yet, and describe all of them.

    Raises:
        ReservedError: a project is for evaluation only.
        DataError: pip can't download a project.
        CorpusError: a licence isn't permissive.
    """
    refuse_reserved(names)
    packages = []
    for number, name in enumerate(names):
        if progress:
            progress("packages", number, len(names))
        wheel = cached_wheel(name, cache) or download_wheel(name, cache)
        packages.append(describe(wheel, split))
    return packages


def choose_splits(training: Sequence[str], validation: Sequence[str]) -> dict[str, list[str]]:
    """Which projects train and which validate; if none validates, one in ten does, chosen by the hash of its name.

    Raises:
        CorpusError: a project is in both, or there are too few.
    """
    both = {normalized(name) for name in training} & {normalized(name) for name in validation}
    if both:
        raise CorpusError(f"{', '.join(sorted(both))}: a project can't train and validate")
    if not validation:
        ranked = sorted(training, key=lambda name: hashlib.sha256(normalized(name).encode()).hexdigest())
        validation = ranked[: max(1, round(len(ranked) / 10))]
    left = [name for name in training if name not in validation]
    if not left:
        raise CorpusError("one project can't both train and validate; name two or more")
    return {"train": left, "validation": list(validation)}


def fetch_pinned(
    packages: Sequence[Package], cache: Path, progress: OnProgress | None = None
) -> list[Package]:
    """Download exactly a manifest's files.

    Raises:
        ReservedError: a project is for evaluation only.
        DataError: pip can't download a project.
        CorpusError: a licence isn't permissive, or a file's hash isn't the manifest's.
    """
    refuse_reserved([package.name for package in packages])
    for package in packages:
        _check_licence(package.name, package.licence)
    for number, package in enumerate(packages, 1):
        if progress:
            progress("packages", number, len(packages))
        path = cache / package.file
        if not path.exists():
            download_wheel(package.name, cache, package.version)
        digest = hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else "nothing"
        if digest != package.sha256:
            raise CorpusError(
                f"{path}: sha256 {digest}, the manifest says {package.sha256}; remove the file and fetch again"
            )
    return list(packages)


def describe(wheel: Path, split: str) -> Package:
    """A wheel's entry in the manifest.

    Raises:
        CorpusError: the wheel declares no licence, or one that isn't permissive.
    """
    with zipfile.ZipFile(wheel) as archive:
        names = [n for n in archive.namelist() if n.endswith(".dist-info/METADATA") and n.count("/") == 1]
        if not names:
            raise CorpusError(f"{wheel}: a wheel without METADATA")
        head = email.message_from_bytes(archive.read(names[0]))
    name = normalized(str(head["Name"]))
    groups = (c.split("::") for c in head.get_all("Classifier") or [] if "License ::" in c)
    classifiers = [spdx(parts[-1].strip()) for parts in groups if parts[-1].strip() != "OSI Approved"]
    first_line = spdx(str(head.get("License") or "").strip().split("\n")[0])
    licence = str(head.get("License-Expression") or "") or " AND ".join(classifiers) or first_line
    licence = licence or _FROM_REPOSITORY.get(name, "")
    _check_licence(name, licence)
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    return Package(name, str(head["Version"]), licence, digest, wheel.name, split)


def _check_licence(name: str, licence: str) -> None:
    if not permissive(licence):
        raise CorpusError(f"{name}: licence {licence!r} isn't one we train on; leave the package out")


def source_files(packages: Iterable[Package], cache: Path) -> Iterator[SourceFile]:
    """The packages' own Python files, in a fixed order, without vendored and generated ones."""
    for package in packages:
        with zipfile.ZipFile(cache / package.file) as archive:
            for name in sorted(archive.namelist()):
                folders = name.lower().split("/")[:-1]
                if not name.endswith(".py") or FOREIGN_FOLDERS.intersection(folders) or reserved_path(name):
                    continue
                text = decoded(archive.read(name))
                if text is not None:  # otherwise a test's deliberately odd file; nothing to learn from
                    yield SourceFile(package.name, name, text, package.split, revision=package.version)


def build_packages(
    cache: Path,
    output: Path,
    *,
    packages: Sequence[Package] | None = None,
    settings: MadeSettings = OF_PACKAGES,
    progress: OnProgress | None = None,
) -> dict[str, int]:
    """Fetch the packages and write records about their files.

    Made questions go to `train.jsonl` and `validation.jsonl`, written ones to the files that `WRITTEN` names, and the
    packages to `manifest.json`.

    Args:
        cache: folder for downloaded wheels.
        output: folder to write into.
        packages: a manifest; the bundled one by default.
        settings: sizes.
        progress: called with packages and projects done.

    Returns:
        Number of records in each file, by the file's name without its ending.

    Raises:
        ReservedError: a package is for evaluation only.
        DataError: pip can't download a package.
        CorpusError: a package isn't what the manifest says, or a split got no records.
    """
    bundled = bundled_manifest()
    packages = fetch_pinned(bundled if packages is None else packages, cache, progress)
    records = package_records(source_files(packages, cache), settings, progress)
    output.mkdir(parents=True, exist_ok=True)
    write_manifest(packages, output / "manifest.json")
    counts = {}
    for split, rows in records.items():
        counts[split] = write_records(rows, output / f"{split}.jsonl")
        if not rows:
            raise CorpusError(
                f"no {split} records: none of the packages has files of {settings.min_lines} lines or more"
            )
    for split, name in WRITTEN.items():
        # the questions are about the versions that the bundled manifest pins
        pinned = [package for package in packages if package.split == split and package in bundled]
        rows = written_records(source_files(pinned, cache))
        counts[name.removesuffix(".jsonl")] = write_records(rows, output / name)
    return counts


def package_records(
    files: Iterable[SourceFile], settings: MadeSettings, progress: OnProgress | None = None
) -> dict[str, list[Record]]:
    """Records of made questions about the files of each split, shuffled; a file's copies count once."""
    by_project: dict[tuple[str, str], list[SourceFile]] = defaultdict(list)
    seen: set[str] = set()
    for file in files:
        digest = hashlib.sha256("".join(file.text.split()).encode("utf-8", "replace")).hexdigest()
        if digest not in seen:
            seen.add(digest)
            by_project[file.split, file.project].append(file)
    records: dict[str, list[Record]] = {"train": [], "validation": []}
    for number, ((split, project), own) in enumerate(sorted(by_project.items()), 1):
        if progress:
            progress("projects", number, len(by_project))
        random.Random(f"{settings.seed}:{project}").shuffle(own)
        records[split] += made_records(project, own, settings)
    for rows in records.values():
        random.Random(settings.seed).shuffle(rows)
    return records
