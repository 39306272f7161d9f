"""From the text of a session's log to records: each big read, the words before it, and what was needed of it later."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lamr_evaluation.records import Record
from lamr_sessions import FORMATS, BigRead, Event, big_reads, later_use, read_events, recognize

from lamr_training.records.manifest import Repository
from lamr_training.records.parts import Foreign
from lamr_training.records.paths import shown_language, source_language
from lamr_training.sessions.logs import project_path, working_folders

MOST_QUERY, MOST_TASK = 1200, 6000
"""Characters: the end of what the assistant said last, and the beginning of what the user wants."""
_SECRET = re.compile(
    r"AKIA[0-9A-Z]{16}|\bgh[pousr]_\w{30,}|\bgithub_pat_\w{30,}|\bsk-[\w-]{24,}|\bxox[bp]-[\w-]{20,}|\bAIza[\w-]{35}|"
    r"BEGIN [A-Z ]*PRIVATE KEY|\beyJ[\w-]{20,}\.[\w-]{20,}\.[\w-]{10,}"
)
_HOME = re.compile(r"(?:/Users|/home|[A-Z]:\\Users)[/\\][\w.-]+")


@dataclass(frozen=True)
class ReadSettings:
    """What a read may be.

    Attributes:
        least_lines, most_lines, most_characters: of what it showed.
        most_share: of its lines that were needed later; where it is nearly all there is nothing to learn.
    """

    least_lines: int = 40
    most_lines: int = 1500
    most_characters: int = 60_000
    most_share: float = 0.5


@dataclass(frozen=True)
class Candidate:
    """A big read of a file of the project, before anything that takes long was asked of it.

    Attributes:
        read, session: the read, and the events of its session.
        path, language: of the file, within the project and as counts show it.
        log: the name of the log's blob.
    """

    read: BigRead
    session: Sequence[Event]
    path: str
    language: str
    log: str

    @property
    def call(self) -> str:
        """The call's name, which the logs of a growing session share; else its place in its log."""
        return self.read.call.call or f"{self.log[:12]}.{self.read.place}"


def candidates(name: str, log: str, row: Repository, rng: random.Random) -> Iterator[Candidate]:
    """The big reads of one log in a random order; none where no known host writes such a log.

    Args:
        name: of the log's blob.
        log: its text.
        row: the repository that holds it. Files that lie elsewhere, vendored and generated ones give nothing.
        rng: of the order.
    """
    form = recognize(log, FORMATS)
    if form is None:
        return
    try:
        session = read_events(log, form)
    except ValueError:  # one JSON value that was cut off
        return
    project = row.repository.split("/")[1]
    folders = working_folders(log, project)
    reads = list(big_reads(session))
    rng.shuffle(reads)
    for read in reads:
        path = project_path(read.read.path, folders, project)
        language = source_language(path) if path else None
        if path and language:
            yield Candidate(read, session, path, shown_language(language.name, row.language), name)


def record_of(
    candidate: Candidate, row: Repository, settings: ReadSettings, foreign: Foreign
) -> Record | None:
    """The record of a read; None if it isn't as the settings say, nothing of it was needed, or it holds a secret."""
    read, lines = candidate.read, candidate.read.shown.lines
    code = "\n".join(lines) + "\n"
    own, task = _anonymous(read.own_words)[-MOST_QUERY:].strip(), _anonymous(read.task)[:MOST_TASK].strip()
    fits = settings.least_lines <= len(lines) <= settings.most_lines and len(code) <= settings.most_characters
    if not fits or not (own or task) or any(map(_SECRET.search, (code, own, task))):
        return None
    gold = later_use(read, candidate.session).lines
    if len(gold) > settings.most_share * len(lines) or not any(lines[n - 1].strip() for n in gold):
        return None
    if foreign(candidate.path, code):
        return None
    query, task = (own, task) if own else (task[:MOST_QUERY], task if len(task) > MOST_QUERY else "")
    return Record(
        query,
        code,
        gold,
        path=candidate.path,
        project=row.repository,
        kind="session",
        id=f"{row.repository}@{candidate.log[:12]}:{candidate.call}",
        language=candidate.language,
        task=task,
    )


def _anonymous(words: str) -> str:
    """Words without the names of people's home folders."""
    return _HOME.sub("~", words)
