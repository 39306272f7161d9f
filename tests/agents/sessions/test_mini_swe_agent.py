"""mini-swe-agent's long outputs, of which its configurations show two ends."""

from __future__ import annotations

import json

import pytest
from lamr_agents.sessions import big_reads, read_events
from lamr_agents.sessions.formats import MINI_SWE_AGENT
from lamr_agents.sessions.notices import gaps
from lamr_agents.sessions.shown import packed_output

CODE = "".join(f"value_{n} = 'the value {n}'\n" for n in range(600))
HEAD, TAIL = CODE[:5000], CODE[-5000:]
JSON = json.dumps(
    {
        "returncode": 0,
        "output_head": HEAD,
        "output_tail": TAIL,
        "elided_chars": len(CODE) - 10_000,
        "warning": "Output too long.",
    },
    indent=2,
)
TAGS = (
    "<returncode>0</returncode>\n<warning>\nThe output of your last command was too long.\n</warning>"
    f"<output_head>\n{HEAD}\n</output_head>\n<elided_chars>\n{len(CODE) - 10_000} characters elided\n</elided_chars>\n"
    f"<output_tail>\n{TAIL}\n</output_tail>"
)
CALL = {"id": "c", "function": {"name": "bash", "arguments": '{"command": "cat a.py"}'}}


@pytest.mark.parametrize(
    "answers",
    [
        [
            {"role": "assistant", "content": "I'll look.", "tool_calls": [CALL]},
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
