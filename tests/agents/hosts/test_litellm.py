"""LiteLLM's proxy itself between an agent and a scripted model, with lamr's callback."""

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.agents.hosts.anthropic_endpoint import endpoint, tool_results
from tests.agents.hosts.cuts import IN_HASTE, hidden_line, is_cut
from tests.agents.hosts.scripted import JSON, Step, listening
from tests.agents.samples import CODE, NUMBERED, set_by_the_user
from tests.agents.test_messages import DONE, GO_ON, IMAGE, anthropic, many, openai, text_of

HOSTS = Path(os.environ["LAMR_HOSTS"]) / "python"
KEY = "sk-scripted-and-of-no-use"
"""The proxy's; later versions don't start without one."""
CONFIGURATION = """
model_list:
  - model_name: "*"
    litellm_params: {{model: "{shape}/*", api_base: "{url}", api_key: none}}
litellm_settings:
  callbacks: lamr_agents.litellm_proxy.callback
"""
SECONDS = 240


@contextmanager
def model() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A model in the shape of OpenAI's API that always says the same: its address, and the requests so far."""
    requests: list[dict[str, Any]] = []
    answer = {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": "scripted",
        "choices": [{"index": 0, "message": DONE, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }

    def reply(_: str, body: dict[str, Any]) -> tuple[str, str]:
        requests.append(body)
        return JSON, json.dumps(answer)

    with listening(reply) as url:
        yield url + "/v1", requests


@contextmanager
def proxy(folder: Path, port: int, url: str, shape: str = "openai", **environment: str) -> Iterator[str]:
    """LiteLLM's proxy with lamr's callback, before a model whose API has the shape of a provider's: its address."""
    configuration = folder / "config.yaml"
    configuration.write_text(CONFIGURATION.format(url=url, shape=shape), encoding="utf-8")
    start = "from litellm import run_server; run_server()"
    command = [sys.executable, "-c", start, "--config", str(configuration), "--port", str(port)]
    command += ["--host", "127.0.0.1", "--telemetry", "False"]
    process = subprocess.Popen(
        command,
        env={
            **os.environ,
            "PYTHONPATH": str(HOSTS),
            "XDG_CACHE_HOME": str(folder),
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "LITELLM_MASTER_KEY": KEY,
            **environment,
        },
    )
    address = f"http://127.0.0.1:{port}"
    try:
        deadline = time.monotonic() + SECONDS
        while not _answers(address + "/health/liveliness"):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.5)
        yield address
    finally:
        process.terminate()
        process.wait()


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=10):
            return True
    except OSError:
        return False


def post(url: str, messages: list[dict[str, Any]], **more: Any) -> str:
    """What the proxy answers to messages."""
    body = json.dumps({"model": "scripted", "messages": messages, **more}).encode()
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {KEY}"}
    request = urllib.request.Request(url, body, headers)
    with urllib.request.urlopen(request, timeout=SECONDS) as answer:
        return str(answer.read().decode())


def send(address: str, messages: list[dict[str, Any]]) -> None:
    answer = json.loads(post(address + "/v1/chat/completions", messages))
    assert answer["choices"][0]["message"]["content"] == DONE["content"]


def test_a_result_reaches_the_model_pruned_and_never_changes(tmp_path: Path, free_port: int) -> None:
    with model() as (url, requests), proxy(tmp_path, free_port, url) as address:
        send(address, openai(CODE))
        send(address, [*openai(CODE), DONE, GO_ON])
    first, second = (request["messages"] for request in requests)
    text = text_of(first[-1])
    assert "def handler_30(" in text
    assert hidden_line(text) not in text
    assert second[: len(first)] == first
    print(f"characters of the result: {len(CODE):,} without lamr, {len(text):,} with it")


SCHEMA = {"type": "object", "properties": {}}


def test_a_batch_of_a_streaming_chat_is_pruned_each(tmp_path: Path, free_port: int) -> None:
    tools = [{"type": "function", "function": {"name": "bash", "parameters": SCHEMA}}]
    messages = many("cat a.py", "cat -n b.py", "cat a.py", "make")
    with (
        endpoint([Step("It was streamed.")]) as model,
        proxy(tmp_path, free_port, model.url, "anthropic") as address,
    ):
        answer = post(address + "/v1/chat/completions", messages, tools=tools, stream=True)
    parts = [json.loads(line[6:]) for line in answer.splitlines() if line.startswith("data: {")]
    words = "".join(part["choices"][0]["delta"].get("content") or "" for part in parts if part["choices"])
    assert words == "It was streamed."
    results = tool_results(model.requests[0])
    assert [is_cut(text) for text in results] == [True, True, False, False]
    assert results[2:] == [CODE.rstrip(), CODE.rstrip()] or results[2:] == [CODE, CODE]


def test_an_image_beside_a_text_reaches_the_model_as_it_is(tmp_path: Path, free_port: int) -> None:
    messages = anthropic(NUMBERED)
    messages[-1]["content"][0]["content"].append(IMAGE)
    tools = [{"name": "Read", "description": "Reads a file.", "input_schema": SCHEMA}]
    with endpoint([Step("I see.")]) as model, proxy(tmp_path, free_port, model.url, "anthropic") as address:
        answer = json.loads(post(address + "/v1/messages", messages, tools=tools, max_tokens=99))
    assert answer["content"][0]["text"] == "I see."
    text, image = model.requests[0]["messages"][-1]["content"][0]["content"]
    assert image == IMAGE
    assert is_cut(text["text"])
    assert "def handler_30(" in text["text"]


def test_the_users_profile_holds(tmp_path: Path, free_port: int) -> None:
    set_by_the_user(tmp_path, 'profile = "lossless"\n')
    with (
        model() as (url, requests),
        proxy(tmp_path, free_port, url, XDG_CONFIG_HOME=str(tmp_path)) as address,
    ):
        send(address, openai(CODE))
    assert text_of(requests[0]["messages"][-1]) == CODE


def test_a_server_that_is_away_is_told_and_the_request_goes_on(tmp_path: Path, free_port: int) -> None:
    with model() as (url, requests), proxy(tmp_path, free_port, url, LAMR_SERVER="127.0.0.1:9") as address:
        send(address, openai(CODE))
    assert is_cut(text_of(requests[0]["messages"][-1]))
    assert IN_HASTE in text_of(requests[0]["messages"][-1])
