"""Takes the logs of recorded sessions out of git mirrors, by a table of blobs; none is of a project for evaluation."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lamr_evaluation.errors import ReservedError
from lamr_evaluation.mirrors import run_git
from lamr_evaluation.reserved import reserved_repository

TABLE = Path(__file__).with_name("sessions.jsonl")


@dataclass(frozen=True)
class Project:
    """A repository with recorded sessions.

    Attributes:
        repository: `owner/name`.
        commits: whose files the logs are.
        licence: its name, `none` where the repository has no file of one.
        split: `fit` or `test`.
        logs: git's names of the blobs.
    """

    repository: str
    commits: tuple[str, ...]
    licence: str
    split: str
    logs: tuple[str, ...]

    @property
    def folder(self) -> str:
        """The name of its folder."""
        return self.repository.replace("/", "+")


def projects(table: Path = TABLE) -> list[Project]:
    """The rows of the table.

    Raises:
        ReservedError: a project is for evaluations only.
    """
    rows = [json.loads(line) for line in table.read_text(encoding="utf-8").splitlines()]
    found = [Project(**{**row, "commits": tuple(row["commits"]), "logs": tuple(row["logs"])}) for row in rows]
    if refused := [each.repository for each in found if reserved_repository(each.repository)]:
        raise ReservedError(f"{', '.join(refused)}: for evaluations only, so that nothing is fitted on it")
    return found


def write_logs(mirrors: Path, into: Path) -> Iterator[tuple[Project, int, int]]:
    """Write each project's logs into a folder of its own.

    Args:
        mirrors: holds a git directory `OWNER+NAME/repo` for each repository.
        into: where the folders are made.

    Yields:
        Each project with the number of its logs that were written, and of those that its mirror lacks.
    """
    for project in projects():
        place = mirrors / project.folder / "repo"
        place = place / ".git" if (place / ".git").is_dir() else place
        written = 0
        for blob in project.logs if place.is_dir() else ():
            done = run_git("cat-file", "blob", blob, place=place, check=False)
            if done.returncode == 0:
                file = into / project.folder / f"{blob}.jsonl"
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(done.stdout)
                written += 1
        yield project, written, len(project.logs) - written
