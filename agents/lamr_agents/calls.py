"""A host's call with a result of a tool, as far as hosts don't differ: which file it shows, and what is looked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from lamr_sessions import Heard
from lamr_sessions.tools import shown_by

from lamr_agents.hook_host import Call
from lamr_agents.intent import intent_of, known_of
from lamr_agents.skim import asked_for

MOST_PATH = 4096
"""Characters of a path, and of the names of several files; what is longer names none."""


def call_of(  # noqa: PLR0913  # what a host says of one call
    session: str,
    tool: str,
    given: Mapping[str, Any],
    response: Mapping[str, Any],
    *,
    text: str,
    folder: Path,
    hear: Callable[[], Heard],
    failed: bool = False,
) -> Call | None:
    """A call whose result may be pruned; None where it shows no code of a file.

    Args:
        session: the host's name for it.
        tool: its name.
        given: its input.
        response: its output as the host gave it.
        text: the code in there, without what the host puts around it.
        folder: the current one of the session.
        hear: gives what was said last, when it is needed.
        failed: whether the tool reports an error.
    """
    seen = shown_by(tool, given)
    if seen is None:
        return None
    read, name = seen
    if len(read.path) > MOST_PATH or len(name) > MOST_PATH:
        return None
    intent = intent_of(known_of(hear(), given, read.path))
    read = replace(read, path=str(folder / read.path))
    asked = asked_for(text, read, intent=intent, failed=failed, name=name)
    return Call(session, tool, asked, intent, response)
