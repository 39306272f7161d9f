"""Puts lamr into the settings of hosts and takes it out again: every other character of a file stays as it stands.

`json_entries` puts an entry into a JSON file and takes it out, `change` writes and records what was put in, and
`install` is what commands call."""

from lamr_agents.installing.change import SettingsChange
from lamr_agents.installing.install import (
    Presence,
    SettingsScope,
    hook_command,
    installed,
    installed_in,
    presences,
    removed,
    server_command,
    settings_path,
    shared_command,
)

__all__ = ["SettingsChange", "SettingsScope", "installed", "removed", "settings_path"]
__all__ += ["Presence", "hook_command", "installed_in", "presences", "server_command", "shared_command"]
