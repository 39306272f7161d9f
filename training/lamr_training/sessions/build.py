"""Makes records out of a manifest of repositories with recorded sessions; the same manifest and settings give the same.

Each big read in a session's log gives one: the words before it, and what was needed of it later. Reads are chosen so
that no session, file or repository gives too many.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from lamr_evaluation import histories as git
from lamr_evaluation.mirrors import run_git
from lamr_evaluation.records import Record
from lamr_repositories.progress import OnProgress
from lamr_sessions import FORMATS, BigRead, Event, big_reads, later_use, read_events, recognize

from lamr_training.records.manifest import Repository
from lamr_training.records.parts import Foreign, Repositories, Source, build_parts
from lamr_training.records.paths import shown_language, source_language

LEAST_BYTES, MOST_BYTES = 20_000, 60_000_000
"""A smaller log has no big read that was followed by anything; a larger one isn't worth the memory."""
_LOG = re.compile(r"\.(?:jsonl|traj|traj\.json)$|(?:^|/)full\.json$")
_FOLDER = re.compile(r'"cwd"\s*:\s*("(?:[^"\\]|\\.)+")')
_WORK_TREE = re.compile(r"^(?:\.claude/)?\.?worktrees/[^/]+/")


def session_logs(place: Path, commit: str) -> Iterator[tuple[str, str]]:
    """The names and texts of the blobs that can be logs, the largest first: checkpoints repeat a growing session.

    Args:
        place: the git directory.
        commit: whose files are read; what the directory lacks of them is left out.

    Raises:
        DataError: git can't read the commit.
    """
    listed = run_git("ls-tree", "-r", "-z", commit, place=place).stdout.decode("utf-8", "replace")
    rows = (row.split("\t", 1) for row in listed.split("\0") if row)
    names = {head.split()[2] for head, path in rows if _LOG.search(path)}
    sizes = git.sizes(place, names) if names else {}
    for size, name in sorted(((size, name) for name, size in sizes.items()), reverse=True):
        if LEAST_BYTES <= size <= MOST_BYTES:
            for text in git.blobs(place, [name]).values():
                yield name, text.decode("utf-8", "replace")


def working_folders(log: str, project: str) -> tuple[str, ...]:
    """The folders that a session worked in, the longest first.

    Args:
        log: its text.
        project: the repository's name. Where folders have it in their path the others don't count; else the one that
            the log names most often is the project's.
    """
    counts = Counter(_slashed(json.loads(found, strict=False)) for found in _FOLDER.findall(log))
    named = [folder for folder in counts if _named(folder.split("/"), project)]
    return tuple(sorted(named or [folder for folder, _ in counts.most_common(1)], key=len, reverse=True))


def project_path(path: str, folders: tuple[str, ...], project: str) -> str | None:
    """A file's path within the project; None where it lies elsewhere, as far as names tell.

    Args:
        path: as a tool was given it.
        folders: see `working_folders`; without any, the project is looked for by its name in the path.
        project: the repository's name.
    """
    path = _slashed(path).removeprefix("./")
    if path.startswith(("../", "~")):
        return None
    within = next((path[len(folder) + 1 :] for folder in folders if path.startswith(f"{folder}/")), None)
    if within is None and not path.startswith("/") and not re.match(r"\w:", path):
        within = path
    if within is None and not folders:
        *parts, file = path.split("/")
        start = _named(parts, project)
        within = "/".join([*parts[start:], file]) if start else None
    return _WORK_TREE.sub("", within) if within else None


def _slashed(path: str) -> str:
    return path.replace("\\", "/").rstrip("/")


def _named(parts: list[str], project: str) -> int:
    """How many folders lead to the one with the project's name, that one counted; 0 where there is none."""
    places = [place for place, part in enumerate(parts, 1) if part.lower() == project.lower()]
    return places[-1] if places else 0


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


@dataclass(frozen=True)
class SessionSettings:
    """Sizes.

    Attributes:
        per_repository, per_task, per_file: most records of a repository, of one user's message, and of a file in it.
        reads: what a read may be.
        seed: of every choice.
    """

    per_repository: int = 150
    per_task: int = 8
    per_file: int = 4
    reads: ReadSettings = field(default_factory=ReadSettings)
    seed: int = 0


def build_sessions(
    repositories: Repositories,
    output: Path,
    *,
    settings: SessionSettings | None = None,
    progress: OnProgress | None = None,
) -> dict[str, int]:
    """Write `train.jsonl`, `validation.jsonl` and `suite.jsonl`, the manifest, and `counts.json`.

    Args:
        repositories: what is read: repositories, and commits of theirs whose files are sessions' logs.
        settings: sizes.
        progress: called with repositories done.

    Returns:
        Number of records in each split.

    Raises:
        CorpusError: a repository may not be used, or lacks its commit.
        DataError: git can't have or read a repository, or `repositories.apart` isn't a file of records.
    """
    sizes = settings or SessionSettings()

    def make(row: Repository, where: Path, foreign: Foreign) -> Iterable[Record]:
        return _repository(row, where, sizes, foreign)

    sources = [Source(make, asdict(sizes), sizes.seed)]
    return build_parts(repositories, output / "sessions.json", sources, progress)


def _repository(row: Repository, place: Path, settings: SessionSettings, foreign: Foreign) -> list[Record]:
    """A repository's records: of each task some, and first those of the files that have the fewest."""
    rng = random.Random(f"{settings.seed}:{row.repository}")
    found: list[Record] = []
    calls: set[str] = set()
    seen: set[tuple[str, int, tuple[int, ...]]] = set()
    per_task: Counter[str] = Counter()
    per_file: Counter[str] = Counter()
    for name, log in session_logs(place, row.commit):
        for candidate in candidates(name, log, row, rng):
            task, path = candidate.read.task, candidate.path
            full = per_task[task] >= settings.per_task or per_file[path] >= settings.per_file
            if full or candidate.call in calls:
                continue
            calls.add(candidate.call)
            record = record_of(candidate, row, settings.reads, foreign)
            if record is None:
                continue
            same = (path, len(record.lines), record.kept_frags)  # read again and again, with the same to do
            if same not in seen:
                found.append(record)
                per_task[task] += 1
                per_file[path] += 1
            seen.add(same)
    rng.shuffle(found)
    places: Counter[str] = Counter()
    ranked = []
    for record in found:
        ranked.append((places[record.path], record))
        places[record.path] += 1
    ranked.sort(key=lambda pair: pair[0])
    return [record for _, record in ranked[: settings.per_repository]]
