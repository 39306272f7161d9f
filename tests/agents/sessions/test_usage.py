"""What the logs of each host say of the tokens of a request."""

import json

import pytest
from lamr_agents.sessions import FORMATS, Request, read_records, requests_of
from lamr_agents.sessions.about import USAGE


def form(name):
    return next(form for form in FORMATS if form.name == name)


def jsonl(*records):
    return "".join(json.dumps(record) + "\n" for record in records)


def codex_count(total, **last):
    usage = {"total_token_usage": {"total_tokens": total}, "last_token_usage": last}
    return {"timestamp": "t", "type": "event_msg", "payload": {"type": "token_count", "info": usage}}


LOGS = {
    "claude-code": jsonl(
        {
            "message": {
                "role": "assistant",
                "id": "m",
                "model": "opus",
                "usage": {
                    "input_tokens": 1,
                    "cache_creation_input_tokens": 2,
                    "cache_read_input_tokens": 3,
                    "output_tokens": 1,
                },
            }
        },
        {
            "message": {
                "role": "assistant",
                "id": "m",
                "model": "opus",
                "usage": {
                    "input_tokens": 1,
                    "cache_creation_input_tokens": 2,
                    "cache_read_input_tokens": 3,
                    "output_tokens": 4,
                },
            }
        },
    ),
    "codex": jsonl(
        {"timestamp": "t", "type": "turn_context", "payload": {"model": "gpt"}},
        codex_count(10, input_tokens=6, cached_input_tokens=3, output_tokens=4),
        codex_count(10, input_tokens=6, cached_input_tokens=3, output_tokens=4),
        {"timestamp": "t", "payload": {"type": "token_count", "info": None}},
    ),
    "pi": jsonl(
        {
            "type": "message",
            "message": {
                "role": "assistant",
                "model": "gpt",
                "usage": {"input": 1, "output": 4, "cacheRead": 3, "cacheWrite": 2},
            },
        }
    ),
    "opencode": json.dumps(
        {
            "messages": [
                {
                    "info": {
                        "role": "assistant",
                        "id": "m",
                        "modelID": "gemini",
                        "tokens": {
                            "input": 1,
                            "output": 3,
                            "reasoning": 1,
                            "cache": {"read": 3, "write": 2},
                        },
                    },
                    "parts": [],
                }
            ]
        }
    ),
    "gemini-cli": json.dumps(
        {
            "messages": [
                {
                    "type": "gemini",
                    "content": "",
                    "timestamp": "t",
                    "model": "gemini",
                    "tokens": {"input": 6, "cached": 3, "output": 3, "thoughts": 1},
                }
            ]
        }
    ),
}
LOGS["openhands-sdk"] = jsonl(
    {
        "kind": "ActionEvent",
        "usage": {
            "model": "anthropic/opus",
            "prompt_tokens": 6,
            "completion_tokens": 4,
            "cache_read_tokens": 3,
            "cache_write_tokens": 2,
        },
    },
)
EXPECTED = {
    "claude-code": Request(0, 1, 2, 3, 4, "opus"),
    "codex": Request(1, 3, 0, 3, 4, "gpt"),
    "pi": Request(0, 1, 2, 3, 4, "gpt"),
    "opencode": Request(0, 1, 2, 3, 4, "gemini"),
    "gemini-cli": Request(0, 3, 0, 3, 4, "gemini"),
    "openhands-sdk": Request(0, 1, 2, 3, 4, "anthropic/opus"),
}


@pytest.mark.parametrize("name", USAGE)
def test_each_hosts_accounts_are_read(name):
    assert requests_of(read_records(LOGS[name], form(name)), form(name)) == [EXPECTED[name]]


def test_a_host_without_accounts_has_none():
    assert requests_of(read_records('{"history": []}', form("swe-agent")), form("swe-agent")) == []


@pytest.mark.parametrize("tokens", [None, "many", -3, [1], {}])
def test_counts_that_are_none_are_zero(tokens):
    log = jsonl({"message": {"role": "assistant", "usage": {"input": tokens, "cacheRead": 5, "output": 1}}})
    assert requests_of(read_records(log, form("pi")), form("pi")) == [Request(0, 0, 0, 5, 1)]
