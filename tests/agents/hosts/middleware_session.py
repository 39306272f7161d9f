"""A session of an agent that is made with a framework: with what the guide shows, it reads a file.

It runs in an environment of the frameworks. Standard input has the guide's code, the file, and the address of a model
where the framework has one for it; the texts that the model got as the tool's results are printed.
"""

import asyncio
import contextlib
import json
import sys
from pathlib import Path
from typing import Any

given = json.load(sys.stdin)
guide: dict[str, Any] = {}
for block in given["blocks"]:
    exec(block, guide)
PATH, TASK, SAID = given["path"], given["task"], given["said"]
ANTHROPIC = {"api_key": "none", "base_url": given["url"]}
MODEL = "claude-opus-4-8"


def read_file(path: str) -> str:
    """Read a file.

    Args:
        path: the file.
    """
    return Path(path).read_text()


def langchain() -> None:
    from langchain.agents import create_agent
    from langchain_anthropic import ChatAnthropic

    model = ChatAnthropic(model=MODEL, **ANTHROPIC)
    agent = create_agent(model, tools=[read_file], middleware=[guide["prune_reads"]])
    agent.invoke({"messages": [("user", TASK)]})


def deepagents() -> None:
    from deepagents import create_deep_agent
    from deepagents.backends import FilesystemBackend
    from langchain_anthropic import ChatAnthropic

    model, backend = ChatAnthropic(model=MODEL, **ANTHROPIC), FilesystemBackend(virtual_mode=False)
    agent = create_deep_agent(model, backend=backend, middleware=[guide["prune_reads"]])
    agent.invoke({"messages": [("user", TASK)]})


def strands() -> None:
    from strands import Agent, tool
    from strands.models.anthropic import AnthropicModel

    model = AnthropicModel(client_args=ANTHROPIC, model_id=MODEL, max_tokens=1000)
    agent = Agent(model, tools=[tool(read_file)], callback_handler=None)
    agent.hooks.add_callback(guide["AfterToolCallEvent"], guide["prune_reads"])
    agent(TASK)


def pydantic_ai() -> None:
    from pydantic_ai import Agent
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider
    from pydantic_ai.toolsets import FunctionToolset

    model = AnthropicModel(MODEL, provider=AnthropicProvider(**ANTHROPIC))
    Agent(model, toolsets=[guide["PrunedReads"](FunctionToolset([read_file]))]).run_sync(TASK)


def smolagents() -> list[str]:
    from smolagents import ChatMessage, MessageRole, Model, tool
    from smolagents.models import ChatMessageToolCall, ChatMessageToolCallFunction

    got: list[Any] = []

    class Scripted(Model):
        def generate(self, messages: Any, **_: Any) -> ChatMessage:
            got.append(messages)
            name, value = (
                ("read_file", {"path": PATH}) if len(got) == 1 else ("final_answer", {"answer": "Done."})
            )
            call = ChatMessageToolCall(ChatMessageToolCallFunction(value, name), str(len(got)), "function")
            return ChatMessage(MessageRole.ASSISTANT, SAID, [call])

    guide["PruningAgent"](tools=[tool(read_file)], model=Scripted(), verbosity_level=0).run(TASK)
    return [part["text"] for part in got[-1][-1].content]


def openai_agents() -> list[str]:
    from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

    from agents import Agent, Model, ModelResponse, Runner, Usage, function_tool, set_tracing_disabled

    got: list[Any] = []

    class Scripted(Model):
        async def get_response(self, **asked: Any) -> ModelResponse:
            got.append(asked["input"])
            text = ResponseOutputText(annotations=[], text=SAID, type="output_text")
            said = ResponseOutputMessage(
                id="1", content=[text], role="assistant", status="completed", type="message"
            )
            call = ResponseFunctionToolCall(
                arguments=json.dumps({"path": PATH}), call_id="2", name="read_file", type="function_call"
            )
            return ModelResponse([said, call] if len(got) == 1 else [said], Usage(), None)

        def stream_response(self, *_: Any, **__: Any) -> Any:
            raise NotImplementedError

    set_tracing_disabled(True)
    tools = [function_tool(read_file, tool_output_guardrails=[guide["prune_reads"]])]
    Runner.run_sync(Agent("a", model=Scripted(), tools=tools), [{"role": "user", "content": TASK}])
    return [item["output"] for item in got[-1] if item.get("type") == "function_call_output"]


def google_adk() -> list[str]:
    from google.adk.agents import LlmAgent
    from google.adk.models import BaseLlm, LlmResponse
    from google.adk.runners import InMemoryRunner
    from google.genai.types import Content, Part

    got: list[Any] = []

    class Scripted(BaseLlm):
        async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
            got.append(llm_request.contents)
            call = Part.from_function_call(name="read_file", args={"path": PATH})
            parts = [Part(text=SAID), call] if len(got) == 1 else [Part(text="Done.")]
            yield LlmResponse(content=Content(role="model", parts=parts))

    agent = LlmAgent(
        name="a", model=Scripted(model="m"), tools=[read_file], after_tool_callback=guide["prune_reads"]
    )

    async def run() -> None:
        runner = InMemoryRunner(agent, app_name="a")
        await runner.session_service.create_session(app_name="a", user_id="u", session_id="s")
        asked = Content(role="user", parts=[Part(text=TASK)])
        async for _ in runner.run_async(user_id="u", session_id="s", new_message=asked):
            pass

    asyncio.run(run())
    responses = [part.function_response for content in got[-1] for part in content.parts]
    return [response.response["result"] for response in responses if response]


def claude_agent_sdk() -> None:
    from claude_agent_sdk import ClaudeAgentOptions, query

    async def run() -> None:
        options = ClaudeAgentOptions(cli_path=given["claude"], allowed_tools=["Read"])
        async for _ in query(prompt=TASK, options=options):
            pass

    asyncio.run(run())


with contextlib.redirect_stdout(sys.stderr):
    shown = globals()[given["name"]]()
print(json.dumps(shown))
