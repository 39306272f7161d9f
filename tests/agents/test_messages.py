"""Messages on their way to a model: new results are pruned once, and every later request sends the same again."""

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
    assert " pruned" in text
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


def test_a_third_look_names_what_stands_above(tmp_path: Path, transport: MockTransport) -> None:
    policy = Policy(threshold=0.45, repeats=False)
    told = Conversations(Pruner(transport=transport, retries=0), Texts(tmp_path / "sent.sqlite3"), policy)
    messages = openai(CODE)
    for number in (2, 3):
        again = openai(CODE)[2:]
        again[0]["tool_calls"][0]["id"] = again[1]["tool_call_id"] = f"c{number}"
        told.pruned(messages)
        messages += again
    sent = told.pruned(messages)
    looks = [text_of(each) for each in sent if each["role"] == "tool"]
    assert " pruned" in looks[0]
    assert looks[1] == CODE
    assert looks[2].splitlines()[0] == "[lamr: lines 1-303 are as you read lines 1-303 of a.py above]"
    assert told.pruned([*messages, DONE, GO_ON])[: len(sent)] == sent
    cleared = [*messages, DONE, GO_ON]
    second = max(place for place, each in enumerate(cleared[:-3]) if each["role"] == "tool")
    cleared[second] = {**cleared[second], "content": "[Old tool result content cleared]"}
    assert text_of(told.pruned(cleared)[len(sent) - 1]) == CODE  # what it named isn't in the request any more
    assert text_of(told.pruned(messages, edited=True)[-1]) == CODE


IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aaaa"}}


@pytest.mark.parametrize("place", [0, 1])
def test_an_image_beside_the_text_stays(conversations: Conversations, place: int) -> None:
    messages = anthropic(NUMBERED)
    parts = [says(NUMBERED)]
    parts.insert(place, IMAGE)
    messages[-1]["content"][0]["content"] = parts
    result = conversations.pruned(messages)[-1]["content"][0]
    assert result["content"][place] == IMAGE
    assert "value_7 =" not in result["content"][1 - place]["text"]
    assert "def handler_30(" in result["content"][1 - place]["text"]


def packed(text: str, code: int = 0) -> str:
    """What mini-swe-agent's own configuration makes of a command's output."""
    return json.dumps({"returncode": code, "output": text}, indent=2)


def test_output_that_is_packed_into_json_is_pruned_within_it(conversations: Conversations) -> None:
    text = text_of(conversations.pruned(openai(packed(CODE)))[-1])
    assert list(json.loads(text)) == ["returncode", "output"]
    assert json.loads(text)["output"] == text_of(conversations.pruned(openai(CODE))[-1])


def many(*commands: str) -> list[dict[str, Any]]:
    """A conversation whose last answer runs several commands at once, each of which prints a file of its own."""
    system, user, answer, _ = openai(CODE)
    calls = [
        {"id": f"c{n}", "function": {"name": "bash", "arguments": json.dumps({"command": command})}}
        for n, command in enumerate(commands)
    ]
    results = [{"role": "tool", "tool_call_id": call["id"], "content": CODE} for call in calls]
    return [system, user, {**answer, "tool_calls": calls}, *results]


def test_results_of_one_batch_are_pruned_each(conversations: Conversations) -> None:
    sent = conversations.pruned(many("cat a.py", "cat b.py", "cat a.py", "cat -n c.py"))
    cut = [" pruned" in text_of(message) for message in sent[3:]]
    assert cut == [True, True, False, True]  # the third shows a file again


def test_a_batch_takes_no_longer_than_one_request_may(tmp_path: Path, transport: MockTransport) -> None:
    told = Conversations(Pruner(transport=transport), Texts(tmp_path / "sent.sqlite3"), timeout=0.0)
    messages = many("cat a.py", "cat b.py")
    for message in told.pruned(messages)[3:]:
        assert message["content"] == f"{CODE}\n[lamr: not pruned: the 0 s of this request are over]\n"
    assert not transport.requests


@pytest.mark.parametrize("odd", ["half a character \ud83d.", "a NUL \0."])
def test_words_that_no_model_reads_dont_spoil_the_query(conversations: Conversations, odd: str) -> None:
    messages = openai(CODE)
    messages[1]["content"] = f"{odd} {TASK}"
    messages[2]["content"] = f"{odd} {SAID}"
    assert " pruned" in text_of(conversations.pruned(messages)[-1])


@pytest.mark.parametrize("calls", ["x", {"a": 1}, ["x", None, {"id": "c1"}, {"id": "c1", "function": "f"}]])
def test_messages_of_no_known_shape_dont_keep_others_from_being_pruned(
    conversations: Conversations, calls: Any
) -> None:
    strange = {"role": "assistant", "content": SAID, "tool_calls": calls}
    messages: list[Any] = ["hi", None, strange, *openai(CODE)]
    sent = conversations.pruned(messages)
    assert sent[:-1] == messages[:-1]
    assert " pruned" in text_of(sent[-1])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "messages",
    [
        [],
        openai(packed(CODE, code=1)),
        openai(packed("")),
        openai(json.dumps({"output": CODE, "exit": 0})[:-1]),
        openai('{"returncode": 0, "output": ["' + CODE.replace("\n", " ") + '"]}'),
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
    assert "[lamr: judged in haste (line model; server unavailable): " in text_of(sent[-1])
    transport.errors = []
    assert conversations.pruned([*openai(CODE), DONE])[: len(sent)] == sent
    other = openai(CODE)
    other[1] = {"role": "user", "content": "What does handler_30 write?"}
    assert "value_7 =" not in text_of(conversations.pruned(other)[-1])


def test_what_cant_be_remembered_isnt_changed(tmp_path: Path, transport: MockTransport) -> None:
    broken = Conversations(Pruner(transport=transport), Texts(tmp_path))
    assert broken.pruned(openai(CODE)) == openai(CODE)
