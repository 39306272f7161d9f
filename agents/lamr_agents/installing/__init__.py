"""Puts lamr into the settings of hosts and takes it out again: every other character of a file stays as it stands.

`jsonc` reads a file with the places of its parts; `json_entries` puts an entry in there and takes it out; `change`
writes, and records what was put in. `install` is what commands call, and `presence` what is there.
"""

from lamr_agents.installing.change import SettingsChange
from lamr_agents.installing.commands import SettingsScope, hook_command, server_command, shared_command
from lamr_agents.installing.install import installed, removed, settings_path
from lamr_agents.installing.presence import Presence, installed_in, presences

__all__ = [
    "Presence",
    "SettingsChange",
    "SettingsScope",
    "hook_command",
    "installed",
    "installed_in",
    "presences",
    "removed",
    "server_command",
    "settings_path",
    "shared_command",
]
