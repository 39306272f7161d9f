"""The query of a tool call, from what a host knows when the call ends: no parameter and no token of the agent's own.

A host fills in what it has of `Known`, and what is missing gives way to the next best. How much of a long task a model
reads is the pruner's matter (`query_read` of a result says it)."""

from collections.abc import Mapping
from typing import Any, Literal

from lamr_base.expressions import expression
from lamr_base.records import dataclass

from lamr_agents.sessions import Heard
from lamr_agents.sessions.tools import description_of, question_of

Source = Literal["question", "session", "task", "nothing"]

MOST_OWN_WORDS = 500
"""Characters of the assistant's words that are taken, from their end: the latest sentences speak of the call. Of what
the call says of itself, and of a search, as many from the beginning."""
_SENTENCE_START = expression(r"(?:(?<=[.!?:])\s+|\n+)(?=\S)")


@dataclass(frozen=True)
class Known:
    """Facts that a host knows about a call."""

    question: str = ""  # a focus question that the agent passed with the call
    said: str = ""  # the assistant's last words before the call, aloud or else in thought
    description: str = ""  # what the call itself says of its purpose
    searched: str = ""  # what the assistant searches for, now or last
    task: str = ""  # what the user wants
    pointed: tuple[int, ...] = ()  # lines that the session pointed at, 1-based: hits, places in stack traces
    history: str = ""  # what the assistant said before its last words


def known_of(heard: Heard, arguments: Mapping[str, Any], path: str) -> Known:
    """The facts about a call that reads a file: what was said before it, and what its own input says."""
    return Known(
        question=question_of(arguments),
        said=heard.said,
        description=description_of(arguments),
        searched=heard.searched,
        task=heard.task,
        pointed=heard.pointers.at(path),
        history=heard.history,
    )


@dataclass(frozen=True)
class Intent:
    """The purpose of reading a tool's result."""

    query: str  # the pruner's query; empty where nothing is known
    task: str  # what the query serves; empty where the task is the query
    source: Source  # where the query is from
    pointed: tuple[int, ...] = ()  # pointed, history: as in `Known`
    history: str = ""


def intent_of(known: Known) -> Intent:
    """The intent of a call: the question if there is one, else the assistant's own words, else the task."""
    task, question, history = _clean(known.task), _clean(known.question), _clean(known.history)
    if question:
        return Intent(question, task, "question", known.pointed, history)
    own = (
        _end(_clean(known.said)),
        *(_clean(each[:MOST_OWN_WORDS]) for each in (known.description, known.searched)),
    )
    session = "\n".join(dict.fromkeys(filter(None, own)))
    if session:
        return Intent(session, task, "session", known.pointed, history)
    return Intent(task, "", "task" if task else "nothing", known.pointed, history)


def _clean(words: str) -> str:
    """Words that any model reads: NUL and half a character, which a cut in its midst leaves, don't spoil the rest."""
    return words.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\0", "\ufffd").strip()


def _end(words: str) -> str:
    """The last sentences of a text, as many as `MOST_OWN_WORDS` characters hold."""
    if len(words) <= MOST_OWN_WORDS:
        return words
    first = len(words) - MOST_OWN_WORDS
    begun = _SENTENCE_START.search(words, first)
    return words[begun.end() if begun else first :]
