"""Reads the text of a log, and what it says of its session: name, folder, and the tokens of each request.

What differs between hosts is a row of `ABOUT` and a `UsageRule`, tables like a `LogFormat`. A log is a file, or a
folder: OpenHands keeps a file an event, and its accounts in another."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path, PurePath
from typing import Any

from lamr_base.records import dataclass

from lamr_agents.sessions.events import LogFormat, first_at, holds

_EVENTS = "events/event-*.json"
_STATE = "base_state.json"
_ANSWER = "llm_response_id"
_ACCOUNT = "usage"
"""The key under which the first event of a model's answer gets what the answer's request used."""


def is_conversation(folder: Path) -> bool:
    """Whether a folder is the log of one conversation of OpenHands."""
    return next(folder.glob(_EVENTS), None) is not None


def read_log(log: Path) -> str:
    """The text of a log; of a conversation, a line an event, with its accounts where it keeps any."""
    if not log.is_dir():
        return log.read_text(encoding="utf-8", errors="replace")
    used = dict(_accounts(log / _STATE))
    lines = []
    for file in sorted(log.glob(_EVENTS)):
        event = _parsed(file)
        if isinstance(event, dict):
            account = used.pop(str(event.get(_ANSWER)), None)
            lines.append(json.dumps({**event, _ACCOUNT: account} if account else event))
    return "\n".join(lines)


def _accounts(state: Path) -> Iterator[tuple[str, Any]]:
    if not state.exists():
        return
    metrics = first_at(_parsed(state), "stats.usage_to_metrics")
    for each in metrics.values() if isinstance(metrics, dict) else ():
        usages = first_at(each, "token_usages")
        for usage in usages if isinstance(usages, list) else ():
            if isinstance(usage, dict) and isinstance(usage.get("response_id"), str):
                yield usage["response_id"], usage


def _parsed(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8", errors="replace"))
    except (ValueError, RecursionError):
        return None


@dataclass(frozen=True)
class About:
    """A session's name and folder."""

    name: str = ""  # the host's, which sub-agents share; empty where the log doesn't say
    folder: str = ""  # working folder; empty where the log doesn't say

    @property
    def project(self) -> str:
        return PurePath(self.folder.replace("\\", "/")).name


ABOUT: Mapping[str, tuple[str, str]] = {
    "claude-code": ("sessionId", "cwd"),
    "codex": ("payload.id", "payload.cwd"),
    "copilot-cli": ("data.sessionId", "data.context.cwd"),
    "pi": ("id", "cwd"),
    "opencode": ("info.sessionID", "info.path.cwd"),
}
"""By the name of the format, the ways from a record to an `About`'s name and folder; the first record that has one
counts."""


def about_of(records: Sequence[Any], form: LogFormat) -> About:
    return About(*(_first_text(records, way) for way in ABOUT.get(form.name, ("", ""))))


def _first_text(records: Sequence[Any], way: str) -> str:
    found = (first_at(record, way) for record in records) if way else ()
    value = next((value for value in found if value not in (None, "")), "")
    return value if isinstance(value, str) else ""


@dataclass(frozen=True)
class Request:
    """One request to a model."""

    record: int  # index of the log's record that accounts for it; a result in an earlier record was part of its input
    fresh: int  # input tokens that no cache was written with or read for
    written: int  # input tokens that the cache was written with
    cached: int  # input tokens that the cache was read for
    output: int  # tokens that the model gave
    model: str = ""  # its name; empty where the log doesn't say
    answer: str = field(default="", compare=False)
    """Names its answer in all logs of the host, so that copies in others are found; empty where there is no name."""

    @property
    def context(self) -> int:
        return self.fresh + self.written + self.cached


@dataclass(frozen=True)
class UsageRule:
    """Ways to the token counts in a host's records."""

    record: Mapping[str, str | None]  # ways and values that mark such a record; None is any value
    at: str  # the way to the counts, below which the others are
    input: tuple[str, str, str]  # to tokens that are fresh, written to the cache, read from it; empty is 0
    output: tuple[str, ...]  # to output tokens, which are added
    model: str  # the way to the model's name, in this or else in an earlier record
    key: str = ""  # the way to what several records about one request share; the last of them counts
    key_names_answer: bool = False  # no other answer of any session has the same key
    fresh_holds_cached: bool = False  # the host's count of input tokens includes those read from the cache
    fresh_holds_written: bool = False  # and those written to it


USAGE: Mapping[str, UsageRule] = {
    "claude-code": UsageRule(
        {"message.role": "assistant", "message.usage": None},
        "message.usage.",
        ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"),
        ("output_tokens",),
        "message.model",
        key="message.id",
        key_names_answer=True,
    ),
    "codex": UsageRule(
        {"payload.type": "token_count", "payload.info.last_token_usage": None},
        "payload.info.last_token_usage.",
        ("input_tokens", "", "cached_input_tokens"),
        ("output_tokens",),
        "payload.model",
        key="payload.info.total_token_usage.total_tokens",
        fresh_holds_cached=True,
    ),
    "pi": UsageRule(
        {"message.role": "assistant", "message.usage": None},
        "message.usage.",
        ("input", "cacheWrite", "cacheRead"),
        ("output",),
        "message.model",
    ),
    "opencode": UsageRule(
        {"info.role": "assistant", "info.tokens": None},
        "info.tokens.",
        ("input", "cache.write", "cache.read"),
        ("output", "reasoning"),
        "info.modelID",
        key="info.id",
        key_names_answer=True,
    ),
    "gemini-cli": UsageRule(
        {"type": "gemini", "tokens": None},
        "tokens.",
        ("input", "", "cached"),
        ("output", "thoughts"),
        "model",
        fresh_holds_cached=True,
    ),
    "openhands-sdk": UsageRule(
        {"usage.prompt_tokens": None},
        "usage.",
        ("prompt_tokens", "cache_write_tokens", "cache_read_tokens"),
        ("completion_tokens",),
        "usage.model",
        fresh_holds_cached=True,
        fresh_holds_written=True,
    ),
}
"""By the name of the format."""


def requests_of(records: Iterable[Any], form: LogFormat) -> list[Request]:
    """The requests that records account for, in their order; none where their host keeps no accounts."""
    rule = USAGE.get(form.name)
    if rule is None:
        return []
    found: dict[Any, Request] = {}
    model = ""
    for place, record in enumerate(records):
        named = first_at(record, rule.model)
        model = named if isinstance(named, str) else model
        if not holds(record, rule.record):
            continue
        request = _request(rule, record, place, model)
        key = first_at(record, rule.key) if rule.key else None
        key = place if key is None else key
        if request.context:  # an answer that the host made up itself was no request
            first = found[key].record if key in found else place
            answer = key if rule.key_names_answer and isinstance(key, str) else ""
            found[key] = replace(request, record=first, answer=answer)
    return sorted(found.values(), key=lambda request: request.record)


def _request(rule: UsageRule, record: Any, place: int, model: str) -> Request:
    fresh, written, cached = (_tokens(record, rule.at, way) for way in rule.input)
    fresh -= cached * rule.fresh_holds_cached + written * rule.fresh_holds_written
    output = sum(_tokens(record, rule.at, way) for way in rule.output)
    return Request(place, max(0, fresh), written, cached, output, model)


def _tokens(record: Any, at: str, way: str) -> int:
    value = first_at(record, at + way) if way else 0
    return value if isinstance(value, int) and value > 0 else 0
