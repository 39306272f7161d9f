"""Gemini CLI's logs since it keeps a line a record, of which the last of each name counts."""

from __future__ import annotations

import json
from typing import Any

from lamr_agents.sessions import FORMATS, read_events, read_records, recognize, requests_of
from lamr_agents.sessions.shown import framed, shown_lines

TOKENS = {"input": 6, "output": 3, "cached": 3, "thoughts": 1, "tool": 0, "total": 10}


def said(name: str, words: str, **more: Any) -> dict[str, Any]:
    return {
        "id": name,
        "timestamp": "t",
        "type": "gemini",
        "content": words,
        "tokens": TOKENS,
        "model": "g",
        **more,
    }


CALL = {
    "id": "c1",
    "name": "read_file",
    "args": {"file_path": "a.py"},
    "result": [{"functionResponse": {"response": {"output": "x = 1"}}}],
}
RECORDS = [
    {"sessionId": "s", "projectHash": "p", "startTime": "t", "kind": "main"},
    {"$set": {"messages": [{"id": "0", "type": "user", "content": [{"text": "context"}]}]}},
    {"id": "1", "timestamp": "t", "type": "user", "content": [{"text": "Find it."}]},
    said("2", "I'll look."),
    {"$set": {"lastUpdated": "t"}},
    said("2", "I'll look.", toolCalls=[CALL]),
    {
        "id": "3",
        "timestamp": "t",
        "type": "user",
        "content": [{"functionResponse": {"response": {"output": "x = 1"}}}],
    },
    said("4", "Done."),
]
LOG = "".join(json.dumps(record) + "\n" for record in RECORDS)


def test_it_is_recognized_and_each_step_is_told_once() -> None:
    form = recognize(LOG, FORMATS)
    assert form is not None
    assert (form.name, form.records) == ("gemini-cli", None)
    events = read_events(LOG, form)
    told = [(event.kind, event.text or event.tool) for event in events]
    assert told == [
        ("user", "Find it."),
        ("assistant", "I'll look."),
        ("call", "read_file"),
        ("result", "x = 1"),
        ("assistant", "Done."),
    ]
    assert events[1].record == events[3].record < events[4].record


def test_each_request_counts_once() -> None:
    form = recognize(LOG, FORMATS)
    assert form is not None
    requests = requests_of(read_records(LOG, form), form)
    assert [(request.fresh, request.cached, request.output) for request in requests] == [(3, 3, 4)] * 2


def test_what_its_shell_puts_around_an_output_is_told_from_it() -> None:
    result = "<untrusted_context>\nOutput: a = 1\nb = 2\nExit Code: 1\nProcess Group PGID: 51\n</untrusted_context>"
    assert framed(result) == (
        "<untrusted_context>\nOutput: ",
        "a = 1\nb = 2",
        "\nExit Code: 1\nProcess Group PGID: 51\n</untrusted_context>",
    )
    assert shown_lines(result).lines == ("a = 1", "b = 2")
