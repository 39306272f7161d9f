"""The messages of a request to a model, with new results of tools pruned: each once, and always to the same text.

A provider's prompt cache is lost from the first message that differs from the last request's. So only results that came
after the model's last answer are judged, and what was sent in place of one is remembered and sent again in each later
request. Messages are OpenAI's for chats, or Anthropic's."""

import hashlib
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from lamr_base.choices import EffortName
from lamr_base.records import dataclass
from lamr_client import LamrError

from lamr_agents.intent import Intent, intent_of, known_of
from lamr_agents.local.texts import Texts
from lamr_agents.policy import DEFAULT, PROFILES, Policy, ToolResult
from lamr_agents.sessions import Event, Heard
from lamr_agents.sessions.notices import stated
from lamr_agents.sessions.shown import EXIT_CODE, OUTPUT, framed, packed_output
from lamr_agents.sessions.tools import Read, shown_by
from lamr_agents.skim import Prunes, asked_for, skim_anyway, unjudged
from lamr_agents.skimmed import Skim, names_lines

Message = Mapping[str, Any]


@dataclass(frozen=True)
class _Result:
    """A tool's result in a message: where its text lies, and the text."""

    message: int  # index of the message
    way: tuple[str | int, ...]  # keys and indexes from the message to the text
    call: str  # the name that joins it and its call
    text: str


@dataclass
class _Walk:
    """State of a walk through the messages, and its time limit."""

    seconds: float | None = None  # limit for the whole request; None for no limit
    edited: bool = False  # see `Conversations.pruned`
    begin: float = field(default_factory=time.monotonic)
    heard: Heard = field(default_factory=Heard)
    calls: dict[str, Event] = field(default_factory=dict)
    first_words: str = ""

    def left(self) -> float | None:
        return None if self.seconds is None else self.begin + self.seconds - time.monotonic()

    def hear(self, event: Event) -> None:
        self.heard.hear(event)
        if event.kind == "call":
            self.calls[event.call] = event
        if event.kind == "user" and not self.first_words:
            self.first_words = self.heard.task


@dataclass(frozen=True)
class Conversations:
    """Prunes what goes to a model."""

    pruner: Prunes
    sent: Texts  # remembers what was sent in place of a result
    policy: Policy = PROFILES[DEFAULT]
    timeout: float | None = None  # seconds for all new results of a request together
    effort: EffortName = "auto"

    def pruned(self, messages: Sequence[Message], *, edited: bool = False) -> list[Message]:
        """The messages to send; those that change are copies.

        With `edited` the provider may leave some of them out, so that no result counts as being in the context."""
        last = max((place for place, each in enumerate(messages) if _role(each) == "assistant"), default=-1)
        walk, out = _Walk(self.timeout, edited), list(messages)
        for step in _steps(messages):
            if isinstance(step, Event):
                walk.hear(step)
                continue
            text = self._text(step, walk, step.message > last)
            walk.hear(Event("result", text, step.call))
            if text != step.text:
                out[step.message] = _replaced(out[step.message], step.way, text)
        return out

    def _text(self, result: _Result, walk: _Walk, new: bool) -> str:
        """The text to send for a result."""
        call = walk.calls.get(result.call)
        seen = shown_by(call.tool, call.arguments) if call else None
        if call is None or seen is None:
            return result.text
        key = _key(walk.first_words, call, result.text)
        try:
            known = self.sent.find(key)
            if known is None and new:
                known = self._judged(result.text, call, seen, walk, self.policy)
                if known != result.text:  # else it stays as it is anyway
                    self.sent.put(key, known)
                return known
        except LamrError:
            known = None  # what can't be remembered isn't changed
        if known is not None and names_lines(known):  # a client may have dropped what it names
            return self._judged(result.text, call, seen, walk, replace(self.policy, prunes=False))
        return result.text if known is None else known

    def _judged(self, text: str, call: Event, seen: tuple[Read, str], walk: _Walk, policy: Policy) -> str:
        """The text to send for a new result under a policy."""
        read, name = seen
        intent = intent_of(known_of(walk.heard, call.arguments, read.path))
        packed = packed_output(text)
        before, code, after = framed(text if packed is None else packed[OUTPUT])
        failed = packed is not None and bool(packed.get(EXIT_CODE))
        said = stated(before, after)
        again = walk.heard.seen.has(name or read.path)
        asked = asked_for(code, read, intent=intent, name=name, stated=said)
        asked = replace(asked, again=again, failed=failed)
        shown = self._skimmed(asked, intent, policy, walk)
        if shown.text_with_notice == code:
            return text
        whole = before + shown.text_with_notice + after
        return (
            whole if packed is None else json.dumps({**packed, OUTPUT: whole}, indent=2, ensure_ascii=False)
        )

    def _skimmed(self, asked: ToolResult, intent: Intent, policy: Policy, walk: _Walk) -> Skim:
        left = walk.left()
        if left is not None and left <= 0 and policy.passes(asked) is None:
            return unjudged(asked, f"the {self.timeout:g} s of this request are over")
        known = {} if asked.name or walk.edited else walk.heard.seen.lines_of(asked.path)
        options = {"known": known, "effort": self.effort, "within": left}
        return skim_anyway(self.pruner, asked, intent, policy, **options)


