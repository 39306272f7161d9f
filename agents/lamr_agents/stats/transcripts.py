"""The transcripts of a session that hooks were called in: its own, and those of its sub-agents.

Most hosts name the session's own in each call. Of another the host's folder is searched for one whose file is called
like the session. This module counts nothing.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path, PurePath

from lamr_agents.errors import NoSessionError, SettingsError
from lamr_agents.hosts import HOSTS
from lamr_agents.local.sessions import Session
from lamr_agents.replay.prices import Prices
from lamr_agents.replay.recorded import Recorded, record_of

MOST_BYTES = 512 << 20
"""Of a transcript that is read."""
_BEFORE_NAMES = ("-", "_")
"""What stands between the time and the session's name in a file's name, where a time stands there."""
_AGENTS, _AGENT = "subagents", "agent-{}.jsonl"
"""Where Claude Code keeps the transcripts of sub-agents: in a folder below one of the session's name, or beside the
session's own; and how it names them."""


def read_transcripts(
    session: Session, agents: Collection[str], prices: Prices
) -> tuple[Recorded, dict[str, Recorded]] | None:
    """A session's own transcript, and those of its sub-agents by their names; None where its own can't be read.

    Args:
        session: as the hooks saw it.
        agents: the names of sub-agents that are known; others are found where the host keeps them.
        prices: of tokens.

    Raises:
        PriceError: the table has no row for a model.
    """
    own = Path(session.transcript) if session.transcript else _found(session)
    recorded = own and _read(own, prices)
    if not own or not recorded:
        return None
    below = own.with_suffix("") / _AGENTS
    places = {file.stem.removeprefix("agent-"): file for file in sorted(below.glob(_AGENT.format("*")))}
    for name in agents:
        if name and PurePath(name).name == name:  # one that leads elsewhere is none of the host's
            places.setdefault(name, own.parent / _AGENT.format(name))
    read = {name: _read(place, prices) for name, place in places.items()}
    return recorded, {name: transcript for name, transcript in read.items() if transcript}


def _found(session: Session) -> Path | None:
    """The transcript in the host's folder that is called like a session; None where there is none."""
    host = HOSTS.get(session.host)
    if host is None or host.folder is None or not host.logs or not session.name:
        return None
    try:
        files = host.folder.path().glob(host.logs)
        ends = tuple(f"{before}{session.name}" for before in _BEFORE_NAMES)
        return next((file for file in files if file.stem == session.name or file.stem.endswith(ends)), None)
    except (OSError, SettingsError):
        return None


def _read(path: Path, prices: Prices) -> Recorded | None:
    try:
        if not path.is_file() or path.stat().st_size > MOST_BYTES:
            return None
        recorded = record_of(path, prices)
    except (OSError, ValueError, NoSessionError):
        return None
    return recorded if any(recorded.moments) else None  # else nothing tells what came after a cut
