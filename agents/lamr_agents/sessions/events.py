"""Reads the logs of coding agents into one sequence of events, by tables.

What differs between hosts is a `LogFormat`: where a log's records lie, and which parts of a record are words of the
user, words of the assistant, a tool's call or its result. A *way* leads to those parts: keys joined by dots, of
which one that ends on `[]` opens a list."""

import contextlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, Literal

from lamr_base.records import dataclass

Kind = Literal["user", "assistant", "thought", "call", "result", "compacted", "cleared"]
SHELL = "shell"  # the tool of a call that names none: hosts that know one tool only run commands
_RECORDS_LOOKED_AT = 200


@dataclass(frozen=True)
class Event:
    """One step of a session.

    `compacted` says that nothing from before is in the context word for word, and `cleared` that the host took results
    out of it: that of `call`, or any where the log doesn't say which."""

    kind: Kind
    text: str = ""  # the words, or the result's text, or when it was compacted; empty for a call
    call: str = ""  # the name that joins a call and its result; empty where the host gives none
    tool: str = ""  # the called tool
    arguments: Mapping[str, Any] = field(default_factory=dict)  # its input
    agent: str = ""  # the sub-agent whose step it is; empty for the session's own
    record: int = field(default=-1, compare=False)  # index of the log's record; -1 where no log gave it


@dataclass(frozen=True)
class Rule:
    """Selects the parts of a record that become events of one kind."""

    kind: Kind
    at: str = ""  # the way from the record to the parts; empty for the record itself
    record: Mapping[str, str | None] = field(default_factory=dict)
    """Ways and the values that must stand there in the record; None is any value."""
    part: Mapping[str, str | None] = field(default_factory=dict)  # the same for each part
    without: Sequence[str] = ()  # keys that a part must not have, or with a false value
    text: str = "text"  # the ways from a part to the event's fields
    call: str = "id"
    tool: str = "name"
    arguments: str = "input"
    pattern: re.Pattern[str] | None = None
    """The text must match it; its first group, if any, becomes the text. A call runs that text as a command."""
    unless: re.Pattern[str] | None = None  # what the text must not match
    named: re.Pattern[str] | None = None  # what the call's name must match at its beginning


@dataclass(frozen=True)
class LogFormat:
    """One host's log."""

    name: str  # the host
    records: str | None  # the way to the records in a log that is one JSON value; None where each line is one
    mark: Mapping[str, str | None]  # ways and values in a record by which the log is recognized; None is any
    rules: Sequence[Rule]  # which parts become events, in the order that a record's events have
    renewed: str = ""  # the way to what records have in common of which the last counts; empty for none
    agents: Sequence[str] = ()  # ways to the name of a record's sub-agent; the first that leads to one counts
    parents: tuple[str, str] | None = None
    """Ways to a record's own name and to that of the record before it, in a log that holds several branches."""
    by_a_script: re.Pattern[str] | None = None
    """How the names of calls begin that a script of the model's made: the model gets of their results what the script
    prints."""


def recognize(log: str, formats: Iterable[LogFormat]) -> LogFormat | None:
    """The first format one of whose records stands at the head of a log; None when there is none."""
    for form in formats:
        try:
            head = read_records(log if form.records else log[: 1 << 20], form)
        except ValueError:
            continue
        if any(holds(record, form.mark) for record in head[:_RECORDS_LOOKED_AT]):
            return form
    return None


def read_events(log: str, form: LogFormat) -> list[Event]:
    """The session's events in their order; a ValueError where a log that is one JSON value can't be parsed."""
    return events_of(read_records(log, form), form)


def events_of(records: Iterable[Any], form: LogFormat) -> list[Event]:
    """The events of records, in their order; a record that is nested too deeply to be looked into has none."""
    events = []
    for place, record in enumerate(records):
        with contextlib.suppress(RecursionError):
            agent = str(next(filter(None, (first_at(record, way) for way in form.agents)), ""))
            events += [replace(event, record=place, agent=agent) for event in _events_of_one(record, form)]
    return _printed(events, form.by_a_script) if form.by_a_script else events


def _printed(events: Sequence[Event], by_a_script: re.Pattern[str]) -> list[Event]:
    """The events without results that a script kept to itself; what it printed of them isn't told twice."""
    kept, inner = list[Event](), list[Event]()
    for event in events:
        if event.kind != "result":
            kept.append(event)
        elif by_a_script.match(event.call):
            inner.append(event)
        else:
            rest = event.text
            for each in inner:
                before, found, after = rest.partition(each.text.strip("\n"))
                kept += [each] if found else []
                rest = before + after
            inner.clear()
            kept += [replace(event, text=rest)] if rest.strip() else []
    return kept


