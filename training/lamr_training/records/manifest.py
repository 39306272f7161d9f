"""The manifest of repositories: which, at which commit, under which licence, for which split.

It reads, checks and writes rows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

from lamr_evaluation.reserved import reserved_repository

from lamr_training.errors import CorpusError

SPLITS = ("train", "validation", "suite")
_NAME = re.compile(r"[\w-]+/[\w.-]+")
_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class Repository:
    """One row.

    Attributes:
        repository: `owner/name`.
        commit: whose ancestors are read, or whose files are the logs of sessions.
        licence: SPDX names; of several joined by OR one is enough, joined by AND all must be permissive.
        language: the one that most of it is written in.
        split: `train`, `validation`, or `suite` for what evaluations are made of and training never reads.
    """

    repository: str
    commit: str
    licence: str
    language: str
    split: str


def bundled_histories() -> list[Repository]:
    """The repositories that come with the distribution, by split; lamr-mini 0.5 was not trained on them."""
    return bundled_rows("histories.json", Repository)


def bundled_sessions() -> list[Repository]:
    """The repositories with recorded sessions of agents that come with the distribution, by split."""
    return bundled_rows("sessions.json", Repository)


def read_histories(path: Path) -> list[Repository]:
    """Read and check a manifest.

    Raises:
        CorpusError: it can't be read, isn't a manifest, or names a repository that may not be used.
    """
    rows = read_rows(path, Repository)
    check_histories(rows)
    return rows


def write_histories(rows: Iterable[Repository], path: Path) -> None:
    """Write rows as JSON, sorted by split, language and name."""
    write_rows(sorted(rows, key=lambda row: (row.split, row.language, row.repository.lower())), path)


def check_histories(rows: Sequence[Repository]) -> None:
    """Refuse what training may not read.

    Raises:
        CorpusError: with the repository's name and what to do about it.
    """
    seen: set[str] = set()
    for row in rows:
        if not _NAME.fullmatch(row.repository) or not _COMMIT.fullmatch(row.commit):
            raise CorpusError(f"{row.repository} {row.commit}: expected owner/name and a whole commit hash")
        if row.split not in SPLITS:
            raise CorpusError(f"{row.repository}: split {row.split!r}; expected one of {', '.join(SPLITS)}")
        if row.repository.lower() in seen:
            raise CorpusError(f"{row.repository}: twice in the manifest; remove one row")
        seen.add(row.repository.lower())
        if not permissive(row.licence):
            raise CorpusError(
                f"{row.repository}: licence {row.licence!r} isn't one we train on; remove the row"
            )
        reserved = reserved_repository(row.repository)
        if reserved:
            raise CorpusError(
                f"{row.repository}: kept for evaluation (as {reserved.repository}), so that training never sees it; "
                "remove the row"
            )


Row = TypeVar("Row")


def bundled_rows(name: str, row: type[Row]) -> list[Row]:
    """The rows of a manifest that comes with the distribution; `name` is its file in `data/`."""
    return _rows((resources.files("lamr_training") / "data" / name).read_text(encoding="utf-8"), row)


def read_rows(path: Path, row: type[Row]) -> list[Row]:
    """Read a manifest whose rows are of the dataclass `row`.

    Raises:
        CorpusError: the file can't be read, or isn't a manifest of such rows.
    """
    try:
        return _rows(path.read_text(encoding="utf-8"), row)
    except OSError as error:
        raise CorpusError(f"{path}: can't be read ({error.strerror or error})") from error
    except (ValueError, TypeError) as error:
        names = ", ".join(each.name for each in fields(row))  # type: ignore[arg-type]
        raise CorpusError(f"{path}: not a manifest ({error}); expected a JSON list of {names}") from error


def write_rows(rows: Iterable[Any], path: Path) -> None:
    """Write rows, one a line, so that a change of one row is one line of a difference."""
    lines = ",\n".join(" " + json.dumps(asdict(row)) for row in rows)
    path.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def _rows(text: str, row: type[Row]) -> list[Row]:
    return [row(**each) for each in json.loads(text)]


_NAMES = """
    0BSD Apache-2.0 BSD BSD-2-Clause BSD-3-Clause BSL-1.0 CC0-1.0 ISC LicenseRef-Repoze-BSD-derived MIT MS-PL PSF-2.0
    Unlicense Zlib
    """
PERMISSIVE = frozenset(_NAMES.split())
"""`BSD` is for those who don't say how many clauses theirs has."""
_CLASSIFIERS = {
    "ISC License (ISCL)": "ISC",
    "Python Software Foundation License": "PSF-2.0",
    "The Unlicense (Unlicense)": "Unlicense",
    "zlib/libpng License": "Zlib",
}
_APACHE = re.compile(r"Apache(?: Software)?(?: License)?,? *(?:(?:v|version )?2(?:\.0)?)?", re.I)


def permissive(licence: str) -> bool:
    """Whether an SPDX expression without brackets allows what training does: of OR one is enough, of AND all must."""
    return any(
        all(part.strip() in PERMISSIVE for part in re.split(r"\bAND\b", choice))
        for choice in re.split(r"\bOR\b", licence)
    )


def spdx(words: str) -> str:
    """The SPDX name of a trove classifier's last part, or of a few words; other words stay as they are."""
    if _APACHE.fullmatch(words):
        return "Apache-2.0"
    short = re.sub(r"^the |[ -]licen[cs]e$", "", words, flags=re.I).replace(" ", "-")
    return _CLASSIFIERS.get(words) or (short if short in PERMISSIVE else words)
