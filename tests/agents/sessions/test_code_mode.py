"""Codex's code mode: scripts run commands, and the model sees what scripts print of these."""

import json
from typing import Any

import pytest
from lamr_agents.sessions import FORMATS, Event, big_reads, read_events, read_records, recognize, requests_of
from lamr_agents.sessions.formats import CODEX, MINI_SWE_AGENT
from lamr_agents.sessions.notices import gaps
from lamr_agents.sessions.shown import framed, packed_output, shown_lines

CODE = "".join(f"value_{n} = {n}\n" for n in range(100))


def log(*records: tuple[str, dict[str, Any]]) -> str:
    return "".join(
        json.dumps({"timestamp": "t", "type": kind, "payload": payload}) + "\n" for kind, payload in records
    )


def script(source: str = "…") -> tuple[str, dict[str, Any]]:
    return "response_item", {"type": "custom_tool_call", "call_id": "c0", "name": "exec", "input": source}


def ran(command: str, output: str, name: str = "exec-1") -> tuple[str, dict[str, Any]]:
    item = {"type": "CommandExecution", "id": name, "command": ["/bin/bash", "-lc", command]}
    return "event_msg", {"type": "item_completed", "item": {**item, "aggregated_output": output}}


def printed(*texts: str) -> tuple[str, dict[str, Any]]:
    parts = [{"type": "input_text", "text": text} for text in ("Script completed\nOutput:\n", *texts)]
    return "response_item", {"type": "custom_tool_call_output", "call_id": "c0", "output": parts}


def results(*records: tuple[str, dict[str, Any]]) -> list[Event]:
    return [event for event in read_events(log(*records), CODEX) if event.kind == "result"]


def test_what_a_script_prints_of_a_command_is_read_once() -> None:
    session = read_events(log(script(), ran("cat a.py", CODE), printed(CODE)), CODEX)
    (read,) = big_reads(session)
    assert (read.read.path, "\n".join(read.shown.lines) + "\n") == ("a.py", CODE)
    assert sum(event.text.count("value_7 =") for event in session if event.kind == "result") == 1


def test_what_a_script_prints_besides_is_its_own() -> None:
    inner, outer = results(script(), ran("cat a.py", CODE), printed("before", CODE, "after"))
    assert (inner.call, inner.text) == ("exec-1", CODE)
    assert (outer.call, outer.text.split()) == ("c0", ["Script", "completed", "Output:", "before", "after"])


@pytest.mark.parametrize("shown", [CODE[:300], CODE.upper(), "200 lines"])
def test_what_a_script_keeps_to_itself_was_never_shown(shown: str) -> None:
    (outer,) = results(script(), ran("cat a.py", CODE), printed(shown))
    assert outer.call == "c0"
    assert shown.strip() in outer.text


def test_a_script_that_isnt_done_has_shown_nothing() -> None:
    assert not results(script(), ran("cat a.py", CODE))


def test_a_command_of_the_models_own_is_told_by_its_result_alone() -> None:
    call = {
        "type": "function_call",
        "call_id": "call_1",
        "name": "exec_command",
        "arguments": '{"cmd": "cat a.py"}',
    }
    answer = {"type": "function_call_output", "call_id": "call_1", "output": f"Output:\n{CODE}"}
    (result,) = results(("response_item", call), ran("cat a.py", CODE, "call_1"), ("response_item", answer))
    assert result.call == "call_1"


# Gemini CLI's logs since it keeps a line a record, of which the last of each name counts


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


# mini-swe-agent's long outputs, of which its configurations show two ends


LONG_CODE = "".join(f"value_{n} = 'the value {n}'\n" for n in range(600))
HEAD, TAIL = LONG_CODE[:5000], LONG_CODE[-5000:]
JSON = json.dumps(
    {
        "returncode": 0,
        "output_head": HEAD,
        "output_tail": TAIL,
        "elided_chars": len(LONG_CODE) - 10_000,
        "warning": "Output too long.",
    },
    indent=2,
)
TAGS = (
    "<returncode>0</returncode>\n<warning>\nThe output of your last command was too long.\n</warning>"
    f"<output_head>\n{HEAD}\n</output_head>\n<elided_chars>\n{len(LONG_CODE) - 10_000} characters elided\n"
    f"</elided_chars>\n<output_tail>\n{TAIL}\n</output_tail>"
)
CAT = {"id": "c", "function": {"name": "bash", "arguments": '{"command": "cat a.py"}'}}


@pytest.mark.parametrize(
    "answers",
    [
        [
            {"role": "assistant", "content": "I'll look.", "tool_calls": [CAT]},
            {"role": "tool", "tool_call_id": "c", "content": JSON},
        ],
        [
            {"role": "assistant", "content": "I'll look.\n\n```mswea_bash_command\ncat a.py\n```"},
            {"role": "user", "content": TAGS},
        ],
        [
            {"role": "assistant", "content": "I'll look.\n\n```mswea_bash_command\ncat a.py\n```"},
            {"role": "user", "content": f"<exception>Timeout</exception>\n{TAGS}"},
        ],
    ],
)
def test_both_ends_are_a_big_read(answers: list[dict[str, object]]) -> None:
    log = json.dumps({"messages": [{"role": "user", "content": "Fix it."}, *answers]})
    session = read_events(log, MINI_SWE_AGENT)
    (read,) = big_reads(session)
    assert (read.read.path, read.task) == ("a.py", "Fix it.")
    assert "value_3 = 'the value 3'" in read.shown.lines
    assert "value_599 = 'the value 599'" in read.shown.lines
    assert len(gaps("\n".join(read.shown.lines))) == 1
    assert [event.text for event in session if event.kind == "user"] == ["Fix it."]


def test_an_object_with_both_ends_is_one_output() -> None:
    packed = packed_output(JSON)
    assert packed
    assert packed["output"].startswith(HEAD)
    assert packed["output"].endswith(TAIL)
    assert set(packed) == {"returncode", "output", "warning"}
    assert packed_output(JSON.replace('"returncode"', '"code"')) is None
