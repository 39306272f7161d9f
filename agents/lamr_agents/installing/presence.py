"""Which hosts are on this machine, and what lamr has to do with each: whether it is installed, and when it last ran."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from lamr_client import LamrError

from lamr_agents.host import Host
from lamr_agents.installing.commands import SettingsScope
from lamr_agents.installing.install import is_installed, settings_path
from lamr_agents.local.store import LastCall

VERSION_SECONDS = 10.0
"""That a host's program has to tell its version."""
_VERSION = re.compile(r"\d+(?:\.\d+)+(?:[-+]\w+(?:\.\w+)*)?")


@dataclass(frozen=True)
class Presence:
    """A host on this machine.

    Attributes:
        host: the row of the table.
        program: where its program lies; empty where none is found.
        version: of that, as it says; empty where it doesn't.
        installed: the files of settings in which lamr's entry stands: the user's, and those of the current folder.
        trouble: why some settings can't be read; empty where all can.
        last: its last call and the last that failed; None without one.
    """

    host: Host
    program: str
    version: str
    installed: tuple[Path, ...]
    trouble: str = ""
    last: LastCall | None = None

    @property
    def here(self) -> bool:
        """Whether there is anything of it on this machine."""
        return bool(self.program or self.installed or self.trouble or self.last)


def presences(hosts: Mapping[str, Host], calls: Mapping[str, LastCall]) -> list[Presence]:
    """What is known of each host.

    Args:
        hosts: by name.
        calls: the last calls, by the host's name.
    """
    with ThreadPoolExecutor(max(1, len(hosts))) as pool:
        programs = list(pool.map(_program, hosts.values()))
    known = []
    for host, program in zip(hosts.values(), programs, strict=True):
        places, trouble = installed_in(host)
        known.append(Presence(host, *program, tuple(places.values()), trouble, calls.get(host.name)))
    return known


def _program(host: Host) -> tuple[str, str]:
    path = next(filter(None, map(shutil.which, host.programs)), None)
    if path is None:
        return "", ""
    nothing = subprocess.DEVNULL
    try:
        done = subprocess.run(
            [path, "--version"],
            check=False,
            stdin=nothing,
            stdout=subprocess.PIPE,
            stderr=nothing,
            timeout=VERSION_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired):
        return path, ""
    found = _VERSION.search(done.stdout.decode("utf-8", "replace"))
    return path, found[0] if found else ""


def installed_in(host: Host) -> tuple[dict[SettingsScope, Path], str]:
    """The files in which lamr's entry stands, and why others can't be read; an empty text where all can."""
    if host.settings is None:
        return {}, ""
    found: dict[SettingsScope, Path] = {}
    trouble = ""
    for scope, has in zip(SettingsScope, (True, host.settings.project, host.settings.shared), strict=True):
        if not has:
            continue
        try:
            path = settings_path(host, scope)
            if is_installed(host, path):
                found[scope] = path
        except (LamrError, OSError) as error:
            trouble = trouble or str(error)
    return found, trouble
