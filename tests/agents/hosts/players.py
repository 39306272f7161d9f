"""The hosts with a hook, as programs: how each plays a session of a script, and how its model asks for files."""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import psutil
from lamr_agents.hosts import HOSTS

from tests.agents.hosts import anthropic_endpoint as anthropic
from tests.agents.hosts import gemini_endpoint as google
from tests.agents.hosts import models
from tests.agents.hosts import responses_endpoint as responses
from tests.agents.hosts.hooked import OTHERS, Hook, Player, hooked, laid_out, ran
from tests.agents.hosts.scripted import Endpoint, Script
from tests.agents.samples import TASK

BINARIES = Path(os.environ["LAMR_HOSTS"]) / "node_modules" / ".bin"


def play_claude_code(
    folder: Path,
    script: Script,
    serve: Hook,
    *more: str,
    tools: str = "Read,Bash",
    others: Mapping[str, Script] | None = None,
    through: Callable[[str], AbstractContextManager[str]] = nullcontext,
) -> tuple[Endpoint, str]:
    """Run a session in a folder; `serve` are the options of the hook's server, None is a session without the hook.

    Args:
        folder: holds the project and all that the session leaves behind.
        script: what the model says.
        serve: options of the server.
        more: options of the host's command.
        tools: those that it may call.
        others: what sub-agents say, by their prompts.
        through: gives the address that the host knows, for the model's own."""
    project, home = laid_out(folder)
    settings = project / ".claude" / "settings.local.json"
    settings.parent.mkdir(exist_ok=True)
    settings.write_text(OTHERS)
    with (
        anthropic.endpoint(script, others) as model,
        hooked(HOSTS["claude-code"], settings, folder, serve),
        through(model.url) as url,
    ):
        said = ran(
            *(project, BINARIES / "claude", "-p", TASK, "--model", models.CLAUDE_CODE),
            *("--allowedTools", tools, *more),
            HOME=str(home),
            ANTHROPIC_BASE_URL=url,
            ANTHROPIC_API_KEY="sk-scripted-and-of-no-use",
            CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
            DISABLE_AUTOUPDATER="1",
        )
    return model, said


CLAUDE_CODE = Player(
    play_claude_code,
    *(anthropic.tool_results, "messages", "Read"),
    lambda path: {"file_path": path},
    lambda path, first, last: {"file_path": path, "offset": first, "limit": last - first + 1},
    "Bash",
)


CODEX_CONFIGURATION = """
model = "%s"
model_provider = "scripted"
[model_providers.scripted]
name = "scripted"
base_url = "%s/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
"""


def play_codex(folder: Path, script: Script, serve: Hook, model_name: str = "") -> tuple[Endpoint, str]:
    """Run a session; see `Player`."""
    project, home = laid_out(folder)
    moved = home / "moved"
    moved.mkdir()
    with responses.endpoint(script) as model, hooked(HOSTS["codex"], moved / "hooks.json", folder, serve):
        (moved / "config.toml").write_text(CODEX_CONFIGURATION % (model_name or models.codex(), model.url))
        said = ran(
            *(project, BINARIES / "codex", "exec", "--skip-git-repo-check"),
            *("--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust", TASK),
            HOME=str(home),
            CODEX_HOME=str(moved),
            SCRIPTED_KEY="none",
        )
    return model, said


CODEX = Player(
    *(play_codex, responses.tool_results, "input", "exec_command"),
    lambda path: {"cmd": f"cat {path}"},
    lambda path, first, last: {"cmd": f"sed -n {first},{last}p {path}"},
    "exec_command",
    lambda line: {"cmd": line},
)


def play_copilot_cli(folder: Path, script: Script, serve: Hook) -> tuple[Endpoint, str]:
    """Run a session; see `Player`."""
    project, home = laid_out(folder)
    with (
        anthropic.endpoint(script) as model,
        hooked(HOSTS["copilot-cli"], home / "moved" / "hooks" / "lamr.json", folder, serve),
    ):
        said = ran(
            *(project, BINARIES / "copilot", "-p", TASK, "--allow-all-tools", "--allow-all-paths"),
            HOME=str(home),
            COPILOT_HOME=str(home / "moved"),
            COPILOT_PROVIDER_TYPE="anthropic",
            COPILOT_PROVIDER_BASE_URL=model.url,
            COPILOT_PROVIDER_API_KEY="none",
            COPILOT_MODEL=models.copilot_cli(),
            COPILOT_OFFLINE="true",
            COPILOT_AUTO_UPDATE="false",
        )
    return model, said


