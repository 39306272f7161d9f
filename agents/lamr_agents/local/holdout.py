"""A part of the sessions that is left alone by chance, so that what cuts do can be compared with what happens without.

The part that a session falls into follows from its name alone, so that it is the same for all of its calls, its
sub-agents and every machine.
"""

from __future__ import annotations

import hashlib

HELD_OUT = "left alone, for comparison"
"""The reason of results that pass in such a session and would have been judged in another."""
MOST_SHARE = 0.9
"""The comparison needs sessions of both kinds."""
_BYTES = 8


def is_held_out(session: str, share: float) -> bool:
    """Whether a session is left alone.

    Args:
        session: the host's name for it, with or without a sub-agent's behind a `/`.
        share: of all sessions, from 0 to 1; a call that names no session is of none.
    """
    name = session_of(session)
    digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=_BYTES).digest()
    return bool(name) and int.from_bytes(digest, "big") < share * 256**_BYTES


def session_of(name: str) -> str:
    """The host's name for a session, without that of a sub-agent, which belongs to it."""
    return name.split("/", 1)[0]
