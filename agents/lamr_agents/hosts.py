"""The hosts whose hooks lamr answers, by name: a new one is a module with a `HookHost`, and a row here."""

from __future__ import annotations

from collections.abc import Mapping

from lamr_client import InvalidInputError

from lamr_agents import claude_code
from lamr_agents.hook_host import HookHost

HOSTS: Mapping[str, HookHost] = {host.name: host for host in (claude_code.HOOK,)}
FIRST = next(iter(HOSTS))
"""The host of calls that name none: the hooks that were installed before there was a choice."""


def host_named(name: str) -> HookHost:
    """The host of a name.

    Raises:
        InvalidInputError: there is none.
    """
    if name not in HOSTS:
        raise InvalidInputError(f"no host is called {name!r}; lamr knows {', '.join(HOSTS)}", argument="host")
    return HOSTS[name]
