"""What a session pointed at: by which words, in which file, and for how long."""

import pytest
from lamr_agents.sessions import Event
from lamr_agents.sessions.reads import RECENT, Pointers


def pointers(*events: Event) -> Pointers:
    heard = Pointers()
    for event in events:
        heard.hear(event)
    return heard


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("src/queue.py:120:    def get(self):\nsrc/queue.py-121-    pass\nother.py:7: x", (120,)),
        ('  File "/w/src/queue.py", line 31, in get\n    raise Empty\n', (31,)),
        ("see queue.py#L12 and ./src/queue.py:9", (9, 12)),
        ("src/queue.py(44,3): error TS2304", (44,)),
        ("FAILED src/queue.py:3: AssertionError", (3,)),
        ("my_queue.py:5 and lib/queue.py:6 and queue.pyc:7 and queue.py", ()),
        ("queue.py:99999999999999999999", ()),
        ("C:\\w\\src\\queue.py:8", (8,)),
    ],
)
def test_how_texts_name_lines(text: str, lines: tuple[int, ...]) -> None:
    assert pointers(Event("result", text)).at("src/queue.py") == lines


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("bash", {"command": "grep -n 'def get' src/queue.py"}),
        ("bash", {"command": "cd /w && rg -n get src/queue.py | head -20"}),
        ("Grep", {"pattern": "get", "path": "/w/src/queue.py", "output_mode": "content"}),
    ],
)
def test_a_search_of_one_file_names_its_lines_by_numbers_alone(tool: str, arguments: dict[str, str]) -> None:
    call = Event("call", call="1", tool=tool, arguments=arguments)
    other = Event("call", call="2", tool="bash", arguments={"command": "grep -n get src/other.py"})
    heard = pointers(
        call, other, Event("result", "12:def get():\n13-  x\n", "1"), Event("result", "77:get\n", "2")
    )
    assert heard.at("src/queue.py") == (12,)
    assert heard.at("src/other.py") == (77,)


def test_numbers_in_what_isnt_a_search_of_one_file_say_nothing() -> None:
    for command in ("grep -rn get src", "make", "cat src/queue.py"):
        call = Event("call", call="1", tool="bash", arguments={"command": command})
        assert pointers(call, Event("result", "12: def get():\n", "1")).at("src/queue.py") == ()


def test_what_was_said_long_ago_is_forgotten() -> None:
    said = Event("user", "look at queue.py:5")
    assert pointers(said, *[Event("assistant", "hm")] * (RECENT - 1)).at("queue.py") == (5,)
    assert pointers(said, *[Event("assistant", "hm")] * RECENT).at("queue.py") == ()
