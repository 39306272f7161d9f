"""What was said last in a host's log, however long it is: its end is read, and what the user said before it looked for.

Sessions grow by hundreds of megabytes, and a hook must answer at once. So each call reads a bounded part: the last
mebibyte whole; where the user doesn't speak there, the sixteen before it for the user's words alone; else the log's
beginning, where the session's first task stands. Only regular files are read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from lamr_agents.regular_files import opened
from lamr_agents.sessions import Event, Heard, LogFormat, events_of, read_records
from lamr_agents.sessions.events import events_on_path

STEP_BYTES = 1 << 20
"""Of one step; a line that is longer is passed over."""
STEPS_BACK = 16
MOST_LINES = 4000
"""Of one step; more are so short that they say nothing."""

_NOTHING_KNOWN = Event("cleared")


@dataclass(frozen=True)
class Voice:
    """Whose words are heard in a log.

    Attributes:
        form: the host's; each line is a record.
        may_be_users: whether a line can hold words of the user; it may err towards True.
        agent: the sub-agent; empty for the session's own agent, None for all whose steps the log has.
        call: the call that is to be answered, where the log holds several branches: what leads to it counts. Where the
            log doesn't hold it yet, no result counts as being in the context.
    """

    form: LogFormat
    may_be_users: Callable[[bytes], bool]
    agent: str | None = ""
    call: str | None = None

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
    """What was said last in a log; nothing where it can't be read.

    Args:
        log: the file; whoever runs the session may still write it.
        voice: whose words.
    """
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
    """What was heard, with what the user said earlier."""
    before = voice.events(filter(voice.may_be_users, earlier))
    return _heard([*before, *recent]) if before else heard


def _heard(events: Iterable[Event]) -> Heard:
    heard = Heard()
    for event in events:
        heard.hear(event)
    return heard
