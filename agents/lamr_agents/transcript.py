"""Reads the last words in a host's log, however long it is: its end, and the user's last message before it.

Sessions grow by hundreds of megabytes, and a hook must answer at once. So each call reads a bounded part: the last
mebibyte whole; where the user doesn't speak there, the sixteen before it for the user's words alone; else the log's
beginning, where the session's first task stands. Only regular files are opened: another could hold whoever opens
it."""

import os
import stat
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import BinaryIO

from lamr_base.records import dataclass
from lamr_postprocess import decode

from lamr_agents.sessions import Event, Heard, LogFormat, events_of, read_records
from lamr_agents.sessions.events import events_on_path

STEP_BYTES = 1 << 20  # read in one step; a longer line is passed over
STEPS_BACK = 16
MOST_LINES = 4000  # read in one step; more are too short to say anything

_NOTHING_KNOWN = Event("cleared")
MOST_BYTES = 4 << 20  # largest file whose text is read
_NO_WAIT = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)


@dataclass(frozen=True)
class Voice:
    """Selects the agent whose words are read from a log."""

    form: LogFormat  # the host's; each line is a record
    may_be_users: Callable[[bytes], bool]  # whether a line can hold words of the user
    agent: str | None = ""  # the sub-agent; empty for the session's own agent, None for all in the log
    call: str | None = None
    """The call to answer, in a log of several branches; until the log has it, no result counts as in the context."""

    def events(self, lines: Iterable[bytes], *, latest: bool = False) -> list[Event]:
        """The steps that lines tell; `latest` where they are the log's last."""
        records = read_records(b"\n".join(lines).decode("utf-8", "replace"), self.form)
        if latest and self.call is not None:
            found = events_on_path(records, self.form, self.call)
            found = [*events_of(records, self.form), _NOTHING_KNOWN] if found is None else found
        else:
            found = events_of(records, self.form)
        return [event for event in found if event is _NOTHING_KNOWN or self.agent in (None, event.agent)]


def last_heard(log: Path, voice: Voice) -> Heard:
    """The state at the end of a log; empty if it can't be read."""
    try:
        with opened(log) as stream:
            return _heard_in(stream, voice)
    except (OSError, ValueError):  # there is none, or no file can have such a name
        return Heard()


def last_events(log: Path, voice: Voice) -> list[Event]:
    """The steps that the last mebibyte of a log tells; none where it can't be read."""
    try:
        with opened(log) as stream:
            return voice.events(_step(stream, os.fstat(stream.fileno()).st_size)[0])
    except (OSError, ValueError):
        return []


def _heard_in(stream: BinaryIO, voice: Voice) -> Heard:
    lines, begin = _step(stream, os.fstat(stream.fileno()).st_size)
    recent = voice.events(lines, latest=True)
    heard = _heard(recent)
    for _ in range(STEPS_BACK):
        if heard.task or begin == 0:
            return heard
        lines, begin = _step(stream, begin)
        heard = _heard_after(lines, heard, recent, voice)
    if not heard.task:
        stream.seek(0)
        first = stream.read(min(STEP_BYTES, begin)).split(b"\n")
        heard = _heard_after(first, heard, recent, voice)
    return heard


def _step(stream: BinaryIO, end: int) -> tuple[list[bytes], int]:
    """The whole lines of at most `STEP_BYTES` before a place where a line begins, and the place where they begin."""
    begin = max(0, end - STEP_BYTES)
    stream.seek(begin)
    block = stream.read(end - begin)
    if begin:
        cut = block.find(b"\n", 0, -1) + 1
        if not cut:
            return [], begin
        begin, block = begin + cut, block[cut:]
    lines = block.split(b"\n")
    begin += sum(len(line) + 1 for line in lines[:-MOST_LINES])
    return lines[-MOST_LINES:], begin


def _heard_after(earlier: Iterable[bytes], heard: Heard, recent: Sequence[Event], voice: Voice) -> Heard:
    before = voice.events(filter(voice.may_be_users, earlier))
    return _heard([*before, *recent]) if before else heard


def _heard(events: Iterable[Event]) -> Heard:
    heard = Heard()
    for event in events:
        heard.hear(event)
    return heard


def opened(path: Path) -> BinaryIO:
    if not stat.S_ISREG(path.stat().st_mode):  # opening a device may do something by itself
        raise FileNotFoundError(path)
    stream = os.fdopen(os.open(path, os.O_RDONLY | _NO_WAIT), "rb", buffering=0)
    if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
        stream.close()
        raise FileNotFoundError(path)
    return stream


def text_of(path: str) -> str:
    """The text of a file on this machine; empty where there is none, it is too large, or it is binary.

    Whether it is the file that somebody means, who may be on another machine, only its content can tell."""
    try:
        with opened(Path(path)) as stream:
            data = stream.read(MOST_BYTES + 1)
    except (OSError, ValueError):
        return ""
    decoded = decode(data) if len(data) <= MOST_BYTES else None
    return decoded.text if decoded else ""