def _key(first_words: str, call: Event, text: str) -> str:
    parts = (first_words, call.call, call.tool, json.dumps(call.arguments, sort_keys=True), text)
    data = "\0".join(parts).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def _replaced(whole: Any, way: Sequence[str | int], text: str) -> Any:
    """A copy with another text where the way leads."""
    if not way:
        return text
    copy: Any = list(whole) if isinstance(whole, list) else dict(whole)
    copy[way[0]] = _replaced(whole[way[0]], way[1:], text)
    return copy


def _steps(messages: Sequence[Message]) -> Iterator[Event | _Result]:
    for place, message in enumerate(messages):
        if not isinstance(message, Mapping):
            continue
        role, content = message.get("role"), message.get("content")
        if role == "tool":
            yield from _results(place, ("content",), str(message.get("tool_call_id")), content)
            continue
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        for index, part in enumerate(content if isinstance(content, list) else []):
            yield from _part(place, index, role, part)
        calls = message.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            function = call.get("function") if isinstance(call, Mapping) else None
            if isinstance(function, Mapping):
                yield _call(str(call.get("id")), function.get("name"), function.get("arguments"))


def _part(place: int, index: int, role: Any, part: Any) -> Iterator[Event | _Result]:
    kind = part.get("type") if isinstance(part, Mapping) else None
    if kind == "text" and role in ("user", "assistant") and isinstance(part.get("text"), str):
        yield Event(role, part["text"])
    elif kind == "thinking" and isinstance(part.get("thinking"), str):
        yield Event("thought", part["thinking"])
    elif kind == "tool_use":
        yield _call(str(part.get("id")), part.get("name"), part.get("input"))
    elif kind == "tool_result" and not part.get("is_error"):
        way = ("content", index, "content")
        yield from _results(place, way, str(part.get("tool_use_id")), part.get("content"))


def _results(place: int, way: tuple[str | int, ...], call: str, content: Any) -> Iterator[_Result]:
    """A result's text, where it is one: images may stand beside it."""
    if isinstance(content, str):
        yield _Result(place, way, call, content)
        return
    parts = content if isinstance(content, list) else []
    texts = [index for index, part in enumerate(parts) if isinstance(part, Mapping) and "text" in part]
    if len(texts) == 1 and isinstance(parts[texts[0]]["text"], str):
        yield _Result(place, (*way, texts[0], "text"), call, parts[texts[0]]["text"])


def _role(message: Any) -> Any:
    return message.get("role") if isinstance(message, Mapping) else None


def _call(name: str, tool: Any, arguments: Any) -> Event:
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            arguments = {}
    return Event(
        "call", call=name, tool=str(tool), arguments=arguments if isinstance(arguments, dict) else {}
    )
