"""What logs say of their sessions: names and folders."""

import pytest
from lamr_agents.sessions import FORMATS, about_of


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