COPILOT_CLI = Player(
    play_copilot_cli,
    *(anthropic.tool_results, "messages", "view"),
    lambda path: {"path": path},
    lambda path, first, last: {"path": path, "view_range": [first, last]},
    "bash",
)


def play_gemini_cli(folder: Path, script: Script, serve: Hook) -> tuple[Endpoint, str]:
    """Run a session; see `Player`."""
    project, home = laid_out(folder)
    settings = home / "moved" / ".gemini" / "settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text(json.dumps({"security": {"auth": {"selectedType": "gemini-api-key"}}}))
    with google.endpoint(script) as model, hooked(HOSTS["gemini-cli"], settings, folder, serve):
        said = ran(
            *(project, BINARIES / "gemini", "-p", TASK, "-m", models.GEMINI_CLI, "--approval-mode", "yolo"),
            HOME=str(home),
            GEMINI_CLI_HOME=str(home / "moved"),
            GOOGLE_GEMINI_BASE_URL=model.url,
            GEMINI_API_KEY="none",
            GEMINI_CLI_TRUST_WORKSPACE="true",
            GEMINI_TELEMETRY_ENABLED="false",
        )
    return model, said


GEMINI_CLI = Player(
    play_gemini_cli,
    *(google.tool_results, "contents", "read_file"),
    lambda path: {"file_path": path},
    lambda path, first, last: {"file_path": path, "start_line": first, "end_line": last},
    "run_shell_command",
)


def play_opencode(
    folder: Path,
    script: Script,
    serve: Hook,
    others: Mapping[str, Script] | None = None,
    name: str = "opencode",
) -> tuple[Endpoint, str]:
    """Run a session in a folder.

    Args:
        folder: holds the project and all that the session leaves behind.
        script: what the model says.
        serve: the options of the hook's server; None is a session without the plugin.
        others: what it says in sessions whose task has these words.
        name: the program's; Kilo's is made of OpenCode."""
    project, home = laid_out(folder)
    plugin = home / "config" / name / "plugins" / "lamr.js"
    with anthropic.endpoint(script) as model, hooked(HOSTS[name], plugin, folder, serve):
        model.others = others or {}
        settings = _opencode_settings(model.url, name)
        (project / f"{name}.json").write_text(json.dumps(settings), encoding="utf-8")
        said = ran(
            *(project, BINARIES / name, "run", "--auto", TASK),
            HOME=str(home),
            PWD=str(project),
            XDG_CONFIG_HOME=str(home / "config"),
            XDG_DATA_HOME=str(home / "data"),
            XDG_STATE_HOME=str(home / "state"),
            NPM_CONFIG_OFFLINE="true",
            OPENCODE_DISABLE_MODELS_FETCH="1",
            OPENCODE_DISABLE_AUTOUPDATE="1",
            KILO_DISABLE_MODELS_FETCH="1",
        )
    return model, said


def _opencode_settings(url: str, name: str) -> dict[str, object]:
    """Anthropic's models, as the host lists them, at another address."""
    model = f"anthropic/{models.opencode(name)}"
    return {
        "enabled_providers": ["anthropic"],
        "provider": {"anthropic": {"options": {"baseURL": f"{url}/v1", "apiKey": "none"}}},
        "model": model,
        "small_model": model,
        "share": "disabled",
    }


OPENCODE = Player(
    play_opencode,
    *(anthropic.tool_results, "messages", "read"),
    lambda path: {"filePath": path},
    lambda path, first, last: {"filePath": path, "offset": first, "limit": last - first + 1},
    "bash",
)


def play_mistral_vibe(folder: Path, script: Script, serve: Hook) -> tuple[Endpoint, str]:
    """Run a session; see `Player`."""
    project, home = laid_out(folder)
    moved = home / "moved"
    moved.mkdir()
    with (
        anthropic.endpoint(script) as model,
        hooked(HOSTS["mistral-vibe"], moved / "hooks.toml", folder, serve),
    ):
        (moved / "config.toml").write_text(VIBE_CONFIGURATION % (model.url, models.ANTHROPIC))
        said = ran(
            *(
                project,
                BINARIES.parents[1] / "vibe" / "bin" / "vibe",
                "-p",
                TASK,
                "--auto-approve",
                "--trust",
            ),
            HOME=str(home),
            VIBE_HOME=str(moved),
            SCRIPTED_KEY="none",
        )
    return model, said


