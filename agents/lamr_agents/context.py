"""What an agent has in its context: by which name its reads are recorded, and since when."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Context:
    """One agent's context; a sub-agent has one of its own.

    Attributes:
        session: the name under which its reads are recorded: the host's for the session, followed by `/` and the
            agent's for a sub-agent.
        since: when it was last compacted, in seconds since 1970; 0 where it never was. What was shown before is gone.
    """

    session: str
    since: float = 0.0
