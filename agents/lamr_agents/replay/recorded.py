"""A log, read for a replay: its bill, and each result of a tool with what a host knew when it came.

Nothing here depends on how a result is cut. As for hosts, a file counts as shown before if an earlier result that is
still in the context showed it, and not just a range of it. Nothing is made up for a log that doesn't account for its
requests: it has an empty bill, and one context from its beginning to its end."""

import contextlib
import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import field, replace
from functools import cached_property
from itertools import accumulate
from pathlib import Path

from lamr_base.records import dataclass
from lamr_client import InvalidInputError
from lamr_postprocess import approximate_tokens

from lamr_agents import sessions
from lamr_agents.hosts import HOSTS
from lamr_agents.intent import Intent, Known, intent_of
from lamr_agents.policy import FOR_A_SCRIPT, Policy, ToolResult
from lamr_agents.replay.bill import COMPACTED, Bill, PriceTable
from lamr_agents.sessions import BigRead, Event, Read
from lamr_agents.sessions.reads import answered
from lamr_agents.sessions.shown import shown_lines
from lamr_agents.sessions.tools import question_of, read_of, same_file
from lamr_agents.skim import asked_for

_ENDINGS = (".jsonl", ".json", ".traj")


class LogError(InvalidInputError):
    """No log of a known host was found."""


class NoSessionError(InvalidInputError):
    """A file holds nothing that can be replayed; the message says why."""


def find_logs(paths: Iterable[Path], home: Path | None = None) -> list[Path]:
    """Possible logs: the named files, files in named folders, or without names those of every host in the home.

    A conversation of OpenHands is a folder, and one log."""
    paths = list(paths)
    for path in paths:
        if not path.exists():
            raise LogError(f"{path}: doesn't exist; name files of sessions or folders that hold some")
    known = [(host.folder.path(home), host.logs) for host in HOSTS.values() if host.folder and host.logs]
    # Reading a pipe that lies there would never end; one that is named is meant.
    places = paths or [
        place for folder, form in known for place in folder.glob(form) if place.is_file() or place.is_dir()
    ]
    found = list(_under(places))
    if not found:
        where = ", ".join(_short(path, home) for path in paths or (folder / form for folder, form in known))
        raise LogError(f"no logs of sessions in {where}; name files or folders")
    return sorted(set(found))


def _short(path: Path, home: Path | None) -> str:
    """A path as people write it who are at home."""
    try:
        return f"~/{path.relative_to(home or Path.home())}"
    except (ValueError, RuntimeError):
        return str(path)


def _under(paths: Iterable[Path]) -> Iterator[Path]:
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        folders = {
            folder
            for folder in (path, *path.rglob("*"))
            if folder.is_dir() and sessions.is_conversation(folder)
        }
        yield from folders
        for file in path.rglob("*"):
            if file.suffix in _ENDINGS and file.is_file() and folders.isdisjoint(file.parents):
                yield file


LEAST_TOKENS = 200  # a smaller result that is no big read isn't looked at: no cut of it pays for its marker
_HOSTS = Policy()
_UNKNOWN = Intent("", "", "nothing")
_OF_THE_MODEL = ("assistant", "thought", "call")


@dataclass(frozen=True)
class Result:
    """A tool's result."""

    place: int  # its index among the session's events
    record: int  # the index of the log's record that it is from
    asked: ToolResult  # its text and what was asked for; a read holds only the file's lines
    intent: Intent = _UNKNOWN  # what the agent is after; nothing where the result is no big read
    big: BigRead | None = None  # the read; None where the result doesn't show much of one source file
    uses: Sequence[sessions.Use] = ()  # what later events do with its lines; only of a big read

    @property
    def later(self) -> sessions.LaterUse:
        """The lines that the session needed later."""
        return sessions.use_in_all(self.uses)


@dataclass(frozen=True)
class Recorded:
    """A session as it was."""

    log: Path  # the file, or a conversation's folder
    host: str  # the host that wrote it
    about: sessions.About  # its name and folder
    model: str  # the model of most requests; empty where the log doesn't say
    bill: Bill  # its requests and their prices; empty where the log doesn't say what its requests read
    events: Sequence[Event] = field(default=(), repr=False)  # what happened
    own: int = 0  # the first record that isn't a copy from another log
    broken: int = 0  # lines of the log that can't be read, but for a last one that is being written
    by_a_script: re.Pattern[str] | None = None  # see `LogFormat`

    @cached_property
    def results(self) -> Sequence[Result]:
        """The results of tools, in their order, without those that were copied."""
        return [
            result
            for result in _results(self.events, self.bill, self.by_a_script)
            if result.record >= self.own
        ]

    @property
    def name(self) -> str:
        """The session's name, which its sub-agents' logs share; the log's path where it has none."""
        return self.about.name or str(self.log)

    @property
    def project(self) -> str:
        """The project's name; that of the log's folder where the log names none."""
        return self.about.project or self.log.parent.name


