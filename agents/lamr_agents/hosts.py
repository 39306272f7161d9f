"""The table of hosts: a new one is a row here, and a module where its calls have a form of their own."""

from collections.abc import Mapping

from lamr_client import InvalidInputError

from lamr_agents import claude_code, codex, copilot_cli, gemini_cli, javascript, mistral_vibe
from lamr_agents.calls import HookHost
from lamr_agents.host import Host, HostSettings, UserFolder, Way, copilot_hook, hook_of, server_of, vibe_hook
from lamr_agents.sessions import formats
from lamr_agents.thin import EVENT

_NO_HOOK = "no hook of its own replaces what a tool returns"
_ROWS = (
    Host(
        "claude-code",
        "Claude Code",
        Way.HOOK,
        *("2.1.330", "2026-11-27"),
        folder=UserFolder(".claude", "CLAUDE_CONFIG_DIR"),
        programs=("claude",),
        settings=HostSettings(
            hook_of(EVENT, claude_code.TOOLS),
            user="settings.json",
            project=".claude/settings.local.json",
            shared=".claude/settings.json",
        ),
        hook=claude_code.HOOK,
        form=formats.CLAUDE_CODE,
        logs="projects/**/*.jsonl",
    ),
    Host(
        "codex",
        "Codex",
        Way.HOOK,
        *("0.169.0", "2026-11-27"),
        folder=codex.HOME,
        programs=("codex",),
        settings=HostSettings(hook_of(EVENT, codex.TOOLS), user="hooks.json", shared=".codex/hooks.json"),
        hook=codex.HOOK,
        form=formats.CODEX,
        logs="sessions/**/*.jsonl",
        remark="it runs the hook once you have reviewed it with /hooks; in code mode, nothing is pruned",
    ),
    Host(
        "copilot-cli",
        "Copilot CLI",
        Way.HOOK,
        *("1.0.102", "2026-11-27"),
        folder=copilot_cli.HOME,
        programs=("copilot",),
        settings=HostSettings(
            copilot_hook(copilot_cli.EVENT, copilot_cli.TOOLS),
            user="hooks/lamr.json",
            shared=".github/hooks/lamr.json",
        ),
        hook=copilot_cli.HOOK,
        form=formats.COPILOT_CLI,
        logs=f"{copilot_cli.LOGS}/**/*.jsonl",
        remark="it refuses to show whole files from some size on",
    ),
    Host(
        "gemini-cli",
        "Gemini CLI",
        Way.HOOK,
        *("0.61.0", "2026-11-27"),
        folder=gemini_cli.HOME,
        programs=("gemini",),
        settings=HostSettings(
            hook_of(gemini_cli.EVENT, gemini_cli.TOOLS, second=1000, name="lamr"),
            user="settings.json",
            shared=".gemini/settings.json",
        ),
        hook=gemini_cli.HOOK,
        form=formats.GEMINI_CLI_LINES,
        logs="tmp/*/chats/*.json*",
    ),
    Host(
        "mistral-vibe",
        "Mistral Vibe",
        Way.HOOK,
        *("3.0.2", "2026-11-28"),
        folder=mistral_vibe.HOME,
        programs=("vibe",),
        settings=HostSettings(vibe_hook(mistral_vibe.MATCH), user="hooks.toml", shared=".vibe/hooks.toml"),
        hook=mistral_vibe.HOOK,
        remark="a project's hooks run where the project is trusted",
    ),
    Host(
        "opencode",
        "OpenCode",
        Way.PLUGIN,
        *("1.18.33", "2026-11-27"),
        folder=UserFolder(".config/opencode", "XDG_CONFIG_HOME", "opencode"),
        programs=("opencode",),
        settings=HostSettings(
            javascript.file_of("opencode", "read", "bash", "shell"),
            user="plugins/lamr.js",
            shared=".opencode/plugins/lamr.js",
        ),
        hook=javascript.HOOK_OPENCODE,
        form=formats.OPENCODE,
        remark="since 1.3.10; OpenCode 2, which the same file serves, was tried by the types of its source",
    ),
    Host(
        "kilo",
        "Kilo",
        Way.PLUGIN,
        *("7.7.7", "2026-11-28"),
        folder=UserFolder(".config/kilo", "XDG_CONFIG_HOME", "kilo"),
        programs=("kilo", "kilocode"),
        settings=HostSettings(
            javascript.file_of("kilo", "read", "bash", plugin="opencode"),
            user="plugins/lamr.js",
            shared=".kilo/plugins/lamr.js",
        ),
        hook=javascript.HOOK_KILO,
        remark="it takes OpenCode's plugins, but not those in OpenCode's folders",
    ),
    Host(
        "pi",
        "pi",
        Way.EXTENSION,
        *("1.3.0", "2026-11-27"),
        folder=UserFolder(".pi/agent", "PI_CODING_AGENT_DIR"),
        programs=("pi",),
        settings=HostSettings(
            javascript.file_of("pi", "read", "bash", "powershell"),
            user="extensions/lamr.js",
            shared=".pi/extensions/lamr.js",
        ),
        hook=javascript.HOOK_PI,
        form=formats.PI,
        logs="sessions/**/*.jsonl",
        remark="a project's extensions run where the project is trusted",
    ),
    Host(
        "cline",
        "Cline",
        Way.PLUGIN,
        *("3.0.65", "2026-11-28"),
        folder=UserFolder(".cline"),
        programs=("cline",),
        settings=HostSettings(
            javascript.file_of("cline", "read_files", "run_commands", grace=0.5),
            user="plugins/lamr.js",
            shared=".cline/plugins/lamr.js",
        ),
        hook=javascript.HOOK_CLINE,
        limit=2,
        remark="a plugin that takes three seconds ends the run, so the hook has two",
    ),
    Host(
        "cursor",
        "Cursor",
        Way.MCP,
        *("", "2026-11-25"),
        folder=UserFolder(".cursor"),
        programs=("cursor", "cursor-agent"),
        settings=HostSettings(server_of("mcpServers"), user="mcp.json", shared=".cursor/mcp.json"),
        remark=f"{_NO_HOOK} (only that of a tool of MCP)",
    ),
    Host(
        "kiro",
        "Kiro",
        Way.MCP,
        *("", "2026-11-25"),
        folder=UserFolder(".kiro"),
        programs=("kiro", "kiro-cli"),
        settings=HostSettings(
            server_of("mcpServers"), user="settings/mcp.json", shared=".kiro/settings/mcp.json"
        ),
        remark=_NO_HOOK,
    ),
    Host(
        "windsurf",
        "Windsurf",
        Way.MCP,
        *("", "2026-11-25"),
        folder=UserFolder(".codeium/windsurf"),
        programs=("windsurf",),
        settings=HostSettings(server_of("mcpServers"), user="mcp_config.json"),
        remark=_NO_HOOK,
    ),
    Host(
        "zed",
        "Zed",
        Way.MCP,
        *("", "2026-11-25"),
        folder=UserFolder(".config/zed", "XDG_CONFIG_HOME", "zed"),
        programs=("zed", "zeditor"),
        settings=HostSettings(
            server_of("context_servers"), user="settings.json", shared=".zed/settings.json"
        ),
        remark="it has no hooks",
    ),
    Host(
        "openhands",
        "OpenHands",
        Way.CLASS,
        *("1.58.0", "2026-11-27"),
        folder=UserFolder(".openhands"),
        form=formats.OPENHANDS_SDK,
        logs="conversations/*",
    ),
    Host(
        "mini-swe-agent", "mini-swe-agent", Way.CLASS, *("2.4.6", "2026-11-27"), form=formats.MINI_SWE_AGENT
    ),
    Host("litellm", "LiteLLM's proxy", Way.PROXY, *("1.99.4", "2026-11-27")),
)
HOSTS: Mapping[str, Host] = {host.name: host for host in _ROWS}
FIRST = "claude-code"
"""The host of calls that name none: the hooks that were installed before there was a choice."""


def host_named(name: str) -> Host:
    if name not in HOSTS:
        raise InvalidInputError(f"no host is called {name!r}; lamr knows {', '.join(HOSTS)}", argument="host")
    return HOSTS[name]


def hook_named(name: str) -> HookHost:
    """The hook of the named host."""
    hook = host_named(name).hook
    if hook is None:
        raise InvalidInputError(f"{name} has no hook whose calls could be answered", argument="host")
    return hook
