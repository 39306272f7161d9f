"""Messages on their way to a model: new results are pruned once, and every later request sends the same again."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from lamr_agents.local.texts import Texts
from lamr_agents.messages import Conversations
from lamr_agents.policy import Policy
from lamr_client import Pruner, ServerUnavailableError
from lamr_client.mock_transport import MockTransport, uniform_answer

from tests.agents.samples import CODE, NUMBERED, SAID, TASK, answers, calls, says

REMINDER = "\n\n<system-reminder>Be brief.</system-reminder>"


def openai(text: str, tool: str = "Bash", **arguments: Any) -> list[dict[str, Any]]:
    """A conversation for OpenAI's chats that ends with a tool's result."""
    call = {
        "id": "c1",
        "type": "function",
        "function": {"name": tool, "arguments": json.dumps(arguments or {"command": "cat a.py"})},
    }
    return [
        {"role": "system", "content": "You code."},
        {"role": "user", "content": TASK},
        {"role": "assistant", "content": SAID, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": text},
    ]


def anthropic(text: str) -> list[dict[str, Any]]:
    """The same for Anthropic's messages, as Claude Code writes them."""
    return [
        {"role": "user", "content": [says(TASK)]},
        {"role": "assistant", "content": [says(SAID), calls("Read", "t1", file_path="/w/a.py")]},
        {"role": "user", "content": [answers("t1", text)]},
    ]


def text_of(message: dict[str, Any]) -> str:
    content = message["content"]
    while not isinstance(content, str):
        content = content[0].get("content") or content[0].get("text")
    return content


@pytest.fixture
def transport() -> MockTransport:
    return MockTransport(lambda request: uniform_answer(request, 0.5))


@pytest.fixture
def conversations(tmp_path: Path, transport: MockTransport) -> Conversations:
    policy = Policy(
        threshold=0.45
    )  # the model says the same of all lines, and its own threshold lies near that
    return Conversations(Pruner(transport=transport, retries=0), Texts(tmp_path / "sent.sqlite3"), policy)


DONE = {"role": "assistant", "content": "I see."}
GO_ON = {"role": "user", "content": "Go on with handler_59, please."}


def test_a_focus_question_wins(conversations: Conversations) -> None:
    question = "What does handler_9 write?"
    asked = openai(CODE, command="cat a.py", context_focus_question=question)
    text = text_of(conversations.pruned(asked)[-1])
    assert "def handler_9(" in text
    assert "lines pruned" in text
    assert text != text_of(conversations.pruned(openai(CODE))[-1])


@pytest.mark.parametrize(
    "messages", [openai(CODE), openai(NUMBERED, "Read", file_path="a.py"), anthropic(NUMBERED + REMINDER)]
)
def test_a_result_is_pruned_once_and_stays_what_was_sent(
    conversations: Conversations, transport: MockTransport, messages: list[dict[str, Any]]
) -> None:
    before = copy.deepcopy(messages)
    sent = conversations.pruned(messages)
    assert messages == before
    assert sent[:-1] == messages[:-1]
    text = text_of(sent[-1])
    assert "def handler_30(" in text
    assert "value_7 =" not in text
    assert "lines are shown" in text or " are shown; read a range" in text
    assert text.endswith(REMINDER) == text_of(messages[-1]).endswith(REMINDER)
    asked = len(transport.requests)
    later = conversations.pruned([*messages, DONE, GO_ON])
    assert later[: len(sent)] == sent  # else the provider's cache would be lost
    assert conversations.pruned(messages) == sent
    assert len(transport.requests) == asked


def test_what_came_before_the_last_answer_isnt_touched(
    conversations: Conversations, transport: MockTransport
) -> None:
    messages = [*openai(CODE), DONE, GO_ON]
    assert conversations.pruned(messages) == messages
    assert not transport.requests


def test_a_second_look_passes(conversations: Conversations) -> None:
    again = openai(CODE)[2:]
    again[0]["tool_calls"][0]["id"] = again[1]["tool_call_id"] = "c2"
    sent = conversations.pruned([*openai(CODE), *again])
    assert text_of(sent[-1]) == CODE


@pytest.mark.parametrize(
    "messages",
    [
        [],
        openai(CODE, command="make test"),
        openai(CODE, command="cat a.py b.py"),  # the agent couldn't get it back
        openai("x = 1\n"),
        [{"role": "user", "content": None}, {"role": "tool", "tool_call_id": "c9", "content": CODE}],
        [{"role": "user", "content": [7, {"type": "image"}]}, {"role": "tool", "content": [3]}],
    ],
)
def test_other_messages_stay_as_they_are(
    conversations: Conversations, messages: list[dict[str, Any]]
) -> None:
    assert conversations.pruned(messages) == messages


def test_a_server_that_is_away_is_told_and_the_text_stays_the_same(
    conversations: Conversations, transport: MockTransport
) -> None:
    transport.errors = [ServerUnavailableError("it was killed")] * 99
    sent = conversations.pruned(openai(CODE))
    assert text_of(sent[-1]).startswith(CODE)
    assert "[lamr: not pruned: ServerUnavailableError: it was killed" in text_of(sent[-1])
    transport.errors = []
    assert conversations.pruned([*openai(CODE), DONE])[: len(sent)] == sent
    other = openai(CODE)
    other[1] = {"role": "user", "content": "What does handler_30 write?"}
    assert "value_7 =" not in text_of(conversations.pruned(other)[-1])


def test_what_cant_be_remembered_isnt_changed(tmp_path: Path, transport: MockTransport) -> None:
    broken = Conversations(Pruner(transport=transport), Texts(tmp_path))
    assert broken.pruned(openai(CODE)) == openai(CODE)
