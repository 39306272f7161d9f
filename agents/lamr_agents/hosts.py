"""The table of hosts: a new one is a row here, and a module where its calls have a form of their own."""

from __future__ import annotations

from collections.abc import Mapping

from lamr_client import InvalidInputError
from lamr_sessions import formats

from lamr_agents import claude_code
from lamr_agents.entries import hook_of, server_of
from lamr_agents.hook_host import HookHost
from lamr_agents.host import Folder, Host, Settings, Way
from lamr_agents.thin import EVENT

_NO_HOOK = "no hook of its own replaces what a tool returns"
_ROWS = (
    Host(
        "claude-code",
        "Claude Code",
        Way.HOOK,
        *("2.1.330", "2026-11-25"),
        folder=Folder(".claude", "CLAUDE_CONFIG_DIR"),
        programs=("claude",),
        settings=Settings(
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
        "cursor",
        "Cursor",
        Way.MCP,
        *("3.2", "2026-11-25"),
        folder=Folder(".cursor"),
        programs=("cursor", "cursor-agent"),
        settings=Settings(server_of("mcpServers"), user="mcp.json", shared=".cursor/mcp.json"),
        remark=f"{_NO_HOOK} (only that of a tool of MCP)",
    ),
    Host(
        "codex",
        "Codex",
        Way.MCP,
        *("0.169.0", "2026-11-25"),
        folder=Folder(".codex", "CODEX_HOME"),
        programs=("codex",),
        settings=Settings(server_of("mcp_servers"), user="config.toml", shared=".codex/config.toml"),
        form=formats.CODEX,
        logs="sessions/**/*.jsonl",
        remark=_NO_HOOK,
    ),
    Host(
        "kiro",
        "Kiro",
        Way.MCP,
        *("1.0", "2026-11-25"),
        folder=Folder(".kiro"),
        programs=("kiro", "kiro-cli"),
        settings=Settings(
            server_of("mcpServers"), user="settings/mcp.json", shared=".kiro/settings/mcp.json"
        ),
        remark=_NO_HOOK,
    ),
    Host(
        "windsurf",
        "Windsurf",
        Way.MCP,
        *("2.0", "2026-11-25"),
        folder=Folder(".codeium/windsurf"),
        programs=("windsurf",),
        settings=Settings(server_of("mcpServers"), user="mcp_config.json"),
        remark=_NO_HOOK,
    ),
    Host(
        "zed",
        "Zed",
        Way.MCP,
        *("1.0", "2026-11-25"),
        folder=Folder(".config/zed", "XDG_CONFIG_HOME", "zed"),
        programs=("zed", "zeditor"),
        settings=Settings(server_of("context_servers"), user="settings.json", shared=".zed/settings.json"),
        remark="it has no hooks",
    ),
)
HOSTS: Mapping[str, Host] = {host.name: host for host in _ROWS}
FIRST = "claude-code"
"""The host of calls that name none: the hooks that were installed before there was a choice."""


def host_named(name: str) -> Host:
    """The host of a name.

    Raises:
        InvalidInputError: there is none.
    """
    if name not in HOSTS:
        raise InvalidInputError(f"no host is called {name!r}; lamr knows {', '.join(HOSTS)}", argument="host")
    return HOSTS[name]


def hook_named(name: str) -> HookHost:
    """How the calls of the host of a name are read and answered.

    Raises:
        InvalidInputError: there is no such host, or it makes no calls.
    """
    hook = host_named(name).hook
    if hook is None:
        raise InvalidInputError(f"{name} has no hook whose calls could be answered", argument="host")
    return hook
