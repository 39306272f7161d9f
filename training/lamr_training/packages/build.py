"""Makes records out of packages: made questions about their files, and the written ones that come with lamr.

Records repeat neither file nor query, are split by project, and are the same for the same packages and seed.
"""

from __future__ import annotations

import hashlib
import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from lamr_evaluation.records import Record, write_records
from lamr_repositories.progress import OnProgress

from lamr_training.errors import CorpusError
from lamr_training.made.build import made_records
from lamr_training.made.settings import OF_PACKAGES, MadeSettings
from lamr_training.packages.fetch import Package, bundled_manifest, fetch_pinned, source_files, write_manifest
from lamr_training.records.source_files import SourceFile
from lamr_training.records.written import WRITTEN, written_records


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
