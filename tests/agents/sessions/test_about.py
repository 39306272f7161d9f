"""What logs say of their sessions: names, folders and times."""

import json
from datetime import datetime, timezone
from pathlib import Path

import pytest
from lamr_agents.sessions import FORMATS, Request, about_of, read_records, requests_of
from lamr_agents.sessions.about import USAGE

NOON = datetime(2026, 11, 25, 12, tzinfo=timezone.utc).timestamp()
ISO = "2026-11-25T12:00:00.000Z"


def form(name):
    return next(each for each in FORMATS if each.name == name)


@pytest.mark.parametrize(
    ("host", "records"),
    [
        ("claude-code", [{"type": "summary"}, {"sessionId": "s1", "cwd": "/home/u/p", "timestamp": ISO}]),
        ("codex", [{"timestamp": ISO, "type": "session_meta", "payload": {"id": "s1", "cwd": "/home/u/p"}}]),
        ("pi", [{"type": "session", "id": "s1", "timestamp": ISO, "cwd": "/home/u/p"}]),
        (
            "opencode",
            [{"info": {"sessionID": "s1", "path": {"cwd": "/home/u/p"}, "time": {"created": NOON * 1000}}}],
        ),
        (
            "copilot-cli",
            [
                {
                    "type": "session.start",
                    "timestamp": ISO,
                    "data": {"sessionId": "s1", "context": {"cwd": "/home/u/p"}},
                }
            ],
        ),
    ],
)
def test_a_session_is_known_by_its_name_folder_and_time(host, records):
    about = about_of(records, form(host))
    assert (about.name, about.folder, about.project, about.began) == ("s1", "/home/u/p", "p", NOON)


def test_a_folder_of_windows_has_a_project():
    assert about_of([{"cwd": "C:\\work\\shop"}], form("claude-code")).project == "shop"


@pytest.mark.parametrize("wrong", [None, 3, [], {}, "yesterday", "", True, 1e400, "9" * 400])
def test_what_isnt_said_as_it_should_be_isnt_known(wrong):
    about = about_of([{"sessionId": wrong, "cwd": wrong, "timestamp": wrong}], form("claude-code"))
    assert about.began is None or isinstance(about.began, float)
    assert isinstance(about.name, str)
    assert isinstance(about.project, str)


# What the logs of each host say of the tokens of a request


def jsonl(*records):
    return "".join(json.dumps(record) + "\n" for record in records)


LOGS = {path.stem: path.read_text() for path in (Path(__file__).parent / "usage").iterdir()}
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
