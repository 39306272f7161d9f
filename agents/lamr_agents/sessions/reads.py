"""The big reads of a session: results that show much of one source file, with the words that came before each."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from lamr_postprocess.detection import detect_language

from lamr_agents.sessions.commands import Read
from lamr_agents.sessions.events import Event
from lamr_agents.sessions.pointed import Pointers, SeenResults
from lamr_agents.sessions.shown import ShownLines, shown_lines
from lamr_agents.sessions.tools import description_of, pattern_of, read_of
from lamr_agents.sessions.user_messages import spoken

LEAST_LINES = 80
LEAST_CHARACTERS = 4000
"""Some 1,000 tokens: a read is big by its lines or by its characters."""
FEWEST_LINES = 20
MOST_LINES = 4000
MOST_HISTORY = 3000
"""Characters of what was said before: 2,000 to 4,000 brought as much on validation sessions, 1,000 less."""
_MOST_STATEMENTS = 60
_SHORT_MESSAGE = 80
"""Characters up to which a message such as "yes, go on" is joined to the one before it."""


@dataclass(frozen=True)
class BigRead:
    """A tool's result that shows at least 80 lines, or 4,000 characters, of one source file.

    Attributes:
        place: the result's index among the session's events.
        call: the call that asked for it.
        read: the file, and the range that was asked for.
        shown: the lines.
        task: what the user wants.
        intent: the assistant's last words before the call, aloud or else in thought, since the user spoke.
        searched: what the assistant last searched for; empty where it didn't.
        description: what the call itself says of its purpose.
        pointed: lines of the file that the session had pointed at, 1-based.
        history: what the assistant said before its last words; see `Heard.history`.
    """

    place: int
    call: Event
    read: Read
    shown: ShownLines
    task: str
    intent: str
    searched: str
    description: str
    pointed: tuple[int, ...] = ()
    history: str = ""

    @property
    def own_words(self) -> str:
        """What the assistant itself says before it reads: its last words, the call's purpose, its last search."""
        return "\n".join(filter(None, (self.intent, self.description, self.searched)))


@dataclass
class Heard:
    """What was said up to a place in a session; `hear` takes one event after the other.

    Attributes:
        aloud, thought: the assistant's last words since the user spoke.
        searched: what the assistant last searched for since then; empty where it didn't.
        pointers: the lines that were pointed at.
        seen: the files that were shown.
        compacted: when the context was last compacted, as the log writes times; empty where it wasn't.
    """

    aloud: str = ""
    thought: str = ""
    searched: str = ""
    pointers: Pointers = field(default_factory=Pointers)
    seen: SeenResults = field(default_factory=SeenResults)
    compacted: str = ""
    _messages: list[str] = field(default_factory=list)
    _statements: deque[str] = field(default_factory=lambda: deque(maxlen=_MOST_STATEMENTS))

    def hear(self, event: Event) -> None:
        """Take in the next event."""
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
        """The assistant's last words, aloud or else in thought."""
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


def big_reads(session: Sequence[Event]) -> Iterator[BigRead]:
    """The session's big reads of files in a language with a grammar, in their order.

    What is said before a read is what the same agent said: a sub-agent's task is the prompt that it was given.
    """
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
            description = description_of(event.arguments)
            yield BigRead(
                answer,
                event,
                read,
                shown,
                heard.task,
                heard.said,
                heard.searched,
                description,
                heard.pointers.at(read.path),
                heard.history,
            )


def _begun(agent: str, before: Sequence[Event]) -> Heard:
    """What an agent has heard when it begins: the prompt, where a call started it that the log names it by."""
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
