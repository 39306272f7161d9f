"""Codex's code mode: scripts run commands, and the model sees what scripts print of these."""

from __future__ import annotations

import json
from typing import Any

import pytest
from lamr_agents.sessions import Event, big_reads, read_events
from lamr_agents.sessions.formats import CODEX

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
