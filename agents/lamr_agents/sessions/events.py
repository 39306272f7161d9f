"""Reads the logs of coding agents into one sequence of events, by tables.

What differs between hosts is a `LogFormat`: where a log's records lie, and which parts of a record are words of the
user, words of the assistant, a tool's call or its result. A *way* leads to those parts: keys joined by dots, of
which one that ends on `[]` opens a list.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

Kind = Literal["user", "assistant", "thought", "call", "result", "compacted", "cleared"]
SHELL = "shell"
"""The tool of a call that names none: hosts that know one tool only run commands."""
_RECORDS_LOOKED_AT = 200


@dataclass(frozen=True)
class Event:
    """One step of a session.

    Attributes:
        kind: words of the user, words of the assistant aloud or in thought, a tool's call, or its result; that the
            context was compacted, so that nothing from before is in it word for word; or that the host cleared results.
        text: the words, or the result's text, or when it was compacted; empty for a call.
        call: the name that joins a call and its result; empty where the host gives none. Of `cleared`, the call whose
            result went; empty where the log doesn't say which results went.
        tool, arguments: the called tool and its input; only for a call.
        agent: the sub-agent whose step it is; empty for the session's own.
        record: index of the log's record that it is from; -1 for an event that no log gave.
    """

    kind: Kind
    text: str = ""
    call: str = ""
    tool: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    agent: str = ""
    record: int = field(default=-1, compare=False)


@dataclass(frozen=True)
class Rule:
    """Which parts of a record become events of one kind.

    Attributes:
        kind: the kind of the events.
        at: the way from the record to the parts; empty for the record itself.
        record, part: ways and the values that must stand there, in the record and in each part; None is any value.
        without: keys that a part must not have, or with a false value.
        text, call, tool, arguments: the ways from a part to the event's fields.
        pattern: what the text must match; its first group, if it has one, becomes the text. A call whose text matches
            runs that text as a command.
        unless: what the text must not match.
        named: what the call's name must match at its beginning.
    """

    kind: Kind
    at: str = ""
    record: Mapping[str, str | None] = field(default_factory=dict)
    part: Mapping[str, str | None] = field(default_factory=dict)
    without: Sequence[str] = ()
    text: str = "text"
    call: str = "id"
    tool: str = "name"
    arguments: str = "input"
    pattern: re.Pattern[str] | None = None
    unless: re.Pattern[str] | None = None
    named: re.Pattern[str] | None = None


@dataclass(frozen=True)
class LogFormat:
    """One host's log.

    Attributes:
        name: the host.
        records: the way to the list of records in a log that is one JSON value; None where each line is a record.
        mark: ways in a record, and the values there, by which the log is recognized; None is any value.
        rules: which parts become events, in the order that a record's events have.
        renewed: the way to what records have in common of which the last counts; empty where each stands for itself.
        agents: ways to what names the sub-agent that a record is of; the first that leads to something counts.
        parents: ways to a record's own name and to that of the record before it, where a log holds several branches;
            empty where it holds one.
        by_a_script: how the names of calls begin that a script of the model's made, whose results the model is given
            only where the script prints them; None where there are none.
    """

    name: str
    records: str | None
    mark: Mapping[str, str | None]
    rules: Sequence[Rule]
    renewed: str = ""
    agents: Sequence[str] = ()
    parents: tuple[str, str] | None = None
    by_a_script: re.Pattern[str] | None = None


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
    """The session's events in the order in which they happened.

    A line of a log that isn't JSON is passed over: the last one of a running session may be cut off.

    Raises:
        ValueError: a log that is one JSON value can't be parsed.
    """
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
    beside it in the log; the model is given these as well.

    Returns:
        the events in the log's order; None where no record makes the call, or that record has no name.
    """
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
    """The records of a log; lines that aren't JSON, or nested too deeply, are passed over.

    Raises:
        ValueError: a log that is one JSON value can't be parsed.
    """
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
    """The first thing that a way leads to; None where it leads to nothing."""
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
