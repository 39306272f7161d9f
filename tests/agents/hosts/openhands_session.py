"""Runs one session of OpenHands, with lamr's tools or its own; a program for the Python that OpenHands is installed in.

`openhands_session.py FOLDER URL TASK lamr|own` works in FOLDER/project with the model behind URL, and keeps the
conversation's events in FOLDER/conversation."""

import sys
from pathlib import Path

from openhands.sdk import LLM, Agent, Conversation, Tool
from openhands.tools.file_editor import FileEditorTool
from openhands.tools.terminal import TerminalTool
from pydantic import SecretStr


def main(folder: str, url: str, task: str, whose: str) -> None:
    tools = [Tool(name=TerminalTool.name), Tool(name=FileEditorTool.name)]
    if whose == "lamr":
        from lamr_agents.openhands import pruned

        tools = pruned(tools)
    model = LLM(
        model="anthropic/claude-sonnet-4-5",
        base_url=url,
        api_key=SecretStr("none"),
        num_retries=0,
        usage_id="agent",
    )
    conversation = Conversation(
        agent=Agent(llm=model, tools=tools),
        workspace=str(Path(folder) / "project"),
        persistence_dir=str(Path(folder) / "conversation"),
        visualizer=None,
    )
    conversation.send_message(task)
    conversation.run()
    conversation.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
