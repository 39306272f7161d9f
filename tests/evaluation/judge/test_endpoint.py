"""Readers at OpenAI-compatible endpoints, against a scripted server: retries, refusals, keys, questions together."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from lamr_base.errors import AccessDeniedError, InvalidInputError, ServerError, ServerUnavailableError
from lamr_evaluation.judge import RefusedError
from lamr_evaluation.judge.readers import EndpointReader
from lamr_evaluation.judge.tasks import Chat

from tests.evaluation.judge.material import CHOICE_ITEM, CODE
from tests.evaluation.judge.scripted import Scripted
from tests.processes import eventually

HELLO = Chat("hello there", 16)


@pytest.fixture
def server() -> Iterator[Scripted]:
    with Scripted(lambda _: "B") as scripted:
        yield scripted


def reader(server: Scripted, **options: object) -> EndpointReader:
    return EndpointReader(server.url, "scripted", **options)


def test_a_question_holds_the_code_and_the_choices(server: Scripted) -> None:
    asked = reader(server).ask(CHOICE_ITEM, CODE)
    assert CODE in asked.text
    assert asked.text.index("A) 7") < asked.text.index("D) 8081")
    assert reader(server).grade(CHOICE_ITEM, reader(server).answer(asked)) == {"right": 1.0}
    [request] = server.requests
    assert request["model"] == "scripted"
    assert [each["role"] for each in request["messages"]] == ["system", "user"]
    assert (request["temperature"], request["max_tokens"]) == (0.0, asked.longest)


def test_what_can_be_tried_again_is_until_retries_end(server: Scripted) -> None:
    server.failures = [429, 503, 500]
    reply = reader(server).answer(HELLO)
    assert (reply.text, len(server.requests)) == ("B", 4)
    assert [reply.tokens_in, reply.tokens_out] == server.paid
    server.failures = [503] * 9
    with pytest.raises(ServerError, match="refuses a request"):
        reader(server, retries=1).answer(HELLO)
    assert len(server.requests) == 4 + 2


def test_a_question_that_is_refused_is_no_error_of_the_endpoint(server: Scripted) -> None:
    server.refuses = lambda _: "the prompt has more than 4096 tokens"
    with pytest.raises(RefusedError, match="more than 4096 tokens"):
        reader(server).answer(HELLO)
    assert len(server.requests) == 1


def test_parameters_that_a_model_refuses_are_left_out(server: Scripted) -> None:
    wants = {"max_tokens": "max_completion_tokens", "temperature": "the default", "seed": "none"}

    def refuses(body: dict) -> str | None:
        name = next((name for name in wants if name in body), None)
        return (
            name and f"Unsupported parameter: '{name}' is not supported with this model. Use {wants[name]}."
        )

    server.refuses = refuses
    one = reader(server)
    assert one.answer(HELLO).text == one.answer(HELLO).text == "B"
    assert len(server.requests) == 5
    assert {"model", "messages", "max_completion_tokens"} == set(server.requests[-1])


def test_a_server_that_is_not_there_is_said() -> None:
    with Scripted(lambda _: "B") as gone:
        url = gone.url
    with pytest.raises(ServerUnavailableError, match="nothing answers"):
        EndpointReader(url, "scripted", retries=0).answer(HELLO)


@pytest.mark.parametrize(
    "spoil", [lambda _: {"choices": []}, lambda _: [], lambda _: {"choices": [{"text": "B"}]}]
)
def test_an_answer_of_another_form_is_said(server: Scripted, spoil) -> None:
    server.spoil = spoil
    with pytest.raises(ServerError, match="not as /chat/completions does"):
        reader(server).answer(HELLO)


def test_the_key_is_sent_encrypted_and_a_wrong_one_is_said(server: Scripted) -> None:
    reader(server, api_key="secret").answer(HELLO)
    assert server.keys == ["Bearer secret"]
    server.failures = [401]
    with pytest.raises(AccessDeniedError, match="LAMR_READER_KEY"):
        reader(server).answer(HELLO)
    with pytest.raises(InvalidInputError, match="unencrypted"):
        EndpointReader("http://example.org/v1", "m", api_key="secret")


def test_thinking_is_no_answer_and_one_that_is_cut_off_is_known_as_such(server: Scripted) -> None:
    server.answer = lambda _: "<think>A or C? The answer is A.</think>\nB"
    one = reader(server)
    reply = one.answer(one.ask(CHOICE_ITEM, CODE))
    assert (one.grade(CHOICE_ITEM, reply), reply.cut) == ({"right": 1.0}, False)
    server.finish = "length"
    assert reader(server).answer(HELLO).cut


def test_questions_are_under_way_together(server: Scripted) -> None:
    server.held = threading.Event()
    one = reader(server)
    with ThreadPoolExecutor(4) as pool:
        replies = [pool.submit(one.answer, HELLO) for _ in range(4)]
        assert eventually(lambda: server.most_at_once == 4)
        server.held.set()
    assert {each.result().text for each in replies} == {"B"}
