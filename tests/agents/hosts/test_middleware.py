"""The guide's lines for agents that are made with a framework, each in a session against a scripted model."""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from lamr_agents.hosts import HOSTS

from tests.agents.hosts import anthropic_endpoint as anthropic
from tests.agents.hosts.cuts import hidden_line, is_cut
from tests.agents.hosts.hooked import SECONDS, hooked, laid_out
from tests.agents.hosts.players import BINARIES
from tests.agents.hosts.scripted import Step
from tests.agents.samples import SAID, TASK

SESSION, REPOSITORY = Path(__file__).with_name("middleware_session.py"), Path(__file__).parents[3]
PYTHON = Path(os.environ["LAMR_HOSTS"]) / "middleware" / "bin" / "python"
GUIDE = (REPOSITORY / "docs" / "middleware.md").read_text(encoding="utf-8")
READS: dict[str, tuple[str, dict[str, str]]] = {
    "langchain": ("read_file", {"path": "%s"}),
    "deepagents": ("read_file", {"file_path": "%s", "limit": "2000"}),
    "strands": ("read_file", {"path": "%s"}),
    "pydantic_ai": ("read_file", {"path": "%s"}),
    "smolagents": ("", {}),
    "openai_agents": ("", {}),
    "google_adk": ("", {}),
    "claude_agent_sdk": ("Read", {"file_path": "%s"}),
}
"""The tool that the endpoint's model calls, and its input; no tool where the session has a model of its own."""


def blocks(name: str) -> list[str]:
    """The guide's code for a framework, after the code that all share."""
    sections = re.split(r"(?m)^## ", GUIDE)
    titles = {re.sub(r"[\W_]", "", each.split("\n")[0].lower()): each for each in sections[1:]}
    own = next(section for title, section in titles.items() if name.replace("_", "") in title)
    return [
        code for each in (sections[0], own) for code in re.findall(r"```python\n(.*?)```", each, re.DOTALL)
    ]


@pytest.mark.parametrize("name", READS)
def test_what_a_tool_read_reaches_the_model_pruned(name: str, tmp_path: Path) -> None:
    project, home = laid_out(tmp_path)
    path = str(project / "a.py")
    tool, given = READS[name]
    shows = {key: value.replace("%s", path) for key, value in given.items()}
    steps = [Step(SAID, tool, shows), Step("Done.")]
    settings = project / ".claude" / "settings.local.json"
    hook: list[str] | None = [] if name == "claude_agent_sdk" else None
    with anthropic.endpoint(steps) as model, hooked(HOSTS["claude-code"], settings, tmp_path, hook):
        asked: dict[str, Any] = {
            "name": name,
            "path": path,
            "task": f"{TASK} {SAID}",
            "said": SAID,
            "url": model.url,
        }
        asked |= {"blocks": blocks(name), "claude": str(BINARIES / "claude")}
        done = subprocess.run(
            [str(PYTHON), str(SESSION)],
            input=json.dumps(asked),
            capture_output=True,
            text=True,
            cwd=project,
            timeout=SECONDS,
            check=False,
            env={
                **os.environ,
                "HOME": str(home),
                "ANTHROPIC_BASE_URL": model.url,
                "ANTHROPIC_API_KEY": "none",
            },
        )
    assert done.returncode == 0, done.stderr[-4000:]
    shown = json.loads(done.stdout) or anthropic.tool_results(model.requests[-1])
    assert len(shown) == 1
    assert "def handler_30(" in shown[0]
    assert is_cut(shown[0])
    assert hidden_line(shown[0]) not in shown[0]
