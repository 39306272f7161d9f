"""Puts lamr into the settings of hosts and takes it out again: every other character of a file stays as it stands.

`jsonc` reads a file with the places of its parts; `json_entries` and `toml_entries` put an entry in there; `record`
keeps what was put in; `change` writes. `install` is what commands call.
"""

from lamr_agents.installing.change import Change
from lamr_agents.installing.commands import Scope, hook_command, server_command, shared_command
from lamr_agents.installing.install import installed, is_installed, removed, settings_path

__all__ = [
    "Change",
    "Scope",
    "hook_command",
    "installed",
    "is_installed",
    "removed",
    "server_command",
    "settings_path",
    "shared_command",
]
