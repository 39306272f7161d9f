"""Tracks what a session said, showed and pointed at before a call, and finds its big reads of one file."""

import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import field
from itertools import islice

from lamr_base.expressions import expression
from lamr_base.records import dataclass
from lamr_model.scoring.named_lines import named_ranges
from lamr_postprocess.detection import detect_language

from lamr_agents.sessions.events import Event
from lamr_agents.sessions.notices import gaps, spoken, stated
from lamr_agents.sessions.shown import ShownLines, framed, shown_lines
from lamr_agents.sessions.tools import (
    Read,
    description_of,
    pattern_of,
    read_of,
    same_file,
    searched_file,
    shown_by,
)
from lamr_agents.thin import NOTE

LEAST_LINES = 80
LEAST_CHARACTERS = 4000  # some 1,000 tokens: a read is big by its lines or by its characters
FEWEST_LINES = 20
MOST_LINES = 4000
MOST_HISTORY = 3000
"""Characters of what was said before: 2,000 to 4,000 brought as much on validation sessions, 1,000 less."""
_MOST_STATEMENTS = 60
_SHORT_MESSAGE = 80  # characters up to which a message such as "yes, go on" is joined to the one before it
RECENT = 60  # how many events back a session still has a line in mind
_LONGEST = 200_000  # characters of one text; what is longer is no answer to a question about lines
_HIT = expression(r"^(\d{1,7}):", re.MULTILINE)
_SPEAKING = frozenset({"user", "assistant", "thought", "result"})
MOST_ASIDE = 4000
"""Characters of a result that shows no file: an error, or the beginning of an output that the host put aside."""


@dataclass(frozen=True)
class _Said:
    """A text of a session, and the one file whose lines its numbers are; empty where it isn't a search of one file."""

    text: str
    file: str


class Pointers:
    """Line numbers that the latest events of a session name."""

    def __init__(self) -> None:
        self._recent: deque[_Said] = deque(maxlen=RECENT)
        self._searched: dict[str, str] = {}

    def hear(self, event: Event) -> None:
        if event.kind == "call":
            self._searched[event.call] = searched_file(event.tool, event.arguments)
        file = self._searched.get(event.call, "") if event.kind == "result" else ""
        text = event.text if event.kind in _SPEAKING else ""
        self._recent.append(_Said(text[:_LONGEST], file))

    def at(self, path: str) -> tuple[int, ...]:
        return tuple(sorted({number for said in self._recent for number in _numbers(said, path)} - {0}))


def _numbers(said: _Said, path: str) -> Iterator[int]:
    if said.file and same_file(said.file, path):
        yield from map(int, _HIT.findall(said.text))
    # A number without a path may be that of any file that the session has read.
    yield from (first for first, _ in named_ranges(said.text, path, bare=False))


class SeenResults:
    """The results that stand in a session's context."""

    def __init__(self) -> None:
        self._asked: dict[str, Event] = {}
        self._answered: list[tuple[Event, str]] = []
        self._held = 0  # place of the first result that is surely in the context

    def hear(self, event: Event) -> None:
        if event.kind == "call":
            self._asked[event.call] = event
        elif event.kind == "result":
            call = self._asked.pop(event.call, None)
            if call:
                self._answered.append((call, event.text))
        elif event.kind == "compacted":
            self._answered.clear()
            self._held = 0
        elif event.kind == "cleared":
            gone = [event.call in ("", call.call) for call, _ in self._answered]
            self._held = max((place for place, went in enumerate(gone, 1) if went), default=self._held)

    def has(self, label: str) -> bool:
        return any(
            same_file(label, name or read.path)
            for read, name, text in _naming(self._answered, label)
            if not read.ranged and (len(text) > MOST_ASIDE or NOTE in text)
        )

    def lines_of(self, path: str) -> dict[int, str]:
        """The lines of a file that its latest results show, by their numbers.

        A result in which something was left out, or whose lines have no known numbers, takes away what was known: which
        of two results shows a line last couldn't be told any more."""
        known: dict[int, str] = {}
        for read, name, text in _naming(self._answered[self._held :], path):
            if name or read.path != path:
                continue
            before, code, after = framed(text)
            said = stated(before, after)
            if NOTE in text or gaps(code) or said.tail:
                known.clear()
                continue
            shown = shown_lines(text)
            first = shown.first or said.first or max(read.first or 1, 1)
            known.update(enumerate(shown.lines, first))
        return known


def _naming(answered: Sequence[tuple[Event, str]], label: str) -> Iterator[tuple[Read, str, str]]:
    """The reads whose calls hold the last part of a name, each with its own name and what it showed."""
    last = re.split(r"[/\\]", label)[-1]
    for call, text in answered:
        if last in str(call.arguments):  # most name another file
            seen = shown_by(call.tool, call.arguments)
            if seen is not None:
                yield (*seen, text)