def events_on_path(records: Sequence[Any], form: LogFormat, call: str) -> list[Event] | None:
    """The events on the way from the session's root to a call: what the model was given when it made the call.

    A branch that was left, as by a rewind, isn't on that way. Of calls that were made at once, the results may stand
    beside it in the log; the model is given these as well. None where no named record makes the call."""
    assert form.parents is not None
    own, parent = form.parents
    names = [(_name_at(record, own), _name_at(record, parent)) for record in records]
    places = {name: place for place, (name, _) in enumerate(names) if name}
    steps: dict[int, list[Event]] = {}
    for event in events_of(records, form):
        steps.setdefault(event.record, []).append(event)
    makes = (
        place
        for place, found in steps.items()
        if any(event.kind == "call" and event.call == call for event in found)
    )
    place = max(makes, default=None)
    if place is None or not names[place][0]:
        return None
    path: set[int] = set()
    while place is not None and place not in path:
        path.add(place)
        place = places.get(names[place][1])
    made = {event.call for place in path for event in steps.get(place, ()) if event.kind == "call"}
    beside = {
        place
        for place, found in steps.items()
        if places.get(names[place][1]) in path
        and all(event.kind == "result" and event.call in made for event in found)
    }
    return [event for place in sorted(path | beside) for event in steps.get(place, ())]


def _name_at(record: Any, way: str) -> str:
    name = first_at(record, way)
    return name if isinstance(name, str) else ""


def _events_of_one(record: Any, form: LogFormat) -> Iterator[Event]:
    for rule in form.rules:
        if holds(record, rule.record):
            for part in _follow(record, rule.at):
                if not holds(part, rule.part) or any(first_at(part, key) for key in rule.without):
                    continue
                if event := _event(rule, part):
                    yield event


def read_records(log: str, form: LogFormat) -> list[Any]:
    """The records of a log; lines that aren't JSON are passed over, as the last of a running session may be."""
    if form.records is not None:
        try:
            return list(_follow(json.loads(log), form.records + "[]"))
        except RecursionError as error:
            raise ValueError("the log is nested too deeply") from error
    records = []
    for line in log.split("\n"):
        if line.strip():
            try:
                records.append(json.loads(line))
            except (ValueError, RecursionError):
                continue
    if not form.renewed:
        return records
    last: dict[Any, Any] = {}  # of those with one name the last, at the place of the first
    for place, record in enumerate(records):
        name = first_at(record, form.renewed)
        last[name if isinstance(name, str) else place] = record
    return list(last.values())


def _follow(value: Any, way: str) -> Iterator[Any]:
    """Everything that a way leads to; a text stands for a list of one part that holds it as `text`."""
    if not way:
        yield value
        return
    step, _, rest = way.partition(".")
    key = step.removesuffix("[]")
    if not isinstance(value, Mapping) or key not in value:
        return
    inner = value[key]
    if not step.endswith("[]"):
        yield from _follow(inner, rest)
    elif isinstance(inner, str):
        yield from _follow({"type": "text", "text": inner}, rest)
    elif isinstance(inner, list):
        for part in inner:
            yield from _follow(part, rest)


def first_at(value: Any, way: str) -> Any:
    return next(_follow(value, way), None)


def holds(value: Any, wanted: Mapping[str, str | None]) -> bool:
    """Whether the wanted values stand at their ways; None is any value."""
    absent = object()
    for way, expected in wanted.items():
        there = next(_follow(value, way), absent)
        if there is absent or (expected is not None and there != expected):
            return False
    return True


def _event(rule: Rule, part: Any) -> Event | None:
    call = first_at(part, rule.call)
    call = call if isinstance(call, str) else ""
    if rule.named and not rule.named.match(call):
        return None
    said = first_at(part, rule.text)
    words = str(said) if isinstance(said, int) and rule.kind == "compacted" else _words(said)
    if rule.unless and rule.unless.search(words):
        return None
    if rule.pattern:
        match = rule.pattern.search(words)
        if match is None:
            return None
        words = match[1] if rule.pattern.groups else words
    if rule.kind == "call":
        tool = first_at(part, rule.tool)
        arguments = {"command": words} if rule.pattern else _arguments(first_at(part, rule.arguments))
        return Event("call", call=call, tool=tool if isinstance(tool, str) else SHELL, arguments=arguments)
    if not words.strip():
        return None
    return Event(rule.kind, words, call if rule.kind in ("result", "cleared") else "")


def _words(value: Any) -> str:
    """The words of a text, of a part that holds one, or of a list of these."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return _words(value.get("text"))
    if isinstance(value, list):
        return "\n".join(filter(None, map(_words, value)))
    return ""


def _arguments(value: Any) -> Mapping[str, Any]:
    """A tool's input: an object, the JSON of one, or a bare text, which is then its `input`."""
    if isinstance(value, Mapping):
        return value
    if not isinstance(value, str):
        return {}
    try:
        loaded = json.loads(value)
    except (ValueError, RecursionError):
        return {"input": value}
    return loaded if isinstance(loaded, dict) else {"input": value}