VIBE_CONFIGURATION = """
active_model = "scripted"
enable_telemetry = false
enable_update_checks = false
[[providers]]
name = "scripted"
api_base = "%s"
api_key_env_var = "SCRIPTED_KEY"
api_style = "anthropic"
[[models]]
name = "%s"
provider = "scripted"
alias = "scripted"
"""


def vibe_results(body: dict[str, Any]) -> list[str]:
    """The code that each call has shown: alone in the place of a result, or in the JSON of one that stayed."""
    found = list[str]()
    for text in anthropic.tool_results(body):
        shown = json.loads(text) if text.startswith("{") else {"stdout": text}
        found.append(shown.get("content") or shown["stdout"])
    return found


MISTRAL_VIBE = Player(
    play_mistral_vibe,
    *(vibe_results, "messages", "read_file"),
    lambda path: {"path": path},
    lambda path, first, last: {"path": path, "offset": first - 1, "limit": last - first + 1},
    "bash",
    lambda line: {"command": line},
)


KILO = replace(OPENCODE, play=partial(play_opencode, name="kilo"))


def play_cline(folder: Path, script: Script, serve: Hook) -> tuple[Endpoint, str]:
    """Run a session; see `Player`."""
    project, home = laid_out(folder)
    provider = {"provider": "anthropic", "apiKey": "none", "model": models.ANTHROPIC}
    (home / ".cline" / "data" / "settings").mkdir(parents=True)
    with (
        anthropic.endpoint(script) as model,
        hooked(HOSTS["cline"], home / ".cline" / "plugins" / "lamr.js", folder, serve),
        _ending_clines_server(project),
    ):
        settings = {"settings": {**provider, "baseUrl": f"{model.url}/v1"}, "tokenSource": "manual"}
        settings["updatedAt"] = "2026-11-28T00:00:00.000Z"
        (home / ".cline" / "data" / "settings" / "providers.json").write_text(
            json.dumps({"version": 1, "lastUsedProvider": "anthropic", "providers": {"anthropic": settings}})
        )
        said = ran(
            *(project, BINARIES / "cline", "--provider", "anthropic", "--model", models.ANTHROPIC, TASK),
            HOME=str(home),
            CLINE_PLUGIN_IMPORT_TIMEOUT_MS="60000",
            CLINE_TELEMETRY_DISABLED="1",
        )
    return model, said


@contextmanager
def _ending_clines_server(project: Path) -> Iterator[None]:
    """End the server that the host leaves behind."""
    try:
        yield
    finally:
        for process in psutil.process_iter(["cmdline"]):
            if {"--cline-hub-daemon", str(project)} <= set(process.info["cmdline"] or ()):
                process.terminate()


def cline_results(body: dict[str, Any]) -> list[str]:
    """What each call has shown of its one file or command."""
    return [json.loads(text)[0]["result"] for text in anthropic.tool_results(body)]


def _of_one(path: str, first: int | None = None, last: int | None = None) -> dict[str, Any]:
    return {"files": [{"path": path, "start_line": first, "end_line": last}]}


CLINE = Player(
    *(play_cline, cline_results, "messages", "read_files", _of_one, _of_one, "run_commands"),
    lambda line: {"commands": [line]},
)


def play_pi(folder: Path, script: Script, serve: Hook) -> tuple[Endpoint, str]:
    """Run a session; see `Player`."""
    project, home = laid_out(folder)
    with (
        anthropic.endpoint(script) as model,
        hooked(HOSTS["pi"], home / "extensions" / "lamr.js", folder, serve),
    ):
        (home / "models.json").write_text(
            json.dumps({"providers": {"anthropic": {"baseUrl": model.url}}}), encoding="utf-8"
        )
        said = ran(
            *(project, BINARIES / "node", (BINARIES / "pi").resolve(), "--print", "--offline"),
            *("--provider", "anthropic", "--model", models.pi(), TASK),
            HOME=str(home),
            PI_CODING_AGENT_DIR=str(home),
            PI_OFFLINE="1",
            ANTHROPIC_API_KEY="none",
        )
    return model, said


PI = Player(
    play_pi,
    *(anthropic.tool_results, "messages", "read"),
    lambda path: {"path": path},
    lambda path, first, last: {"path": path, "offset": first, "limit": last - first + 1},
    "bash",
)


PLAYERS = {
    "claude-code": CLAUDE_CODE,
    "codex": CODEX,
    "copilot-cli": COPILOT_CLI,
    "gemini-cli": GEMINI_CLI,
    "opencode": OPENCODE,
    "kilo": KILO,
    "mistral-vibe": MISTRAL_VIBE,
    "pi": PI,
    "cline": CLINE,
}
"""By the host's name."""