def record_of(log: Path, prices: PriceTable, known: Collection[str] = ()) -> Recorded:
    """Read a log."""
    text = sessions.read_log(log)
    form = sessions.recognize(text, sessions.FORMATS)
    if form is None:
        raise NoSessionError("no log of a known host" if _is_json(text) else "no JSON, or cut off")
    try:
        records = sessions.read_records(text, form)
    except ValueError as error:
        raise NoSessionError(f"a log of {form.name} that can't be read: {error}") from error
    events, requests = sessions.events_of(records, form), sessions.requests_of(records, form)
    if not requests and not any(event.kind in _OF_THE_MODEL for event in events):
        raise NoSessionError(f"a session of {form.name} without a request")
    copied = [request.record for request in requests if request.answer in known and request.answer]
    own = [request for request in requests if not request.answer or request.answer not in known]
    if requests and not own:
        raise NoSessionError(f"a copy of other sessions of {form.name}")
    first = max(copied, default=-1) + 1
    names = [request.model for request in own]
    bill = Bill.of(own, prices)
    return Recorded(
        log=log,
        host=form.name,
        about=sessions.about_of(records, form),
        model=max(set(names), key=lambda name: (names.count(name), name), default=""),
        bill=bill if _is_complete(bill, [each for each in events if each.record >= first]) else Bill((), ()),
        events=events,
        own=first,
        broken=_broken(text, len(records)) if form.records is None else 0,
        by_a_script=form.by_a_script,
    )


def _is_json(text: str) -> bool:
    """Whether a text is one JSON value, or its first line is one."""
    for part in (text, text.strip().split("\n", 1)[0]):
        with contextlib.suppress(ValueError, RecursionError):
            json.loads(part)
            return True
    return False


def _broken(text: str, records: int) -> int:
    lines = [line for line in text.split("\n") if line.strip()]
    return len(lines) - records - (not _is_json(lines[-1]))


def _is_complete(bill: Bill, events: Iterable[Event]) -> bool:
    """Whether each request says that it read at least the results that were new to it, or one before it did, so that
    the context may have been compacted meanwhile; and half of all results that weren't compacted, since a host may
    clear as much unnoticed."""
    new, all_results = Counter[int](), Counter[int]()
    for event in events:
        if event.kind == "result" and (readers := bill.readers(event.record)):
            tokens = approximate_tokens(event.text)
            new[readers.start] += tokens
            all_results[readers.start] += tokens
            all_results[readers.stop] -= tokens
    most = list(accumulate((request.context for request in bill.requests), max))
    read = accumulate(all_results[place] for place in range(len(most)))
    return all(
        context >= max(new[place], COMPACTED * tokens)
        for place, (context, tokens) in enumerate(zip(most, read, strict=True))
    )


def _results(events: Sequence[Event], bill: Bill, by_a_script: re.Pattern[str] | None) -> Iterator[Result]:
    big = {read.place: read for read in sessions.big_reads(events)}
    calls = {result: events[call] for call, result in answered(events).items()}
    seen: list[tuple[str, range]] = []
    for place, event in enumerate(events):
        if event.kind != "result":
            continue
        read = big.get(place)
        call = calls.get(place)
        opened = read.read if read else read_of(call.tool, call.arguments) if call else None
        readers = bill.readers(event.record)
        again = opened is not None and any(
            same_file(opened.path, path) and readers.stop == still.stop for path, still in seen
        )
        if read:
            intent = _intent(read)
            asked = asked_for("\n".join(read.shown.lines) + "\n", read.read, intent=intent)
        else:
            intent = _UNKNOWN
            text = "\n".join(shown_lines(event.text).lines) + "\n" if opened else event.text
            asked = asked_for(text, opened or Read(""), intent=intent)
        # No hook can change what a script gets.
        script = FOR_A_SCRIPT if call and by_a_script and by_a_script.match(call.call) else ""
        asked = replace(asked, again=again, uncut=script)
        if read or asked.tokens >= LEAST_TOKENS:
            yield Result(
                place, event.record, asked, intent, read, sessions.later_uses(read, events) if read else ()
            )
        if opened is not None and not _HOSTS.ranges(asked):
            seen.append((opened.path, readers))


def _intent(read: BigRead) -> Intent:
    said = (read.intent, read.description, read.searched, read.task, read.pointed, read.history)
    return intent_of(Known(question_of(read.call.arguments), *said))