@dataclass
class Heard:
    """The state of a session up to an event; `hear` takes the events in order."""

    aloud: str = ""  # the assistant's last words since the user spoke
    thought: str = ""
    searched: str = ""  # what the assistant last searched for since then; empty where it didn't
    pointers: Pointers = field(default_factory=Pointers)  # the lines that were pointed at
    seen: SeenResults = field(default_factory=SeenResults)  # the files that were shown
    compacted: str = ""  # when the context was last compacted, as the log writes times; empty where it wasn't
    _messages: list[str] = field(default_factory=list)
    _statements: deque[str] = field(default_factory=lambda: deque(maxlen=_MOST_STATEMENTS))

    def hear(self, event: Event) -> None:
        self.pointers.hear(event)
        self.seen.hear(event)
        if event.kind == "user" and (words := spoken(event.text)):
            self._messages.append(words)
            self.aloud = self.thought = self.searched = ""
        elif event.kind == "assistant":
            self.aloud = self._stated(event)
        elif event.kind == "thought":
            self.thought = self._stated(event)
        elif event.kind == "call":
            self.searched = pattern_of(event.tool, event.arguments) or self.searched
        elif event.kind == "compacted":
            self.compacted = event.text

    def _stated(self, event: Event) -> str:
        words = event.text.strip()
        self._statements.append(words)
        return words

    @property
    def history(self) -> str:
        """The end of what the assistant said and thought before its last words, a statement a line."""
        now = {self.aloud, self.thought}
        return "\n".join(words for words in self._statements if words and words not in now)[-MOST_HISTORY:]

    @property
    def said(self) -> str:
        return self.aloud or self.thought

    @property
    def task(self) -> str:
        """The user's latest message, with earlier ones before it while it is short."""
        task = ""
        for message in reversed(self._messages):
            task = f"{message}\n\n{task}" if task else message
            if len(task) >= _SHORT_MESSAGE:
                break
        return task


@dataclass(frozen=True)
class BigRead:
    """A tool's result that shows at least 80 lines, or 4,000 characters, of one source file."""

    place: int  # the result's index among the session's events
    call: Event  # the call that asked for it
    read: Read  # the file, and the range that was asked for
    shown: ShownLines  # the lines
    task: str  # what the user wants
    intent: str  # the assistant's last words before the call, aloud or else in thought, since the user spoke
    searched: str  # what the assistant last searched for; empty where it didn't
    description: str  # what the call itself says of its purpose
    pointed: tuple[int, ...] = ()  # lines of the file that the session had pointed at, 1-based
    history: str = ""  # what the assistant said before its last words; see `Heard.history`

    @property
    def own_words(self) -> str:
        """The assistant's last words, the call's purpose, and the last search."""
        return "\n".join(filter(None, (self.intent, self.description, self.searched)))


def big_reads(session: Sequence[Event]) -> Iterator[BigRead]:
    """The session's big reads of files in a language with a grammar, in their order.

    What is said before a read is what the same agent said: a sub-agent's task is the prompt that it was given."""
    results = answered(session)
    agents: dict[str, Heard] = {}
    for place, event in enumerate(session):
        if event.agent not in agents:
            agents[event.agent] = _begun(event.agent, session[:place])
        heard = agents[event.agent]
        heard.hear(event)
        if event.kind != "call":
            continue
        read = read_of(event.tool, event.arguments)
        answer = results.get(place)
        if read is None or answer is None or not detect_language("", read.path).is_code:
            continue
        shown = shown_lines(session[answer].text)
        if _big(shown):
            said = (heard.task, heard.said, heard.searched, description_of(event.arguments))
            yield BigRead(answer, event, read, shown, *said, heard.pointers.at(read.path), heard.history)


def _begun(agent: str, before: Sequence[Event]) -> Heard:
    """An agent's state when it starts: its prompt, where the log names the call that started it."""
    heard = Heard()
    prompt = next((event.arguments.get("prompt") for event in before if agent and event.call == agent), None)
    if isinstance(prompt, str):
        heard.hear(Event("user", prompt))
    return heard


def answered(session: Sequence[Event]) -> dict[int, int]:
    """The places of calls, with that of each call's result; a call without one is left out."""
    named = {
        event.call: place for place, event in enumerate(session) if event.kind == "result" and event.call
    }
    found = (
        (place, named.get(event.call) if event.call else _next_result(session, place))
        for place, event in enumerate(session)
        if event.kind == "call"
    )
    return {call: result for call, result in found if result is not None}


def _next_result(session: Sequence[Event], place: int) -> int | None:
    """Hosts whose calls have no names answer each call before the next."""
    later = ((n, event.kind) for n, event in enumerate(islice(session, place + 1, place + 3), place + 1))
    return next((n for n, kind in later if kind == "result"), None)


def _big(shown: ShownLines) -> bool:
    count = len(shown.lines)
    if count >= LEAST_LINES:
        return count <= MOST_LINES
    return count >= FEWEST_LINES and sum(map(len, shown.lines)) >= LEAST_CHARACTERS
