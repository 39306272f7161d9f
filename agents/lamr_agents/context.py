"""What an agent has in its context: by which names its reads are recorded, and since when."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Context:
    """One agent's context. A sub-agent has one of its own; a forked session has its origin's as well.

    Attributes:
        session: the name under which its reads are recorded: the host's for the session, followed by `/` and the
            agent's for a sub-agent.
        others: names under which more of what it holds was recorded.
        since: when it was last compacted, in seconds since 1970; 0 where it never was. What was shown before is gone.
    """

    session: str
    others: tuple[str, ...] = ()
    since: float = 0.0

    @property
    def sessions(self) -> tuple[str, ...]:
        """All names."""
        return (self.session, *self.others)
