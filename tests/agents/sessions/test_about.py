"""What logs say of their sessions: names and folders."""

import json
from pathlib import Path

import pytest
from lamr_agents.sessions import FORMATS, Request, about_of, read_records, requests_of
from lamr_agents.sessions.about import USAGE


def form(name):
    return next(each for each in FORMATS if each.name == name)


@pytest.mark.parametrize(
    ("host", "records"),
    [
        ("claude-code", [{"type": "summary"}, {"sessionId": "s1", "cwd": "/home/u/p"}]),
        ("codex", [{"type": "session_meta", "payload": {"id": "s1", "cwd": "/home/u/p"}}]),
        ("pi", [{"type": "session", "id": "s1", "cwd": "/home/u/p"}]),
        (
            "opencode",
            [{"info": {"sessionID": "s1", "path": {"cwd": "/home/u/p"}}}],
        ),
        (
            "copilot-cli",
            [
                {
                    "type": "session.start",
                    "data": {"sessionId": "s1", "context": {"cwd": "/home/u/p"}},
                }
            ],
        ),
    ],
)
def test_a_session_is_known_by_its_name_and_folder(host, records):
    about = about_of(records, form(host))
    assert (about.name, about.folder, about.project) == ("s1", "/home/u/p", "p")


def test_a_folder_of_windows_has_a_project():
    assert about_of([{"cwd": "C:\\work\\shop"}], form("claude-code")).project == "shop"


@pytest.mark.parametrize("wrong", [None, 3, [], {}, "yesterday", "", True, 1e400, "9" * 400])
def test_what_isnt_said_as_it_should_be_isnt_known(wrong):
    about = about_of([{"sessionId": wrong, "cwd": wrong}], form("claude-code"))
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
