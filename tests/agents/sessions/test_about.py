"""What logs say of their sessions: names, folders and times."""

from datetime import datetime, timezone

import pytest
from lamr_agents.sessions import FORMATS, about_of

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
