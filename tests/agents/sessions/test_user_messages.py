"""Every host's words around, among and instead of a user's: an example for each row of the table."""

import json
from pathlib import Path

import pytest
from lamr_agents.sessions.events import Event
from lamr_agents.sessions.notices import INSERTED, spoken
from lamr_agents.sessions.reads import Heard

from tests.timing import growth

OWN = "The parser drops the last line.\n\n## Steps\n\n1. Run it."
EXAMPLES: dict[str, list[str]] = {"around": [], "among": [], "instead": []}
"""Messages of each kind of row; those around and among a user's words hold `OWN`."""
for _row in Path(__file__).with_name("user_messages.jsonl").read_text(encoding="utf-8").splitlines():
    _where, _message = json.loads(_row)
    EXAMPLES[_where].append(_message.replace("{OWN}", OWN))
AROUND = EXAMPLES["around"]


@pytest.mark.parametrize("message", [*AROUND, *EXAMPLES["among"]])
def test_what_a_user_wrote_is_found_among_a_hosts_words(message: str) -> None:
    assert spoken(message) == OWN
    assert spoken(f"<system-reminder>be good</system-reminder>\n{message}") == OWN


@pytest.mark.parametrize("message", EXAMPLES["instead"])
def test_what_a_program_wrote_in_the_users_place_is_left_out(message: str) -> None:
    assert spoken(message) == ""


@pytest.mark.parametrize("row", INSERTED, ids=lambda row: f"{row.host}, {row.where}")
def test_every_row_has_an_example(row) -> None:
    assert any(row.begin.search(message) and row.end in message for message in EXAMPLES[row.where])


@pytest.mark.parametrize(
    "message",
    [
        "do it",
        f"As the page says: {AROUND[0]}",
        "Please solve this issue: the list is empty",
        "<pr_description>\nConsider the following PR description:\nnothing closes it",
        "Why does <ide_selection> stay open?",
        "Fix the <user_query> element.",
    ],
)
def test_what_only_looks_like_a_hosts_words_stays(message: str) -> None:
    assert spoken(message) == message


def test_the_task_of_a_session_is_the_users_own_words() -> None:
    heard = Heard()
    heard.hear(Event("user", AROUND[0]))
    assert heard.task == OWN


@pytest.mark.parametrize(
    "part",
    ["<system-reminder>", "<pr_description>", "<uploaded_files>", "<user_query>", "## Issue Description\n"],
)
def test_what_has_no_end_is_looked_at_once(part: str) -> None:
    assert spoken(part * 60_000).strip() == (part * 60_000).strip()
    assert growth(spoken, lambda size: part * size, 4_000, 16) < 64  # a square would be 256


def test_what_has_no_end_stays() -> None:
    assert spoken("a<system-reminder>b</system-reminder>c<ide_selection>d") == "ac<ide_selection>d"
